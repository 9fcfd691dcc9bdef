//! Kernels on several hosts, which have only a network in common. These tests are skipped
//! where network namespaces are not permitted.

mod common;

use common::{hosts, report_from_hosts, skipped};

/// Small inputs. Each kernel runs long enough for a steal through a network, or uses global
/// arrays.
#[cfg(debug_assertions)]
const KERNELS: [&str; 2] = ["fib=24", "nqueens=9"];
#[cfg(not(debug_assertions))]
const KERNELS: [&str; 6] = [
    "fib=30",
    "floorplan=10",
    "nqueens=11",
    "sparselu=12,16",
    "strassen=256",
    "uts=T1",
];

fn kernels_are_right_on(hosts: usize, each: usize) {
    if let Some(obstacle) = hosts::obstacle() {
        return skipped(obstacle.trim());
    }
    let (mut local, mut remote) = (0, 0);
    for kernel in KERNELS {
        for cut_off in ["adaptive", "none"] {
            for steal in ["async", "sync"] {
                let args = [kernel, "--cutoff", cut_off, "--steal", steal];
                let report = report_from_hosts(hosts, each, &args);
                assert_eq!(report["verified"], true, "{report}");
                assert_eq!(report["ranks"], hosts * each);
                assert_eq!(report["nodes"], hosts);
                let count = |name: &str| report["stats"][name].as_u64().unwrap();
                remote += count("remote_steals");
                local += count("steals") - count("remote_steals");
            }
        }
    }
    assert!(remote > 0);
    assert_eq!(local > 0, each > 1, "{local} local, {remote} remote");
}

#[test]
#[ignore = "makes network namespaces: ./x prove cluster"]
fn kernels_are_right_on_two_hosts() {
    kernels_are_right_on(2, 1);
}

#[test]
#[ignore = "makes network namespaces: ./x prove cluster"]
fn kernels_are_right_on_three_hosts() {
    kernels_are_right_on(3, 1);
}

#[test]
#[ignore = "makes network namespaces: ./x prove cluster"]
fn kernels_are_right_on_two_hosts_of_two_ranks() {
    kernels_are_right_on(2, 2);
}
