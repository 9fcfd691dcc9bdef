//! Loops, sorts and graphs as everyday programs have them.
//!
//! The contestant *by hand* does without the construct that the row is about: see each row.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::AcqRel, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex, OnceLock};
use std::time::Duration;

use purloin::{Scope, SharedHandle, Worker};
use rayon::prelude::*;

use crate::Row;
use crate::contestants::{Pools, compute, timed};

/// Defines a row whose contestants sort a copy of the same input.
macro_rules! sort {
    ($what:literal, $input:ident, $std:ident, $rayon:ident) => {
        Row {
            what: $what,
            ideal: None,
            workers: 1,
            contestants: &[
                ("serial", |_| sorted(&$input, |v| v.$std())),
                ("token", |pools| {
                    sorted(&$input, |v| pools.purloin.run(|mut w| w.$std(v)))
                }),
                ("rayon", |pools| {
                    sorted(&$input, |v| pools.rayon.install(|| v.$rayon()))
                }),
            ],
        }
    };
}

/// Defines a row in which a plain loop, *by hand*, and an adaptor of Purloin compute the same sum.
/// Both run on the worker.
macro_rules! adaptor {
    ($what:literal, $plain:expr, $adapted:expr) => {
        Row {
            what: $what,
            ideal: None,
            workers: 1,
            contestants: &[
                ("by hand", |pools| {
                    sum_on_worker(pools, $plain, |_| $plain())
                }),
                ("token", |pools| sum_on_worker(pools, $plain, $adapted)),
            ],
        }
    };
}

