//! Programs under all policies: what has to hold whatever happens.

use super::*;
use crate::{Tree, Uts};

/// Policies, one of each kind and some of several.
const POLICIES: [&str; 18] = [
    "random",
    "sampling:2",
    "sets",
    "both",
    "near",
    "half",
    "adaptive",
    "ask",
    "forward",
    "leapfrog",
    "spare",
    "residual:2",
    "forward+half+residual:2",
    "ask+leapfrog",
    "forward+leapfrog",
    "forward+spare",
    "residual:3+spare+half",
    "forward+spare+residual:2+adaptive",
];

fn machine(nodes: u32, sockets: u32, cores: u32) -> Machine {
    let reach = |nanoseconds| crate::Reach {
        steal: Time::from_nanoseconds(nanoseconds),
        sample: Time::from_nanoseconds(nanoseconds / 2),
        message: Time::from_nanoseconds(nanoseconds / 2),
    };
    let reaches = [reach(100), reach(300), reach(2000)];
    Machine::new(nodes, sockets, cores, reaches, false)
}

#[test]
fn every_leaf_is_run_once_under_every_policy() {
    let tree = Tree {
        depth: 10,
        leaf: Time::from_nanoseconds(700),
        is_random: false,
    };
    for policy in POLICIES {
        for machine in [machine(1, 1, 1), machine(1, 1, 7), machine(3, 2, 4)] {
            for seed in 0..5 {
                let outcome = simulate(&tree, &machine, policy.parse().unwrap(), seed);
                let work = Time::from_nanoseconds(700 << 10);
                assert_eq!(outcome.work, work, "{policy}");
                assert_eq!(outcome.tasks, (1 << 10) - 1, "{policy}");
                let least = work.seconds() / f64::from(machine.size());
                let cores = machine.size();
                assert!(
                    outcome.time.seconds() >= least * 0.999,
                    "{policy}: {outcome:?}"
                );
                assert!(
                    outcome.time.seconds() <= 6.0 * least,
                    "{policy}, {cores}: {outcome:?}"
                );
            }
        }
    }
}

#[test]
fn one_core_takes_as_long_as_the_program_has_work() {
    let tree = Tree::wool(64);
    let outcome = simulate(&tree, &Machine::wool(1), Policy::default(), 5);
    assert_eq!(outcome.time, outcome.work);
    assert_eq!(
        (outcome.attempts, outcome.steals, outcome.idle(1)),
        (0, 0, 0.0)
    );
}

#[test]
fn a_tree_of_uts_has_all_its_nodes() {
    let workload = Uts::new(&purloin_kernels::uts::TREES[2]);
    let outcome = simulate(&workload, &Machine::wool(16), "half".parse().unwrap(), 1);
    let nodes = workload.tree.size.nodes;
    assert_eq!(
        outcome.work.picoseconds(),
        nodes * workload.node.picoseconds()
    );
    assert!(outcome.idle(16) < 0.1, "{outcome:?}");
}

#[test]
fn the_same_seed_gives_the_same_run_on_every_machine() {
    for (policy, time, events) in [
        ("random", 22_801_074, 406),
        ("forward+half+spare", 34_174_251, 4873),
    ] {
        let run = || {
            simulate(
                &Tree::wool(64),
                &Machine::wool(64),
                policy.parse().unwrap(),
                9,
            )
        };
        assert_eq!(run(), run());
        assert_eq!(
            (run().time.picoseconds(), run().events),
            (time, events),
            "{policy}"
        );
    }
}
