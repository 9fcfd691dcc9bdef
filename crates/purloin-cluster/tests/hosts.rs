//! Ranks on several hosts, which have only a network in common. These tests are skipped
//! where network namespaces are not permitted.

mod common;

use common::{example, hosts, skipped};

#[test]
#[ignore = "makes network namespaces: ./x prove cluster"]
fn a_thief_steals_from_a_rank_whose_leaves_only_compute() {
    if let Some(obstacle) = hosts::obstacle() {
        return skipped(obstacle.trim());
    }
    let output = hosts::output(2, 1, &example("leaves"), &[]);
    let text = String::from_utf8(output).expect("the output is text");
    for line in text.lines() {
        let stolen = line.strip_suffix(" of 200 were stolen").expect(&text);
        let stolen: u32 = stolen.parse().expect(&text);
        // The number is 100 when each of the two ranks has a processor of its own.
        assert!(stolen >= 10, "{text}");
    }
    assert_eq!(text.lines().count(), 2, "{text}");
}

/// The work of a branch in `examples/serial.rs`, in microseconds.
const BRANCH: u64 = 600;

#[test]
#[ignore = "makes network namespaces: ./x prove cluster"]
fn the_work_of_a_serial_task_from_another_host_counts_for_its_parent() {
    if let Some(obstacle) = hosts::obstacle() {
        return skipped(obstacle.trim());
    }
    // Other programs can slow a thief down so much that branches look long enough to be spread.
    // Such a job shows nothing about serial tasks, so the test tries again.
    let mut jobs = Vec::new();
    while jobs.len() < 5 {
        let output = hosts::output(2, 1, &example("serial"), &[]);
        let text = String::from_utf8(output).expect("the output is text");
        let runs = text.lines().map(Run::parse).collect::<Vec<_>>();
        assert_eq!(runs.len(), 2, "{text}");
        for run in &runs {
            // Most stolen tasks are branches, and some are leaves of branches.
            assert!(2 * run.work >= run.stolen * BRANCH, "{text}");
        }
        if runs.iter().all(Run::is_mostly_serial) {
            return;
        }
        jobs.push(runs);
    }
    let is_busy = jobs.iter().flatten().any(Run::is_slow);
    assert!(is_busy, "few tasks ran serially: {jobs:#?}");
    skipped("this machine is too busy, so stolen tasks take far too long");
}

/// A line of the output of `examples/serial.rs`.
#[derive(Debug)]
struct Run {
    stolen: u64,
    serial: u64,
    /// The work of all stolen tasks, in microseconds.
    work: u64,
}

impl Run {
    fn parse(line: &str) -> Run {
        let words = line.split(' ');
        let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
        let [stolen, serial, work] = numbers[..] else {
            panic!("{line}");
        };
        Run {
            stolen,
            serial,
            work,
        }
    }

    /// Returns whether a hundred tasks or more were stolen, and most of them ran serially.
    fn is_mostly_serial(&self) -> bool {
        self.stolen >= 100 && 2 * self.serial > self.stolen
    }

    /// Returns whether the stolen tasks took much longer than a branch has to compute.
    fn is_slow(&self) -> bool {
        2 * self.work > 3 * self.stolen * BRANCH
    }
}