pub const ROWS: &[Row] = &[
    // By hand: an accumulator for each thread, and a counter of files that all threads share.
    Row {
        what: "word count of 2,000 texts",
        ideal: None,
        workers: 1,
        contestants: &[
            ("serial", |_| counted(count_serially)),
            ("by hand", |pools| {
                counted(|| pools.purloin.run(count_by_hand))
            }),
            ("token", |pools| {
                counted(|| pools.purloin.run(count_by_fold))
            }),
            ("rayon", |pools| {
                counted(|| pools.rayon.install(count_by_rayon))
            }),
        ],
    },
    sort!("sort 10⁶ strings", STRINGS, sort, par_sort),
    sort!("sort 10⁷ random u64", RANDOM, sort, par_sort),
    sort!("sort 10⁷ u64, 16 distinct", FEW, sort, par_sort),
    sort!("sort 10⁷ u64, sorted", SORTED, sort, par_sort),
    sort!(
        "sort_unstable 10⁶ strings",
        STRINGS,
        sort_unstable,
        par_sort_unstable
    ),
    sort!(
        "sort_unstable 10⁷ random u64",
        RANDOM,
        sort_unstable,
        par_sort_unstable
    ),
    sort!(
        "sort_unstable 10⁷ u64, 16 distinct",
        FEW,
        sort_unstable,
        par_sort_unstable
    ),
    sort!(
        "sort_unstable 10⁷ u64, sorted",
        SORTED,
        sort_unstable,
        par_sort_unstable
    ),
    Row {
        what: "collect of 10⁷ u64",
        ideal: None,
        workers: 1,
        contestants: &[
            ("serial", |_| {
                mapped(|| RANDOM.iter().map(|n| n / 3).collect())
            }),
            ("token", |pools| {
                mapped(|| {
                    pools
                        .purloin
                        .run(|mut w| w.par(&*RANDOM).map(|n| n / 3).collect::<Vec<_>>())
                })
            }),
            ("rayon", |pools| {
                mapped(|| {
                    pools
                        .rayon
                        .install(|| RANDOM.par_iter().map(|n| n / 3).collect())
                })
            }),
        ],
    },
    // More would not fit in one heap of a thread's arena of glibc, 64 MiB. Then times depend on which
    // of its pages each run gives back to the system, and vary by 20 %.
    Row {
        what: "collect of 400,000 strings",
        ideal: None,
        workers: 1,
        contestants: &[
            ("serial", |_| {
                mapped(|| {
                    STRINGS[..MAPPED]
                        .iter()
                        .map(|s| s.replace('1', "one"))
                        .collect()
                })
            }),
            ("token", |pools| {
                mapped(|| {
                    pools.purloin.run(|mut w| {
                        w.par(&STRINGS[..MAPPED])
                            .map(|s| s.replace('1', "one"))
                            .collect::<Vec<_>>()
                    })
                })
            }),
            ("rayon", |pools| {
                mapped(|| {
                    pools.rayon.install(|| {
                        STRINGS[..MAPPED]
                            .par_iter()
                            .map(|s| s.replace('1', "one"))
                            .collect()
                    })
                })
            }),
        ],
    },
    // By hand: a loop whose iterations look at a flag.
    Row {
        what: "any of 10⁶, hit in the middle",
        ideal: None,
        workers: 1,
        contestants: &[
            ("serial", |_| timed(true, || (0..MANY).any(is_hit))),
            ("by hand", |pools| {
                timed(true, || {
                    let found = AtomicBool::new(false);
                    pools.purloin.run(|mut w| {
                        w.for_each(0..MANY, |n| {
                            if !found.load(Relaxed) && is_hit(n) {
                                found.store(true, Relaxed);
                            }
                        });
                    });
                    found.into_inner()
                })
            }),
            ("token", |pools| {
                timed(true, || {
                    pools.purloin.run(|mut w| w.par(0..MANY).any(is_hit))
                })
            }),
            ("rayon", |pools| {
                timed(true, || {
                    pools
                        .rayon
                        .install(|| (0..MANY).into_par_iter().any(is_hit))
                })
            }),
        ],
    },
    // By hand: a finish and spawns, with a counter of the unfinished predecessors of each task.
    Row {
        what: "graph of 5,000 tasks of 50 µs",
        ideal: Some(|workers| 0.25 / workers as f64),
        workers: 1,
        contestants: &[
            ("by hand", |pools| {
                timed(*GRAPH_SUM, || pools.purloin.run(graph_by_hand))
            }),
            ("token", |pools| {
                timed(*GRAPH_SUM, || {
                    pools
                        .purloin
                        .run(|mut w| w.finish(|scope| graph_by_handles(scope)))
                })
            }),
        ],
    },
    adaptor!(
        "sum over a slice",
        || NUMBERS.iter().fold(0, |sum: u64, n| sum ^ mix(*n)),
        |mut w: purloin::Token| w.par(&*NUMBERS).fold(zero, |sum, n| sum ^ mix(*n), xor)
    ),
    adaptor!(
        "sum over a tuple",
        || NUMBERS
            .iter()
            .zip(&*OTHERS)
            .fold(0, |sum: u64, (a, b)| sum ^ mix(a + b)),
        |mut w: purloin::Token| w.par(&*NUMBERS).zip(&*OTHERS).fold(
            zero,
            |sum, (a, b)| sum ^ mix(a + b),
            xor
        )
    ),
    adaptor!(
        "sum over rev",
        || NUMBERS.iter().rev().fold(0, |sum: u64, n| sum ^ mix(*n)),
        |mut w: purloin::Token| w
            .par(&*NUMBERS)
            .rev()
            .fold(zero, |sum, n| sum ^ mix(*n), xor)
    ),
    adaptor!(
        "sum over enumerate",
        || (0..)
            .zip(&*NUMBERS)
            .fold(0, |sum: u64, (i, n): (usize, _)| sum ^ mix(i as u64 + n)),
        |mut w: purloin::Token| w.par(&*NUMBERS).enumerate().fold(
            zero,
            |sum, (i, n)| sum ^ mix(i as u64 + n),
            xor
        )
    ),
    adaptor!(
        "sum over step_by",
        || NUMBERS
            .iter()
            .step_by(2)
            .fold(0, |sum: u64, n| sum ^ mix(*n)),
        |mut w: purloin::Token| w
            .par(&*NUMBERS)
            .step_by(2)
            .fold(zero, |sum, n| sum ^ mix(*n), xor)
    ),
    adaptor!(
        "sum over windows",
        || NUMBERS
            .windows(2)
            .fold(0, |sum: u64, w| sum ^ mix(w[0] + w[1])),
        |mut w: purloin::Token| w.par(&*NUMBERS).windows(2).fold(
            zero,
            |sum, w| sum ^ mix(w[0] + w[1]),
            xor
        )
    ),
    adaptor!(
        "sum over chunks_exact",
        || NUMBERS
            .chunks_exact(2)
            .fold(0, |sum: u64, c| sum ^ mix(c[0] + c[1])),
        |mut w: purloin::Token| w.par(&*NUMBERS).chunks_exact(2).fold(
            zero,
            |sum, c| sum ^ mix(c[0] + c[1]),
            xor
        )
    ),
];

