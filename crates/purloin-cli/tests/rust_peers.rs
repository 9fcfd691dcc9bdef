//! Peers that are Rust libraries and run only some kernels, or are built by themselves.
#![allow(missing_docs)]

mod common;

use std::path::Path;
use std::process::{Command, Output};

use common::{json, purloin, refusal, temporary};

/// Returns the arguments that run kernels under a scheduler, with one worker and with two.
fn bench<'a>(scheduler: &'a str, kernels: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["bench", "--scheduler", scheduler];
    for kernel in kernels {
        args.extend(["--kernel", kernel]);
    }
    args.extend(["--workers", "1,2", "--runs", "1", "--json", "-"]);
    args
}

/// Checks that a report has a right answer for each kernel and number of workers.
fn check(output: &Output, scheduler: &str, kernels: &[&str]) {
    let report = json(output);
    let cells = report["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2 * kernels.len(), "{scheduler}");
    for cell in cells {
        assert_eq!(cell["scheduler"], scheduler);
        assert_eq!(cell["verified"], true, "{cell}");
    }
}

#[test]
fn peers_for_loops_give_right_answers() {
    // The loops have no iteration, fewer iterations than pieces, or more.
    let kernels = [
        "spc-loop=0",
        "spc-loop=100,0",
        "spc-loop=5000,0",
        "jacobi=40,3",
        "loops=coarse",
        "loops=increasing,100",
    ];
    for scheduler in ["orx-parallel", "paralight"] {
        if scheduler == "orx-parallel" && cores() < 2 {
            eprintln!("skipped: orx-parallel needs a core for each worker");
            continue;
        }
        check(&purloin(&bench(scheduler, &kernels)), scheduler, &kernels);
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[test]
fn peers_for_loops_name_their_kernels() {
    for scheduler in ["orx-parallel", "paralight"] {
        let text = refusal(&["bench", "--kernel", "fib", "--scheduler", scheduler]);
        let expected =
            format!("{scheduler} has no kernel \"fib\"; its kernels are loops, jacobi, spc-loop");
        assert!(text.contains(&expected), "{text}");
    }
}

#[test]
fn orx_parallel_never_runs_with_fewer_workers_than_asked_for() {
    let output = Command::new(env!("CARGO_BIN_EXE_purloin"))
        .args(bench("orx-parallel", &["spc-loop=10,0"]))
        .env("ORX_NUM_THREADS", "1")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains("orx-parallel with 2 workers is left out: ") && text.contains("here 1"),
        "{text}"
    );
}

#[test]
#[ignore = "compiles the peer: ./x prove peers"]
fn forte_gives_right_answers_if_there_is_a_nightly_toolchain() {
    let nightly = Command::new("cargo")
        .args(["+nightly", "--version"])
        .output();
    if !nightly.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: this machine has no nightly toolchain");
        return;
    }
    let kernels = [
        "fib=20",
        "nqueens=8",
        "uts=T1",
        "multisort=5000",
        "flood=20,1",
        "bpc-loop=20,9,0",
        "futures=12",
        "loops=coarse",
    ];
    check(&purloin(&bench("forte", &kernels)), "forte", &kernels);
}

#[test]
fn forte_without_its_toolchain_says_how_to_install_it_and_the_others_go_on() {
    // A machine without cargo, and one where rustup has no toolchain.
    let empty = temporary("no-toolchains");
    for (variable, value) in [
        ("PATH", Path::new("/nowhere")),
        ("RUSTUP_HOME", empty.as_path()),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_purloin"))
            .args(bench("rayon", &["fib=10"]))
            .args(["--scheduler", "forte"])
            .env(variable, value)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(text.lines().count(), 1, "{variable}: {text}");
        assert!(
            text.starts_with("purloin: forte is left out: cannot run cargo")
                || text.starts_with("purloin: forte is left out: cargo: error"),
            "{variable}: {text}"
        );
        assert!(
            text.contains("rustup toolchain install nightly"),
            "{variable}: {text}"
        );
        check(&output, "rayon", &["fib=10"]);
    }
}
