//! The measurements of `purloin machine`. All times are in nanoseconds, and medians.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use std::thread;
use std::time::{Duration, Instant};

use purloin_command::Machine as ThisMachine;
use purloin_virtual::{Core, Latency, MAX_CORES, Machine, System, Topology};

use super::cpus::{Cpu, Cpus, Distance, pin};

/// The time for which Linux lets a thread run that others wait for.
const SLICE: f64 = 3e6;

/// Number of samples of each figure.
const SAMPLES: usize = 51;

/// A value with cache lines of its own.
#[repr(align(256))]
struct Apart<T>(T);

/// Measures the machine. Calls `tell` with what it measures next.
pub(super) fn machine(cpus: &Cpus, tell: impl Fn(&str)) -> Machine {
    let (first, second) = (cpus.0[0], cpus.0[1]);
    tell("the way of a cache line between cores");
    let transfer = |distance| {
        let pairs = cpus.pairs(distance);
        let times = pairs.into_iter().map(|(a, b)| transfer(a, b));
        median(times.collect())
    };
    let near = transfer(Distance::Cluster);
    let far = transfer(Distance::Socket);
    let remote = transfer(Distance::Remote);
    tell("caches and memory");
    let on_first = |f: fn() -> f64| on(first, f);
    let cache = on_first(|| chase(cache_bytes()));
    let memory = on_first(|| chase(256 << 20));
    tell("single operations");
    let core = on(first, single_operations);
    tell("sleeping and waking");
    let system = system(first, second);
    let (cluster, socket) = cpus.cluster_and_socket();
    let all = near.or(far).or(remote).unwrap_or(0.0);
    Machine {
        name: ThisMachine::this().processor,
        sources: vec!["measured by `purloin machine`; slice: the usual value of Linux".to_string()],
        topology: Topology {
            cores: cpus.0.len().min(MAX_CORES),
            cluster,
            socket,
        },
        latency: Latency {
            cluster: near.unwrap_or(all),
            socket: far.or(near).unwrap_or(all),
            remote,
            cache,
            memory,
        },
        core,
        system,
    }
}

/// Returns the median, if there are any values.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().map(rounded)
}

/// Rounds a figure to what its measurement is worth.
fn rounded(value: f64) -> f64 {
    match value < 100.0 {
        true => (value * 100.0).round() / 100.0,
        false => value.round(),
    }
}

/// Returns the median of samples.
fn median_of(sample: impl FnMut() -> f64) -> f64 {
    let samples = std::iter::repeat_with(sample).take(SAMPLES);
    median(samples.collect()).expect("there are samples")
}

fn nanoseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}

/// Runs `f` on a thread that is pinned to this core.
fn on<R: Send>(cpu: Cpu, f: impl FnOnce() -> R + Send) -> R {
    thread::scope(|threads| {
        let thread = threads.spawn(|| {
            pin(cpu);
            f()
        });
        thread.join().expect("a measurement does not panic")
    })
}

/// Runs both functions at once, each on its core.
fn on_both<R: Send>(
    (a, f): (Cpu, impl FnOnce() -> R + Send),
    (b, g): (Cpu, impl FnOnce() + Send),
) -> R {
    thread::scope(|threads| {
        let other = threads.spawn(|| {
            pin(b);
            g();
        });
        let thread = threads.spawn(|| {
            pin(a);
            f()
        });
        other.join().expect("a measurement does not panic");
        thread.join().expect("a measurement does not panic")
    })
}

/// Returns half of a round trip of a cache line between two cores.
fn transfer(a: Cpu, b: Cpu) -> f64 {
    const TRIPS: usize = 1000;
    let line = Apart(AtomicUsize::new(0));
    let follow = || {
        for trip in 0..SAMPLES * TRIPS {
            while line.0.load(Ordering::Acquire) != 2 * trip + 1 {}
            line.0.store(2 * trip + 2, Ordering::Release);
        }
    };
    let lead = || {
        let mut trip = 0;
        median_of(|| {
            let start = Instant::now();
            for _ in 0..TRIPS {
                while line.0.load(Ordering::Acquire) != 2 * trip {}
                line.0.store(2 * trip + 1, Ordering::Release);
                trip += 1;
            }
            nanoseconds(start.elapsed()) / (2 * TRIPS) as f64
        })
    };
    on_both((a, lead), (b, follow))
}

