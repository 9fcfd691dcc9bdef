//! Small programs that are slow for a known reason, and whether the verdict of a trace finds it.
//!
//! Without arguments, this runs each program in a process of its own with `PURLOIN_REPORT`, and prints the verdict that
//! the page has. With the name of a program as its argument, it runs only that program. The verdicts depend on times, so
//! this needs a machine with two idle processors: run it with `./x prove verdicts`.

#![allow(missing_docs)]

use std::hint::{black_box, spin_loop};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use purloin::{Pool, Worker, for_each, join, span};

/// A program with a known reason.
struct Program {
    name: &'static str,
    /// The kinds of verdict that are right, see [`purloin::trace::Kind::name`].
    right: &'static [&'static str],
    workers: usize,
    /// Whether the run is compared with one of a single worker.
    is_compared: bool,
    run: fn(),
}

const fn program(name: &'static str, right: &'static [&'static str], run: fn()) -> Program {
    Program {
        name,
        right,
        workers: 2,
        is_compared: false,
        run,
    }
}

const fn compared(name: &'static str, right: &'static [&'static str], run: fn()) -> Program {
    Program {
        is_compared: true,
        ..program(name, right, run)
    }
}

const fn with_workers(workers: usize, program: Program) -> Program {
    Program { workers, ..program }
}

static PROGRAMS: &[Program] = &[
    program("serial code between calls", &["outside"], || {
        for _ in 0..5 {
            compute(MS * 40);
            tree(9, 100 * US);
        }
    }),
    program("serial code in a task", &["alone"], || {
        in_pool(|| {
            for _ in 0..5 {
                span("merge", || compute(MS * 40));
                span("solve", || tree(9, 100 * US));
            }
        });
    }),
    program("reading outside of the pool", &["outside"], || {
        for _ in 0..10 {
            std::thread::sleep(MS * 20);
            tree(7, 100 * US);
        }
    }),
    program("a chain of tasks", &["alone"], || {
        Pool::new().expect("a pool").run(|mut w| {
            for _ in 0..200 {
                let next = w.future(|_| compute(MS));
                w.get(next);
            }
        });
    }),
    program("one large leaf", &["alone"], || {
        join(|| compute(MS * 20), || compute(MS * 300));
    }),
    program(
        "a loop whose last iteration takes longest",
        &["alone"],
        || {
            for_each(0..1000, |i| {
                compute(if i == 999 { MS * 300 } else { 50 * US })
            });
        },
    ),
    program("phases with uneven halves", &["alone"], || {
        in_pool(|| {
            for _ in 0..100 {
                join(|| compute(MS * 3), || compute(MS));
            }
        });
    }),
    with_workers(
        4,
        program("two tasks for four workers", &["few-tasks"], || {
            in_pool(|| {
                for _ in 0..20 {
                    join(|| compute(MS * 10), || compute(MS * 10));
                }
            });
        }),
    ),
    program("many small calls", &["calls"], || {
        for _ in 0..3000 {
            join(|| compute(US), || compute(US));
        }
    }),
    program("small tasks in phases", &["grain"], || {
        in_pool(|| {
            for _ in 0..300_000 {
                join(|| compute(US / 2), || compute(US / 2));
            }
        });
    }),
    program("a lock around everything", &["waits"], || {
        let lock = Mutex::new(0_u64);
        for_each(0..1500, |_| {
            let mut sum = lock.lock().expect("no iteration panics");
            compute(200 * US);
            *sum += 1;
        });
    }),
    program("sleeps in a loop", &["waits"], || {
        for_each(0..200, |_| std::thread::sleep(2 * MS));
    }),
    program("tasks that wait for a channel", &["waits"], || {
        let (sender, receiver) = channel();
        let receiver = Mutex::new(receiver);
        let producer = std::thread::spawn(move || {
            for i in 0..200 {
                std::thread::sleep(2 * MS);
                if sender.send(i).is_err() {
                    return;
                }
            }
        });
        for_each(0..200, |_| {
            _ = receiver.lock().expect("no iteration panics").recv();
        });
        producer.join().expect("the producer does not panic");
    }),
    compared("a shared counter", &["slower-tasks"], || {
        let most = AtomicU64::new(0);
        for_each(0..20_000_000_u64, |i| _ = most.fetch_max(i, Relaxed));
    }),
    compared("counters on one cache line", &["slower-tasks"], || {
        let counters: Vec<AtomicU64> = (0..2).map(|_| AtomicU64::new(0)).collect();
        let count = |counter: &AtomicU64| {
            for _ in 0..40_000_000 {
                _ = counter.fetch_add(1, Relaxed);
            }
        };
        join(|| count(&counters[0]), || count(&counters[1]));
    }),
    compared("memory bandwidth", &["slower-tasks"], || {
        let numbers = vec![1_u64; 1 << 24];
        in_pool(|| {
            for _ in 0..200 {
                // One number of each cache line.
                let sum = |i: usize| numbers[i * 8];
                black_box(purloin::map_reduce(
                    0..numbers.len() / 8,
                    sum,
                    u64::wrapping_add,
                ));
            }
        });
    }),
    compared("a spin lock", &["slower-tasks"], || {
        let (is_held, mut sum) = (AtomicBool::new(false), AtomicU64::new(0));
        for_each(0..3_000_000, |i| {
            while is_held.swap(true, Relaxed) {
                spin_loop();
            }
            sum.fetch_add(i, Relaxed);
            is_held.store(false, Relaxed);
        });
        black_box(sum.get_mut());
    }),
    with_workers(
        8,
        program("more workers than processors", &["oversubscribed"], || {
            tree(14, 50 * US);
        }),
    ),
    program(
        "other threads use the processors",
        &["oversubscribed"],
        || {
            let is_over = AtomicBool::new(false);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        while !is_over.load(Relaxed) {
                            spin_loop();
                        }
                    });
                }
                tree(12, 100 * US);
                is_over.store(true, Relaxed);
            });
        },
    ),
    program("nothing is wrong: a tree", &["busy"], || tree(13, 100 * US)),
    program("nothing is wrong: joins of a nanosecond", &["busy"], || {
        assert_eq!(fib(38), 39_088_169);
    }),
    with_workers(
        1,
        program("one worker", &["one-worker"], || tree(10, 100 * US)),
    ),
    program("a short run", &["short"], || {
        join(|| compute(20 * US), || compute(20 * US));
    }),
];

