//! What users get wrong, and what they are told.

mod common;

use std::process::Output;
use std::time::Duration;

use common::{LONG, command, is_open_mpi, job, launcher, run, skipped};

fn refusal(ranks: usize, args: &[&str]) -> String {
    let output = run(job(ranks, &command(), args), LONG);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
    let ours: Vec<_> = ours(&output).collect();
    assert_eq!(ours.len(), 1, "{args:?}: {text}");
    ours[0].clone()
}

/// The lines that are ours; `mpirun` adds its own.
fn ours(output: &Output) -> impl Iterator<Item = String> {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines
        .into_iter()
        .filter(|line| line.starts_with("purloin-cluster: "))
}

#[test]
fn mistakes_are_named_in_one_line_with_what_would_be_right() {
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
fn several_ranks_tell_a_mistake_once() {
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
fn ranks_with_different_arguments_are_named() {
    let program = command();
    let program = program.to_str().unwrap();
    let mut job = job(2, &command(), &["fib=20"]);
    job.args([":", "-n", "1", program, "fib=21"]);
    let output = run(job, LONG);
    assert!(!output.status.success());
    let told: Vec<_> = ours(&output).collect();
    assert!(
        matches!(&told[..], [line] if line.contains("rank 2")),
        "{told:?}"
    );
}

#[test]
fn help_teaches() {
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
fn a_launch_without_slots_is_refused() {
    if !is_open_mpi() {
        return skipped("MPICH has no slots");
    }
    let mut job = std::process::Command::new(launcher());
    job.args(["--host", "localhost:2", "-n", "3"])
        .arg(command())
        .arg("fib=5")
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let output = run(job, Duration::from_secs(10));
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("slots"));
}