/// Returns a size that fits into a last-level cache, and not into the cache before it.
fn cache_bytes() -> usize {
    let size = |index: usize| {
        let file = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size");
        let text = std::fs::read_to_string(file).ok()?;
        text.trim().strip_suffix('K')?.parse::<usize>().ok()
    };
    let kibibytes = match (size(2), size(3)) {
        (Some(inner), Some(last)) => (last / 4).max(2 * inner).min(last),
        _ => 4 << 10,
    };
    kibibytes << 10
}

/// Returns the time of a load that depends on the one before it, at random places of this many bytes.
fn chase(bytes: usize) -> f64 {
    const LINE: usize = 64 / size_of::<usize>();
    const STEPS: usize = 1_000_000;
    let lines = bytes / 64;
    let mut order: Vec<usize> = (0..lines).collect();
    let mut random = 1_u64;
    for place in (1..lines).rev() {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        order.swap(place, (random >> 33) as usize % place);
    }
    let mut next = vec![0_usize; lines * LINE];
    for pair in order.windows(2) {
        next[pair[0] * LINE] = pair[1] * LINE;
    }
    next[order[lines - 1] * LINE] = order[0] * LINE;
    let mut place = 0;
    let mut walk = || {
        let start = Instant::now();
        (0..STEPS).for_each(|_| place = next[place]);
        black_box(place);
        nanoseconds(start.elapsed()) / STEPS as f64
    };
    walk();
    median(vec![walk(), walk(), walk()]).expect("there are samples")
}

/// Measures what a core does alone.
fn single_operations() -> Core {
    let word = Apart(AtomicUsize::new(0));
    let time = |operation: &dyn Fn(usize)| {
        median_of(|| {
            let start = Instant::now();
            operation(10_000);
            nanoseconds(start.elapsed()) / 10_000.0
        })
    };
    Core {
        ghz: ghz().unwrap_or(3.0),
        load: time(&|count| {
            (0..count).for_each(|_| _ = black_box(word.0.load(Ordering::Relaxed)));
        }),
        locked: time(&|count| {
            (0..count).for_each(|_| _ = black_box(word.0.fetch_add(1, Ordering::AcqRel)));
        }),
        fence: time(&|count| {
            (0..count).for_each(|i| {
                fence(Ordering::SeqCst);
                // Otherwise the compiler makes one fence of all.
                black_box(i);
            });
        }),
        pause: time(&|count| (0..count).for_each(|_| spin_loop())),
        clock: time(&|count| (0..count).for_each(|_| _ = black_box(Instant::now()))),
    }
}

/// Returns the clock rate that the system reports.
fn ghz() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("cpu MHz"))?;
    let megahertz: f64 = line.split_once(':')?.1.trim().parse().ok()?;
    Some(rounded(megahertz / 1000.0)).filter(|ghz| (0.1..=20.0).contains(ghz))
}

/// Measures what the system needs, with threads on two cores.
fn system(a: Cpu, b: Cpu) -> System {
    let (wake, wake_latency, park) = wake_up(a, b);
    let hand_over = hand_over(a);
    let (membarrier, interrupt, interrupted) = membarrier(a, b);
    let yield_now = || {
        median_of(|| {
            let start = Instant::now();
            (0..1000).for_each(|_| thread::yield_now());
            nanoseconds(start.elapsed()) / 1000.0
        })
    };
    let start_thread = || {
        median_of(|| {
            let start = Instant::now();
            let thread = thread::spawn(|| ());
            let time = nanoseconds(start.elapsed());
            thread.join().expect("it does nothing");
            time
        })
    };
    System {
        park,
        wake,
        wake_latency,
        switch: rounded((hand_over - wake - park).max(100.0)),
        yield_now: on(a, yield_now),
        slice: SLICE,
        membarrier,
        interrupt,
        interrupted,
        start_thread: on(a, start_thread),
    }
}

