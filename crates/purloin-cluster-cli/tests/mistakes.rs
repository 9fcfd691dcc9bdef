//! Users' mistakes: each gets exit status 2 and one line that names the argument at fault and the
//! way out.

mod common;

use std::process::Output;
use std::time::Duration;

use common::{LONG, allow_root, command, is_open_mpi, job, launcher, run, skipped};

/// Runs the command with arguments that it must refuse, and returns its message.
fn refusal(ranks: usize, args: &[&str]) -> String {
    let output = run(job(ranks, &command(), args), LONG);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
    let messages = messages(&output);
    assert_eq!(messages.len(), 1, "{args:?}: {text}");
    messages[0].clone()
}

/// Returns the messages of the command. `mpirun` adds lines of its own.
fn messages(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stderr);
    let messages = text
        .lines()
        .filter(|line| line.starts_with("purloin-cluster: "));
    messages.map(str::to_owned).collect()
}

#[test]
fn a_mistake_gets_one_line_with_the_culprit_and_the_way_out() {
    for (args, culprit, way_out) in [
        (&["fibb"][..], "\"fibb\"", "nqueens"),
        (&["fib=99"], "\"99\"", "from 0 to 60"),
        (&["uts=T9"], "\"T9\"", "T3L"),
        (&["fib", "--residual", "7"], "'7'", "from 0 to 6"),
        (&["fib", "--residual", "-1"], "-1", ""),
        (&["fib", "--cutoff", "depth"], "'depth'", "depth:D"),
        (&["fib", "--cutoff", "depth:x"], "'depth:x'", "depth:5"),
        (&["fib", "--steal", "slowly"], "'slowly'", "sync"),
        (&["fib", "--latency", "3"], "'3'", "200us"),
        (&["fib", "--grain", "2h"], "'2h'", "2ms"),
        (
            &["fib", "--json", "/nowhere/x.json"],
            "/nowhere/x.json",
            "directory",
        ),
        (&["fib", "--runs", "0"], "'0'", "from 1"),
    ] {
        let text = refusal(1, args);
        assert!(
            text.contains(culprit) && text.contains(way_out),
            "{args:?}: {text}"
        );
    }
}

#[test]
fn several_ranks_report_a_mistake_once() {
    for args in [
        &["fibb"][..],
        &["fib", "--residual", "7"],
        &["fib", "--json", "/"],
    ] {
        refusal(3, args);
    }
    let text = refusal(2, &["fib=20", "--serial"]);
    assert!(text.contains("one rank"), "{text}");
}

#[test]
fn a_rank_with_different_arguments_is_named() {
    let program = command();
    let program = program.to_str().unwrap();
    let mut job = job(2, &command(), &["fib=20"]);
    job.args([":", "-n", "1", program, "fib=21"]);
    let output = run(job, LONG);
    assert!(!output.status.success());
    let messages = messages(&output);
    assert!(
        matches!(&messages[..], [line] if line.contains("rank 2")),
        "{messages:?}"
    );
}

#[test]
fn help_shows_examples_and_list_shows_all_kernels() {
    let output = run(job(1, &command(), &["--help"]), LONG);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains("Examples:") && text.contains("mpirun -n 2"),
        "{text}"
    );
    let output = run(job(1, &command(), &["list"]), LONG);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for kernel in ["fib", "floorplan", "nqueens", "sparselu", "strassen", "uts"] {
        assert!(text.contains(kernel), "{text}");
    }
}

#[test]
fn open_mpi_refuses_more_ranks_than_slots() {
    if !is_open_mpi() {
        return skipped("MPICH has no slots");
    }
    let mut job = std::process::Command::new(launcher());
    job.args(["--host", "localhost:2", "-n", "3"])
        .arg(command())
        .arg("fib=5");
    allow_root(&mut job);
    let output = run(job, Duration::from_secs(10));
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("slots"));
}
