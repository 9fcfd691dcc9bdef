//! Starting jobs: [`Launcher`].

use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use purloin_command::Failure;

use super::job::Job;
use crate::NAME;
use crate::report::Outcome;

/// What starts a job of several ranks, such as `mpirun`.
pub struct Launcher {
    /// The command and its options.
    words: Vec<String>,
    /// This command.
    program: PathBuf,
    /// Open MPI wants to be told that more ranks than cores are meant.
    is_open_mpi: bool,
}

impl Launcher {
    /// Makes sure that the command is there.
    pub fn find(command: &str) -> Result<Launcher, Failure> {
        let words: Vec<_> = command.split_whitespace().map(str::to_owned).collect();
        let Some(first) = words.first() else {
            return Err(Failure::usage(
                "--mpirun: there must be a command, such as mpirun",
            ));
        };
        let version = Command::new(first)
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| match error.kind() {
                ErrorKind::NotFound => Failure::Usage(format!(
                    "no command \"{first}\" to start jobs with; install Open MPI (package \
                     openmpi-bin) or MPICH, or name another with --mpirun"
                )),
                _ => Failure::Usage(format!(
                    "cannot run \"{first}\": {error}; name another command with --mpirun"
                )),
            })?;
        let program = std::env::current_exe()
            .map_err(|error| Failure::Run(format!("cannot find {NAME} itself: {error}")))?;
        let is_open_mpi = String::from_utf8_lossy(&version.stdout).contains("Open MPI");
        Ok(Launcher {
            words,
            program,
            is_open_mpi,
        })
    }

    /// Runs a job to its end, and reads its report.
    pub fn run(&self, job: &Job) -> Result<Outcome, Failure> {
        let failed = |why: String| Failure::Run(format!("cannot run {job}: {why}"));
        let output = self
            .command(job)
            .output()
            .map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            let reason = reason(&String::from_utf8_lossy(&output.stderr));
            return Err(failed(reason.unwrap_or_else(|| output.status.to_string())));
        }
        let outcome: Outcome = serde_json::from_slice(&output.stdout)
            .map_err(|error| failed(format!("its report cannot be read: {error}")))?;
        // Such as one that MPI of another kind has started: many jobs of one rank.
        if outcome.ranks != job.ranks {
            return Err(failed(format!(
                "{} has started {} rank(s); it must be of the MPI that {NAME} was built with",
                self.words[0], outcome.ranks
            )));
        }
        match outcome.verified {
            true => Ok(outcome),
            false => Err(failed("its answer is wrong".to_owned())),
        }
    }

    fn command(&self, job: &Job) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        if self.is_open_mpi {
            command.arg("--oversubscribe");
        }
        command
            .args(["-n", &job.ranks.to_string()])
            .arg(&self.program)
            .args(job.arguments())
            .args(["--json", "-"])
            .stdin(Stdio::null());
        command
    }
}

/// Why a job has failed, in one line, by what it has told.
fn reason(told: &str) -> Option<String> {
    if told.contains("OMPI_ALLOW_RUN_AS_ROOT") {
        return Some(
            "mpirun does not like to be run by root; run it as another user, or set \
             OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
                .to_owned(),
        );
    }
    let ours = format!("{NAME}: ");
    if let Some(line) = told.lines().find_map(|line| line.strip_prefix(&ours)) {
        return Some(line.to_owned());
    }
    // Not ours: the first paragraph, without its frame.
    let lines = told.lines().map(str::trim);
    let paragraph: Vec<_> = lines
        .skip_while(|line| line.trim_matches('-').is_empty())
        .take_while(|line| !line.trim_matches('-').is_empty())
        .collect();
    (!paragraph.is_empty()).then(|| paragraph.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_a_failed_job_tells_one_line_is_left() {
        let frame = "-".repeat(40);
        let told = format!("{frame}\nThere are not enough slots\n  for you:\n\nEither\n{frame}\n");
        let paragraph = Some("There are not enough slots for you:".to_owned());
        assert_eq!(reason(&told), paragraph);
        let told = format!("{frame}\nPrimary job\n{frame}\npurloin-cluster: it is wrong\n");
        assert_eq!(reason(&told), Some("it is wrong".to_owned()));
        assert_eq!(reason("\n"), None);
    }
}