/// Returns the n-th number of a random sequence.
fn random(n: u64) -> u64 {
    let x = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    // Frequent words and rare words, as in a language.
    let word = |n: u64| format!("word{}", random(n) % (1 + random(n + 1) % 5000));
    let text = |n: u64| (0..1200).map(|i| word(n * 1200 + i) + " ").collect();
    (0..2000).map(text).collect()
});

type Counts = HashMap<&'static str, usize>;

fn add(counts: &mut Counts, text: &'static str) {
    for word in text.split_whitespace() {
        *counts.entry(word).or_default() += 1;
    }
}

fn merge(mut counts: Counts, others: Counts) -> Counts {
    for (word, count) in others {
        *counts.entry(word).or_default() += count;
    }
    counts
}

fn with_text(mut counts: Counts, text: &'static str) -> Counts {
    add(&mut counts, text);
    counts
}

fn counted(count: impl FnOnce() -> Counts) -> Option<f64> {
    static RIGHT: LazyLock<Counts> = LazyLock::new(count_serially);
    let mut counts = Counts::new();
    LazyLock::force(&RIGHT);
    let seconds = timed((), || counts = count())?;
    (counts == *RIGHT).then_some(seconds)
}

fn count_serially() -> Counts {
    TEXTS
        .iter()
        .fold(Counts::new(), |counts, text| with_text(counts, text))
}

fn count_by_hand(mut w: purloin::Token) -> Counts {
    let (next, all) = (&AtomicUsize::new(0), Mutex::new(Counts::new()));
    let count = || {
        let mut counts = Counts::new();
        while let Some(text) = TEXTS.get(next.fetch_add(1, Relaxed)) {
            add(&mut counts, text);
        }
        let mut all = all.lock().unwrap();
        *all = merge(counts, std::mem::take(&mut all));
    };
    let workers = w.workers();
    w.finish(|scope| {
        for _ in 1..workers {
            scope.spawn(|_| count());
        }
        count();
    });
    all.into_inner().unwrap()
}

fn count_by_fold(mut w: purloin::Token) -> Counts {
    w.par(&*TEXTS)
        .fold(Counts::new, |counts, text| with_text(counts, text), merge)
}

fn count_by_rayon() -> Counts {
    TEXTS
        .par_iter()
        .fold(Counts::new, |counts, text| with_text(counts, text))
        .reduce(Counts::new, merge)
}

const LONG: u64 = 10_000_000;
const MAPPED: usize = 400_000;

static RANDOM: LazyLock<Vec<u64>> = LazyLock::new(|| (0..LONG).map(random).collect());
static FEW: LazyLock<Vec<u64>> = LazyLock::new(|| (0..LONG).map(|n| random(n) % 16).collect());
static SORTED: LazyLock<Vec<u64>> = LazyLock::new(|| (0..LONG).collect());
static STRINGS: LazyLock<Vec<String>> =
    LazyLock::new(|| (0..1_000_000).map(|n| random(n).to_string()).collect());

/// Sorts a copy of the input.
fn sorted<T: Ord + Clone>(input: &[T], sort: impl FnOnce(&mut [T])) -> Option<f64> {
    let mut copy = input.to_vec();
    let seconds = timed((), || sort(&mut copy))?;
    copy.is_sorted().then_some(seconds)
}

fn mapped<T>(map: impl FnOnce() -> Vec<T>) -> Option<f64> {
    LazyLock::force(&RANDOM);
    LazyLock::force(&STRINGS);
    let mut results = Vec::new();
    // The results are dropped after the clock has stopped.
    let seconds = timed((), || results = map())?;
    (results.len() >= MAPPED).then_some(seconds)
}

