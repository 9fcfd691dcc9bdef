//! What goes wrong while tasks run ends the job on every rank, soon, and says why.

mod common;

use std::time::Duration;

use common::{example, is_open_mpi, job, run};

/// A job that fails must have ended by then.
const SOON: Duration = Duration::from_secs(10);

/// Runs a case of `examples/failures.rs` on several ranks; what it says.
fn failure(ranks: usize, case: &str) -> String {
    let output = run(job(ranks, &example("failures"), &[case]), SOON);
    assert!(!output.status.success(), "{case}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// How often a text has a line that begins so.
fn lines<'t>(text: &'t str, begin: &str) -> Vec<&'t str> {
    text.lines()
        .filter(|line| line.starts_with(begin))
        .collect()
}

#[test]
fn a_task_that_panics_ends_the_job_and_is_named() {
    for ranks in [1, 2, 4] {
        let text = failure(ranks, "panic");
        let told = lines(&text, "purloin-cluster: ");
        let [line] = told[..] else {
            panic!("{text}");
        };
        let rank = format!("rank {}", ranks - 1);
        for part in [&*rank, "task Node", "level", "is rotten", "failures.rs"] {
            assert!(line.contains(part), "{part}: {line}");
        }
        assert!(!text.contains("RUST_BACKTRACE"), "{text}");
    }
}

#[test]
fn a_rank_that_dies_ends_the_job_and_is_named() {
    for case in ["die", "exit"] {
        let text = failure(4, case);
        // Who dies without a word is named by what has started it; MPICH does that not
        // always, and by the number of the process.
        if is_open_mpi() {
            assert!(
                text.contains("rank 3") || text.contains("Process name: [["),
                "{text}"
            );
        }
    }
}

#[test]
fn a_panic_outside_of_tasks_ends_the_job() {
    let text = failure(2, "outside");
    assert!(text.contains("outside of any task"), "{text}");
}

#[test]
fn a_task_that_does_what_all_ranks_do_together_is_named() {
    for case in ["together", "drop"] {
        let text = failure(2, case);
        let told = lines(&text, "purloin-cluster: rank 1: task Node");
        assert_eq!(told.len(), 1, "{text}");
        assert!(text.contains("all ranks do together"), "{text}");
    }
}

#[test]
fn an_option_out_of_range_is_an_error() {
    for ranks in [1, 2] {
        let text = failure(ranks, "range");
        let told = lines(&text, "residual must be");
        assert_eq!(told, ["residual must be from 0 to 6, not 7"], "{text}");
    }
}

#[test]
fn too_little_memory_is_an_error_on_every_rank() {
    for ranks in [1, 2] {
        let text = failure(ranks, "memory");
        assert_eq!(lines(&text, "rank 0 cannot allocate").len(), 1, "{text}");
    }
}

#[test]
fn different_options_are_an_error_on_every_rank() {
    let text = failure(3, "options");
    assert_eq!(lines(&text, "rank 1 has other options").len(), 1, "{text}");
}
