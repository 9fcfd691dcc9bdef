//! Failures end the job on every rank within seconds, and their messages name the cause.

mod common;

use std::time::Duration;

use common::{example, is_open_mpi, job, run};

/// The time limit for a job that fails.
const SOON: Duration = Duration::from_secs(10);

/// Runs a case of `examples/failures.rs`, and returns its standard error.
fn failure(ranks: usize, case: &str) -> String {
    let output = run(job(ranks, &example("failures"), &[case]), SOON);
    assert!(!output.status.success(), "{case}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the lines of a text that start with `prefix`.
fn lines<'t>(text: &'t str, prefix: &str) -> Vec<&'t str> {
    text.lines()
        .filter(|line| line.starts_with(prefix))
        .collect()
}

#[test]
fn a_task_that_panics_ends_the_job_and_the_message_names_it() {
    for ranks in [1, 2, 4] {
        let text = failure(ranks, "panic");
        let messages = lines(&text, "purloin-cluster: ");
        let [line] = messages[..] else {
            panic!("{text}");
        };
        let rank = format!("rank {}", ranks - 1);
        for part in [&*rank, "task Node", "depth", "is rotten", "failures.rs"] {
            assert!(line.contains(part), "{part}: {line}");
        }
        assert!(!text.contains("RUST_BACKTRACE"), "{text}");
    }
}

#[test]
fn a_rank_that_dies_ends_the_job_and_the_launcher_names_it() {
    for case in ["abort", "exit"] {
        let text = failure(4, case);
        // The launcher names a rank that dies without a message. MPICH's launcher does not
        // always do so, and names the process instead of the rank.
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
fn a_task_that_calls_a_collective_operation_ends_the_job() {
    for case in ["collective", "drop"] {
        let text = failure(2, case);
        let messages = lines(&text, "purloin-cluster: rank 1: task Node");
        assert_eq!(messages.len(), 1, "{text}");
        assert!(text.contains("a collective operation"), "{text}");
    }
}

#[test]
fn an_option_out_of_range_is_an_error() {
    for ranks in [1, 2] {
        let text = failure(ranks, "range");
        let messages = lines(&text, "residual must be");
        assert_eq!(messages, ["residual must be from 0 to 6, not 7"], "{text}");
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
    assert_eq!(
        lines(&text, "rank 1 and rank 0 have different options").len(),
        1,
        "{text}"
    );
}