const MANY: u64 = 1_000_000;

fn is_hit(n: u64) -> bool {
    random(black_box(n)) == random(MANY / 2)
}

/// The tasks that each task of the graph needs.
static NEEDS: LazyLock<Vec<Vec<usize>>> = LazyLock::new(|| {
    let needs = |task: u64| {
        let need = |n| (random(10 * task + n) % task) as usize;
        let mut needs: Vec<usize> = (0..3.min(task)).map(need).collect();
        needs.sort_unstable();
        needs.dedup();
        needs
    };
    (0..5000).map(needs).collect()
});

static GRAPH_SUM: LazyLock<u64> = LazyLock::new(|| {
    let mut results = Vec::<u64>::new();
    for (task, needs) in NEEDS.iter().enumerate() {
        results.push(value(task, needs.iter().map(|&need| results[need])));
    }
    results.into_iter().fold(0, xor)
});

fn value(task: usize, needed: impl Iterator<Item = u64>) -> u64 {
    random(task as u64 ^ needed.fold(0, xor))
}

fn step(task: usize, needed: impl Iterator<Item = u64>) -> u64 {
    compute(Duration::from_micros(50));
    value(task, needed)
}

fn graph_by_handles<'s>(scope: &'s Scope<'s, '_>) -> u64 {
    let mut tasks: Vec<SharedHandle<u64>> = Vec::new();
    for (task, needs) in NEEDS.iter().enumerate() {
        let needs: Vec<_> = needs.iter().map(|&need| tasks[need].clone()).collect();
        let handle = scope
            .after(&needs)
            .shared_future(move |_| step(task, needs.iter().map(|need| *need.get())));
        tasks.push(handle);
    }
    tasks.iter().map(|task| *task.get()).fold(0, xor)
}

struct Task {
    /// Number of tasks that this task needs and that have not ended.
    pending: AtomicUsize,
    result: OnceLock<u64>,
    needed_by: Vec<usize>,
}

fn graph_by_hand(mut w: purloin::Token) -> u64 {
    let task = |needs: &Vec<usize>| Task {
        pending: AtomicUsize::new(needs.len()),
        result: OnceLock::new(),
        needed_by: Vec::new(),
    };
    let mut tasks: Vec<Task> = NEEDS.iter().map(task).collect();
    for (task, needs) in NEEDS.iter().enumerate() {
        for &need in needs {
            tasks[need].needed_by.push(task);
        }
    }
    w.finish(|scope| {
        for task in (0..tasks.len()).filter(|&task| NEEDS[task].is_empty()) {
            let tasks = &tasks;
            scope.spawn(move |_| run(scope, tasks, task));
        }
    });
    tasks.iter().map(result).fold(0, xor)
}

fn result(task: &Task) -> u64 {
    *task.result.get().unwrap()
}

fn run<'s>(scope: &'s Scope<'s, '_>, tasks: &'s [Task], task: usize) {
    let needed = NEEDS[task].iter().map(|&need| result(&tasks[need]));
    tasks[task].result.set(step(task, needed)).unwrap();
    for &next in &tasks[task].needed_by {
        if tasks[next].pending.fetch_sub(1, AcqRel) == 1 {
            scope.spawn(move |_| run(scope, tasks, next));
        }
    }
}

static NUMBERS: LazyLock<Vec<u64>> = LazyLock::new(|| (0..4 * MANY).map(|n| n % 1000).collect());
static OTHERS: LazyLock<Vec<u64>> = LazyLock::new(|| (0..4 * MANY).map(|n| n % 999).collect());

/// About a third of a nanosecond of arithmetic, which vectorises.
fn mix(n: u64) -> u64 {
    let n = (n ^ (n << 13)) + (n >> 7);
    n ^ (n << 17)
}

fn zero() -> u64 {
    0
}

fn xor(a: u64, b: u64) -> u64 {
    a ^ b
}

/// Times `sum` on a worker, which has computed it by the plain loop before.
fn sum_on_worker(pools: &Pools, plain: fn() -> u64, sum: fn(purloin::Token) -> u64) -> Option<f64> {
    pools.purloin.run(|w| timed(plain(), || sum(w)))
}
