//! A kernel as a program to be profiled.

use purloin::Worker;

use purloin_analysis::Program;
use purloin_kernels::{Answer, Instance, Job};

/// A kernel, each of whose runs is checked.
pub struct CheckedKernel {
    job: Job,
    /// What has been run, with its answer, or is about to be.
    instance: Option<(Instance, Option<Answer>)>,
    answer: Option<String>,
    wrong: Option<String>,
}

impl CheckedKernel {
    pub fn new(job: Job) -> CheckedKernel {
        CheckedKernel {
            job,
            instance: None,
            answer: None,
            wrong: None,
        }
    }

    /// Checks the last run; not while it is timed.
    fn check(&mut self) {
        if let Some((instance, Some(answer))) = self.instance.take() {
            let place = match instance.verify(&answer) {
                true => &mut self.answer,
                false => &mut self.wrong,
            };
            *place = Some(answer.to_string());
        }
    }

    /// The answer, or one that was wrong.
    pub fn finish(mut self) -> Result<String, String> {
        self.check();
        match self.wrong {
            Some(wrong) => Err(wrong),
            None => Ok(self.answer.unwrap_or_default()),
        }
    }
}

impl Program for CheckedKernel {
    fn prepare(&mut self) {
        self.check();
        self.instance = Some((self.job.prepare(), None));
    }

    fn run<W: Worker>(&mut self, w: W) {
        if let Some((instance, answer)) = &mut self.instance {
            *answer = Some(instance.run(w));
        }
    }
}