/// Wakes a thread that sleeps on an idle core. Returns the time of the call, the time from its end until the thread runs, and
/// the processor time that the thread uses for a sleep.
fn wake_up(a: Cpu, b: Cpu) -> (f64, f64, f64) {
    let start = Instant::now();
    let now = || start.elapsed().as_nanos() as u64;
    let (round, woken_at) = (Apart(AtomicUsize::new(0)), Apart(AtomicU64::new(0)));
    thread::scope(|threads| {
        let sleeper = threads.spawn(|| {
            pin(b);
            let before = processor_time();
            for next in 1..=SAMPLES {
                while round.0.load(Ordering::Acquire) < next {
                    thread::park();
                }
                woken_at.0.store(now(), Ordering::Release);
            }
            rounded((processor_time() - before) / SAMPLES as f64)
        });
        let to_wake = sleeper.thread().clone();
        let (round, woken_at, now) = (&round.0, &woken_at.0, &now);
        let waker = threads.spawn(move || {
            pin(a);
            let (mut calls, mut latencies) = (Vec::new(), Vec::new());
            for next in 1..=SAMPLES {
                // The sleeper falls asleep, and so does its core.
                let wait = Instant::now();
                while wait.elapsed() < Duration::from_micros(300) {
                    spin_loop();
                }
                woken_at.store(0, Ordering::Relaxed);
                round.store(next, Ordering::Release);
                let begin = now();
                to_wake.unpark();
                let end = now();
                while woken_at.load(Ordering::Acquire) == 0 {
                    spin_loop();
                }
                let woken = woken_at.load(Ordering::Acquire);
                calls.push((end - begin) as f64);
                latencies.push(woken.saturating_sub(end) as f64);
            }
            (median(calls), median(latencies))
        });
        let (call, latency) = waker.join().expect("a measurement does not panic");
        let park = sleeper.join().expect("a measurement does not panic");
        (call.unwrap_or(0.0), latency.unwrap_or(0.0), park)
    })
}

/// Returns the time that a thread takes to wake another one on the same core and to fall asleep, until that one runs.
fn hand_over(cpu: Cpu) -> f64 {
    const TRIPS: usize = 2000;
    let turn = AtomicUsize::new(0);
    let play = |me: usize, other: thread::Thread| {
        for trip in 0..TRIPS {
            while turn.load(Ordering::Acquire) != 2 * trip + me {
                thread::park();
            }
            turn.store(2 * trip + me + 1, Ordering::Release);
            other.unpark();
        }
    };
    on(cpu, || {
        let leader = thread::current();
        thread::scope(|threads| {
            let second = threads.spawn(|| {
                pin(cpu);
                play(1, leader);
            });
            let start = Instant::now();
            play(0, second.thread().clone());
            nanoseconds(start.elapsed()) / (2 * TRIPS) as f64
        })
    })
}

/// Returns the time of `membarrier` alone, the time that another busy core adds to it, and the time that such a core loses.
/// They are zero where the system does not have it.
fn membarrier(a: Cpu, b: Cpu) -> (f64, f64, f64) {
    const CALLS: usize = 2000;
    if !register() {
        return (0.0, 0.0, 0.0);
    }
    let call = || {
        median_of(|| {
            let start = Instant::now();
            (0..100).for_each(|_| barrier());
            nanoseconds(start.elapsed()) / 100.0
        })
    };
    let alone = on(a, call);
    let (is_over, count) = (AtomicBool::new(false), Apart(AtomicU64::new(0)));
    let work = || {
        let mut rounds = 0;
        while !is_over.load(Ordering::Relaxed) {
            for _ in 0..100 {
                black_box(());
            }
            rounds += 1;
            count.0.store(rounds, Ordering::Relaxed);
        }
    };
    let rounds = |f: &dyn Fn()| {
        let (before, start) = (count.0.load(Ordering::Relaxed), Instant::now());
        f();
        let time = nanoseconds(start.elapsed());
        (count.0.load(Ordering::Relaxed) - before, time)
    };
    let disturb = || {
        while count.0.load(Ordering::Relaxed) == 0 {
            spin_loop();
        }
        let busy = call();
        let (quiet_rounds, quiet) = rounds(&|| thread::sleep(Duration::from_millis(20)));
        let (disturbed_rounds, disturbed) = rounds(&|| (0..CALLS).for_each(|_| barrier()));
        is_over.store(true, Ordering::Relaxed);
        let per_round = quiet / quiet_rounds.max(1) as f64;
        let lost = (disturbed - disturbed_rounds as f64 * per_round) / CALLS as f64;
        (busy, rounded(lost.max(0.0)))
    };
    let (busy, lost) = on_both((a, disturb), (b, work));
    (alone, rounded((busy - alone).max(0.0)), lost)
}

/// Registers the process for [`barrier`]. Returns whether the system has it.
fn register() -> bool {
    membarrier_call(1 << 4)
}

/// Executes a full fence on every core that runs a thread of this process.
fn barrier() {
    membarrier_call(1 << 3);
}

fn membarrier_call(command: libc::c_int) -> bool {
    #[cfg(target_os = "linux")]
    // SAFETY: the call takes three integers, and touches no memory of this process.
    return unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 };
    #[cfg(not(target_os = "linux"))]
    {
        let _ = command;
        false
    }
}

/// Returns the processor time of this thread.
fn processor_time() -> f64 {
    #[cfg(target_os = "linux")]
    {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the call fills the value.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
        time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
    }
    #[cfg(not(target_os = "linux"))]
    0.0
}
