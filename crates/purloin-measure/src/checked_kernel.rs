//! A kernel that can be profiled and recorded: [`CheckedKernel`].

use indicatif::ProgressBar;
use purloin::Worker;
use purloin_analysis::Program;
use purloin_command::activity;
use purloin_kernels::{Answer, Instance, Job};

/// A kernel as a [`Program`], which checks the answer of every run, and shows the number of the run and the time so far.
pub struct CheckedKernel {
    job: Job,
    /// Number of runs, including the one that is about to start.
    runs: u64,
    progress: ProgressBar,
    /// The instance that is about to run, or has run and left an answer.
    instance: Option<(Instance, Option<Answer>)>,
    right_answer: Option<String>,
    wrong_answer: Option<String>,
}

impl CheckedKernel {
    /// Returns the kernel of this job, before its first run.
    pub fn new(job: Job) -> CheckedKernel {
        CheckedKernel {
            job,
            runs: 0,
            progress: activity(),
            instance: None,
            right_answer: None,
            wrong_answer: None,
        }
    }

    /// Checks the answer of the last run. Called outside the timed part.
    fn check(&mut self) {
        if let Some((instance, Some(answer))) = self.instance.take() {
            let place = match instance.verify(&answer) {
                true => &mut self.right_answer,
                false => &mut self.wrong_answer,
            };
            *place = Some(answer.to_string());
        }
    }

    /// Returns the answer. If any run gave a wrong answer, returns that answer as an error.
    pub fn finish(mut self) -> Result<String, String> {
        self.check();
        self.progress.finish_and_clear();
        match self.wrong_answer {
            Some(wrong) => Err(wrong),
            None => Ok(self.right_answer.unwrap_or_default()),
        }
    }
}

impl Program for CheckedKernel {
    fn prepare(&mut self) {
        self.check();
        self.runs += 1;
        let message = format!("{}: run {}", self.job, self.runs);
        self.progress.set_message(message);
        self.instance = Some((self.job.prepare(), None));
    }

    fn run<W: Worker>(&mut self, w: W) {
        if let Some((instance, answer)) = &mut self.instance {
            *answer = Some(instance.run(w));
        }
    }
}
