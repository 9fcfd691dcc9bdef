//! The answers of all kernels, on one to eight ranks, with every cut-off and both kinds of steals.

mod common;

use common::report;

const CUT_OFFS: [&str; 5] = ["adaptive", "paper", "none", "depth:4", "queue"];

/// Small inputs, which take milliseconds.
#[cfg(debug_assertions)]
const KERNELS: [&str; 2] = ["fib=18", "nqueens=7"];
#[cfg(not(debug_assertions))]
const KERNELS: [&str; 6] = [
    "fib=27",
    "floorplan=5",
    "nqueens=10",
    "sparselu=12,16",
    "strassen=256",
    "uts=T1",
];

fn kernels_are_right_on(ranks: usize) {
    for kernel in KERNELS {
        for cut_off in CUT_OFFS {
            for steal in ["async", "sync"] {
                let report = report(ranks, &[kernel, "--cutoff", cut_off, "--steal", steal]);
                assert_eq!(report["verified"], true, "{report}");
                assert_eq!(report["ranks"], ranks);
                assert_eq!(report["cutoff"], cut_off);
                assert_eq!(report["steal"], steal);
            }
        }
    }
}

#[test]
fn kernels_are_right_on_one_rank() {
    kernels_are_right_on(1);
}

#[test]
fn kernels_are_right_on_two_ranks() {
    kernels_are_right_on(2);
}

#[test]
fn kernels_are_right_on_four_ranks() {
    kernels_are_right_on(4);
}

#[test]
#[ignore = "eight ranks: ./x prove cluster"]
fn kernels_are_right_on_eight_ranks() {
    kernels_are_right_on(8);
}

#[test]
fn residual_tasks_and_latency_do_not_change_the_answer() {
    for residual in ["0", "1", "3", "6"] {
        let args = ["nqueens=9", "--residual", residual, "--latency", "50us"];
        assert_eq!(report(3, &args)["answer"], "352");
    }
}

#[test]
fn a_global_profile_does_not_change_the_answer() {
    let args = ["nqueens=9", "--profile", "global", "--grain", "2ms"];
    assert_eq!(report(3, &args)["answer"], "352");
}

#[test]
fn serial_also_times_the_serial_elision() {
    let report = report(1, &["fib=20", "--serial", "--runs", "3"]);
    assert_eq!(report["verified"], true);
    assert_eq!(report["all_seconds"].as_array().unwrap().len(), 3);
    let ratio = report["seconds"].as_f64().unwrap() / report["serial_seconds"].as_f64().unwrap();
    assert!((report["vs_serial"].as_f64().unwrap() - ratio).abs() < 1e-9);
}

#[test]
#[cfg(not(debug_assertions))]
fn two_ranks_share_the_work_by_steals() {
    for steal in ["async", "sync"] {
        let report = report(2, &["nqueens=12", "--steal", steal]);
        assert!(report["stats"]["stolen"].as_u64().unwrap() > 0, "{report}");
    }
}