/// Verdicts that name no reason. For a slow program they are neither right nor misleading.
const CLAIM_NOTHING: [&str; 3] = ["busy", "short", "nothing"];

const US: Duration = Duration::from_micros(1);
const MS: Duration = Duration::from_millis(1);

fn compute(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        spin_loop();
    }
}

fn tree(height: u32, leaf: Duration) {
    match height {
        0 => compute(leaf),
        _ => _ = join(|| tree(height - 1, leaf), || tree(height - 1, leaf)),
    }
}

fn fib(n: u64) -> u64 {
    match n {
        0 | 1 => n,
        _ => {
            let (a, b) = join(|| fib(n - 1), || fib(n - 2));
            a + b
        }
    }
}

/// Runs a function in one call of the default pool.
fn in_pool(f: impl FnOnce() + Send) {
    join(f, || ());
}

/// Runs a program with these variables.
fn run(program: &Program, workers: usize, variables: &[(&str, &Path)]) {
    let mut command = Command::new(std::env::current_exe().expect("this is a program"));
    command.arg(program.name);
    // The user's own variables would change the run.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PURLOIN_") {
            command.env_remove(name);
        }
    }
    command.env("PURLOIN_WORKERS", workers.to_string());
    command.envs(variables.iter().copied());
    assert!(
        command.status().expect("it starts").success(),
        "{}",
        program.name
    );
}

/// Runs a program, and returns the kind and the sentence of its verdict.
fn verdict(program: &Program, folder: &Path) -> (String, String) {
    let (one, page) = (folder.join("one.json"), folder.join("page.html"));
    if program.is_compared {
        run(program, 1, &[("PURLOIN_TRACE", &one)]);
        let variables: [(_, &Path); 2] = [("PURLOIN_REPORT", &page), ("PURLOIN_COMPARE", &one)];
        run(program, program.workers, &variables);
    } else {
        run(program, program.workers, &[("PURLOIN_REPORT", &page)]);
    }
    let page = std::fs::read_to_string(page).expect("the program has written its page");
    let member = |name: &str| {
        let (_, rest) = page.split_once("\"verdict\":{")?;
        let (_, rest) = rest.split_once(&format!("\"{name}\":\""))?;
        Some(rest.split_once('"')?.0.replace("\\u0020", " "))
    };
    member("kind")
        .zip(member("title"))
        .expect("the page has a verdict")
}

fn main() -> ExitCode {
    if let Some(name) = std::env::args()
        .nth(1)
        .filter(|name| !name.starts_with('-'))
    {
        let program = PROGRAMS.iter().find(|program| program.name == name);
        (program.expect("the name is that of a program").run)();
        return ExitCode::SUCCESS;
    }
    let folder = std::env::temp_dir().join(format!("purloin-verdicts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let (mut right, mut wrong) = (0, 0);
    for program in PROGRAMS {
        let (mut kind, mut title) = verdict(program, &folder);
        for _ in 0..3 {
            if kind == "oversubscribed" && !program.right.contains(&&*kind) {
                // Another program may have used the processors. Then the verdict is about that program, so this run
                // is repeated.
                (kind, title) = verdict(program, &folder);
            }
        }
        let mark = match (
            program.right.contains(&&*kind),
            CLAIM_NOTHING.contains(&&*kind),
        ) {
            (true, _) => {
                right += 1;
                "right"
            }
            (false, true) => "no claim",
            (false, false) => {
                wrong += 1;
                "WRONG"
            }
        };
        println!("{mark:<8} {:<42} {kind:<15} {title}", program.name);
    }
    _ = std::fs::remove_dir_all(folder);
    println!(
        "{right} of {} verdicts are right, {wrong} are wrong",
        PROGRAMS.len()
    );
    match wrong == 0 && right * 10 >= PROGRAMS.len() * 9 {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
