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
    // Such a job shows nothing about serial tasks, so the test needs one that was not disturbed.
    let mut disturbed = Vec::new();
    while disturbed.len() < 5 {
        let output = hosts::output(2, 1, &example("serial"), &[]);
        let text = String::from_utf8(output).expect("the output is text");
        if most_tasks_ran_serially(&text) {
            return;
        }
        disturbed.push(text);
    }
    panic!("few tasks ran serially: {disturbed:#?}");
}

/// Checks the work in the output of a job, and returns whether a hundred tasks or more were stolen
/// in each of its two runs, and most of them ran serially.
fn most_tasks_ran_serially(text: &str) -> bool {
    assert_eq!(text.lines().count(), 2, "{text}");
    text.lines().all(|line| {
        let words = line.split(' ');
        let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
        let [stolen, serial, work] = numbers[..] else {
            panic!("{text}");
        };
        assert!(work >= stolen * BRANCH, "{text}");
        stolen >= 100 && 2 * serial > stolen
    })
}
