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
const BRANCH: u64 = 60;

#[test]
#[ignore = "makes network namespaces: ./x prove cluster"]
fn the_work_of_a_serial_task_from_another_host_counts_for_its_parent() {
    if let Some(obstacle) = hosts::obstacle() {
        return skipped(obstacle.trim());
    }
    let output = hosts::output(2, 1, &example("serial"), &[]);
    let text = String::from_utf8(output).expect("the output is text");
    for line in text.lines() {
        let numbers: Vec<u64> = line
            .split(' ')
            .filter_map(|word| word.parse().ok())
            .collect();
        let [stolen, serial, work] = numbers[..] else {
            panic!("{text}");
        };
        // Most tasks are stolen after the thief has learnt how long they take.
        assert!(stolen >= 500 && 2 * serial > stolen, "{text}");
        assert!(work >= stolen * BRANCH, "{text}");
    }
    assert_eq!(text.lines().count(), 2, "{text}");
}
