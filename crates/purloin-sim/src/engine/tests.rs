//! Invariants of all programs under all policies.

use purloin_kernels::loops::TIMED;
use purloin_schedulers::Adaptive;

use super::*;
use crate::{Loop, Tree, Uts};

/// Every single policy, and some combinations.
const POLICIES: [&str; 22] = [
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
    "sampling:2+once",
    "sampling:2+ask+spare",
    "sampling:2+forward+spare+residual:2",
    "forward+spare+residual:2+adaptive",
    "sampling:2+pending",
];

fn machine(nodes: u32, sockets: u32, cores: u32) -> Machine {
    machine_with_misses(nodes, sockets, cores, 1)
}

/// Returns a machine on which a failed attempt takes this part of the time of a steal.
fn machine_with_misses(nodes: u32, sockets: u32, cores: u32, part: u32) -> Machine {
    let reach = |nanoseconds: u64| crate::Latency {
        steal: Time::from_nanoseconds(nanoseconds),
        miss: Time::from_nanoseconds(nanoseconds / u64::from(part)),
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
        for machine in [
            machine(1, 1, 1),
            machine(1, 1, 7),
            machine(3, 2, 4),
            machine_with_misses(3, 2, 4, 4),
        ] {
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
fn every_iteration_of_a_loop_is_run_once_under_every_policy() {
    for timed in &TIMED[1..] {
        let nanoseconds = (0..timed.count).map(|i| timed.nanoseconds(i)).sum();
        let work = Time::from_nanoseconds(nanoseconds);
        for policy in
            POLICIES
                .into_iter()
                .chain(["lazy-binary", "forward+lazy-guided", "ask+lazy-binary"])
        {
            let outcome = simulate(&Loop(timed), &machine(1, 1, 7), policy.parse().unwrap(), 1);
            assert_eq!(outcome.work, work, "{} under {policy}", timed.name);
            let speed_up = work.seconds() / outcome.time.seconds();
            assert!(
                (5.0..=7.0).contains(&speed_up),
                "{} under {policy}: {speed_up}",
                timed.name
            );
        }
    }
}

#[test]
fn a_loop_is_split_for_requests_or_whenever_no_task_is_ready() {
    let run = |policy: &str, cores| {
        let machine = Machine::shared_memory(cores);
        simulate(&Loop(&TIMED[1]), &machine, policy.parse().unwrap(), 1)
    };
    assert_eq!(run("forward", 1).tasks, 0);
    // Without requests, one core halves the loop, runs the front, then halves the back, and so on.
    assert_eq!(run("lazy-binary", 1).tasks, 10);
    let asked = run("forward+lazy-binary", 8);
    assert!(asked.tasks > 0 && asked.tasks == asked.stolen, "{asked:?}");
    let beforehand = run("lazy-binary", 8);
    assert!(beforehand.tasks > beforehand.stolen, "{beforehand:?}");
    // One of eight parts for each thief is not enough, so the parts are split in turn.
    let guided = run("forward+lazy-guided", 8);
    assert!(guided.stolen > asked.stolen, "{guided:?}");
}

#[test]
fn one_core_takes_as_long_as_the_work_of_the_program() {
    let tree = Tree::wool(64);
    let outcome = simulate(&tree, &Machine::wool(1), Policy::default(), 5);
    assert_eq!(outcome.time, outcome.work);
    assert_eq!(
        (outcome.attempts, outcome.steals, outcome.idle(1)),
        (0, 0, 0.0)
    );
}

/// Work of 1 µs, a task of 10 µs, and work of 1 µs and 10 µs before its join.
struct OneTask;

impl Workload for OneTask {
    /// Whether it is the task, and the number of steps it has done.
    type Activation = (bool, u32);

    fn root(&self) -> (bool, u32) {
        (false, 0)
    }

    fn next(&self, (is_task, step): &mut (bool, u32), _: u64) -> Step<(bool, u32)> {
        *step += 1;
        let work = |microseconds: u64| Step::Work(Time::from_nanoseconds(1000 * microseconds));
        match (*is_task, *step) {
            (false, 1 | 3) => work(1),
            (false, 2) => Step::Fork((true, 0)),
            (false, 4) | (true, 1) => work(10),
            _ => Step::End,
        }
    }
}

#[test]
fn a_steal_by_request_takes_as_long_as_a_direct_one() {
    let time = |policy: &str| {
        let machine = Machine::shared_memory(2);
        let outcome = simulate(&OneTask, &machine, policy.parse().unwrap(), 1);
        assert_eq!(outcome.stolen, 1, "{policy}");
        outcome.time
    };
    // The victim has a task after 1 µs, and answers after 2 µs. The answer takes 1 µs without the 100 ns of
    // the request, and the message that the task has ended 100 ns.
    let expected = Time::from_nanoseconds(2000 + 900 + 10_000 + 100);
    assert_eq!(time("ask"), expected);
    assert_eq!(time("forward"), expected);
}

#[test]
fn a_steal_delays_its_victim_before_its_next_stretch_of_work() {
    let run = |victim: u64, policy: &str| {
        let victim = Time::from_nanoseconds(victim);
        let machine = Machine::shared_memory(2).with_victim(victim);
        simulate(&OneTask, &machine, policy.parse().unwrap(), 1)
    };
    for policy in ["near", "ask"] {
        assert_eq!(run(0, policy).overhead, Time::ZERO);
        let delayed = run(400, policy);
        assert_eq!(
            (delayed.stolen, delayed.overhead),
            (1, Time::from_nanoseconds(400))
        );
    }
    // The victim is stolen from after 2 µs, and works for 10 µs more. The task ends before that.
    let late = run(5000, "ask");
    assert_eq!(late.time, Time::from_nanoseconds(2000 + 5000 + 10_000));
}

#[test]
fn a_tree_of_uts_is_simulated_with_all_its_nodes() {
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
fn the_same_seed_gives_the_same_run_on_every_computer() {
    for (policy, time, events) in [
        ("random", 22_560_798, 408),
        ("forward+half+spare", 29_646_534, 4303),
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

#[test]
fn thieves_under_near_spend_the_same_time_at_each_distance() {
    for (nodes, sockets, cores, rings) in
        [(3, 2, 4, 3_u8), (1, 2, 4, 2), (3, 1, 4, 2), (5, 1, 1, 1)]
    {
        let machine = machine(nodes, sockets, cores);
        let tree = Tree::wool(4);
        let mut simulation = Simulation::new(&tree, &machine, "near".parse().unwrap(), 1);
        for worker in [0, machine.size() / 2, machine.size() - 1] {
            let mut times = [0; 3];
            let mut counts = vec![0; machine.size() as usize];
            for _ in 0..20_000 {
                let victim = simulation.choose(worker);
                counts[victim as usize] += 1;
                let time = machine.latency(worker, victim).steal.picoseconds();
                let ring = [100_000, 300_000, 2_000_000]
                    .iter()
                    .position(|&ring| ring == time);
                times[ring.unwrap()] += time;
            }
            assert_eq!(counts[worker as usize], 0);
            assert!(counts.iter().filter(|&&count| count > 0).count() + 1 == counts.len());
            let all: u64 = times.iter().sum();
            for time in times.into_iter().filter(|&time| time > 0) {
                let part = time as f64 / all as f64 * f64::from(rings);
                assert!((0.9..=1.1).contains(&part), "{worker}: {times:?}");
            }
            assert_eq!(times.iter().filter(|&&time| time > 0).count(), rings.into());
        }
    }
}

/// A program with this number of tasks on one core. Each task waits for a future that another core
/// runs.
struct Waiters(u32);

/// An activation of [`Waiters`] and its progress.
#[derive(Clone)]
enum Part {
    Root(u32),
    /// A future that computes. The flag says whether it has started to.
    Long(bool),
    /// A task that gets the future with this number. `None` after it has got the future.
    Waiter(Option<u32>),
}

impl Workload for Waiters {
    type Activation = Part;

    fn root(&self) -> Part {
        Part::Root(0)
    }

    fn next(&self, part: &mut Part, _: u64) -> Step<Part> {
        match part {
            Part::Root(step) => {
                let number = *step;
                *step += 1;
                match number {
                    _ if number < self.0 => Step::Future(Part::Long(false), number),
                    // The other cores steal all futures during this work.
                    _ if number == self.0 => Step::Work(Time::from_nanoseconds(1)),
                    _ if number <= 2 * self.0 => {
                        Step::Fork(Part::Waiter(Some(number - self.0 - 1)))
                    }
                    _ => Step::End,
                }
            }
            Part::Long(has_begun) if *has_begun => Step::End,
            Part::Long(has_begun) => {
                *has_begun = true;
                Step::Work(Time::from_nanoseconds(1000))
            }
            Part::Waiter(number) => number.take().map_or(Step::End, Step::Get),
        }
    }

    fn needs_spares(&self) -> bool {
        true
    }
}

#[test]
fn thousands_of_workers_of_one_core_resume_at_the_same_time() {
    let waiters = 20_000;
    let machine = Machine::ideal(waiters + 1);
    let outcome = simulate(&Waiters(waiters), &machine, "spare".parse().unwrap(), 1);
    assert_eq!(outcome.spares, waiters.into());
    assert_eq!(outcome.time, Time::from_nanoseconds(1000));
}

#[test]
fn times_saturate_at_the_maximum() {
    let (tree, day) = (
        Tree::wool(16),
        Time::from_picoseconds(86_400_000_000_000_000),
    );
    let tree = Tree { leaf: day, ..tree };
    for policy in ["random", "sampling:2+forward+spare", "leapfrog"] {
        let machine = Machine::wool(16).with_task(Some(Time::MAX.scaled(0.5)));
        let outcome = simulate(&tree, &machine, policy.parse().unwrap(), 1);
        assert_eq!(outcome.time, Time::MAX, "{policy}");
    }
}

/// A task that spawns tasks one after the other, each of which spawns this many leaves, or computes.
struct Producer {
    leaves: u32,
}

impl Workload for Producer {
    /// The number of tasks to spawn, the number that each of these spawns, and whether the task does not
    /// compute.
    type Activation = (u32, u32, bool);

    fn root(&self) -> (u32, u32, bool) {
        (5000, self.leaves, true)
    }

    fn next(&self, task: &mut (u32, u32, bool), _: u64) -> Step<(u32, u32, bool)> {
        match task {
            (0, _, true) => Step::End,
            (0, _, is_over) => {
                *is_over = true;
                Step::Work(Time::from_nanoseconds(700))
            }
            (left, leaves, _) => {
                *left -= 1;
                Step::Fork((*leaves, 0, *leaves > 0))
            }
        }
    }
}

/// The library's thieves decide by the same rule, in `strategy.rs` of `purloin-schedulers`. But the
/// simulator counts every task that a worker starts, and the library counts one or two for each stolen task.
#[test]
fn an_adaptive_thief_takes_half_only_while_the_stolen_tasks_have_no_children() {
    let machine = machine(1, 1, 2);
    let run =
        |leaves, policy: &str| simulate(&Producer { leaves }, &machine, policy.parse().unwrap(), 1);
    let without = run(0, "adaptive");
    assert!(without.stolen > 2 * without.steals, "{without:?}");
    let (one, adaptive) = (run(4, "one"), run(4, "adaptive"));
    assert!(one.steals > 10 * u64::from(Adaptive::INTERVAL), "{one:?}");
    assert_eq!((adaptive.time, adaptive.steals), (one.time, one.steals));
}

#[test]
fn each_search_begins_at_another_member_of_the_set() {
    let (tree, machine) = (Tree::wool(1024), Machine::wool(1024));
    let mut simulation = Simulation::new(&tree, &machine, "sets".parse().unwrap(), 1);
    let mut starts = std::collections::HashSet::new();
    let stride = {
        simulation.begin_search(7);
        simulation.worker(7).walk.stride
    };
    for _ in 0..20 {
        simulation.worker(7).walk.is_searching = false;
        assert!(simulation.begin_search(7) && !simulation.begin_search(7));
        let walk = simulation.worker(7).walk;
        starts.insert(walk.start);
        assert_eq!(walk.stride, stride, "the permutation stays");
    }
    assert!(starts.len() > 15, "{starts:?}");
}

/// One task, so all other cores try in vain to steal until it ends.
#[test]
fn a_failed_attempt_takes_as_long_as_the_machine_says() {
    let leaf = Time::from_nanoseconds(100_000);
    let tree = Tree {
        depth: 0,
        leaf,
        is_random: false,
    };
    for (part, attempts) in [(1, 1000), (4, 4000)] {
        let machine = machine_with_misses(1, 1, 2, part);
        let outcome = simulate(&tree, &machine, "sets".parse().unwrap(), 1);
        assert_eq!((outcome.time, outcome.steals), (leaf, 0));
        assert!(outcome.attempts.abs_diff(attempts) <= 1, "{outcome:?}");
    }
}

/// The owner wants its task back after 60 ns, and a steal ends after 100 ns. If a look takes a fourth of
/// that, the thief has the task by then. If it takes all of that, the thief is late.
#[test]
fn a_thief_commits_to_a_task_at_the_end_of_its_look() {
    let leaf = Time::from_nanoseconds(60);
    let tree = Tree {
        depth: 1,
        leaf,
        is_random: false,
    };
    for (part, steals, nanoseconds) in [(1, 0, 120), (4, 1, 160)] {
        let machine = machine_with_misses(1, 1, 2, part);
        let outcome = simulate(&tree, &machine, "leapfrog".parse().unwrap(), 1);
        let time = Time::from_nanoseconds(nanoseconds);
        assert_eq!((outcome.steals, outcome.time), (steals, time));
    }
}

/// All other cores are idle, so the first look finds an empty task pool.
#[test]
fn a_thief_that_samples_once_stops_at_an_empty_task_pool() {
    let (tree, machine) = (Tree::wool(64), Machine::wool(64));
    for (policy, samples) in [
        ("sampling:8+sets", 1),
        ("sampling:8+once", 1),
        ("sampling:8", 8),
    ] {
        let mut simulation = Simulation::new(&tree, &machine, policy.parse().unwrap(), 1);
        simulation.start_stealing(7);
        while matches!(
            simulation.worker(7).attempt,
            worker::Attempt::Sampling { .. }
        ) {
            simulation.on_sampled(7);
        }
        assert_eq!(simulation.outcome.samples, samples, "{policy}");
    }
}
