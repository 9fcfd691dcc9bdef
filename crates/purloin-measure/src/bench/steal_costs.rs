//! The cost of steals for their victims: [`StealCosts`].

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use purloin::{Stats, Times};

use super::quantiles::median;

/// The cost of steals for their victims.
///
/// Source: Return barrier, section 4.
#[derive(Clone, Copy, serde::Serialize, serde::Deserialize)]
pub struct StealCosts {
    /// Steals per task. `None` for a kernel that has only loops, because their tasks exist only if
    /// stolen.
    pub steal_ratio: Option<f64>,
    /// Steals per millisecond.
    pub steal_rate: f64,
    /// The share of the processors' time used that victims lose to thieves, without `waking_cost`.
    pub dynamic_overhead: f64,
    /// The share of the processors' time used in which owners return to public tasks. It is a part
    /// of `dynamic_overhead`.
    pub barrier_cost: f64,
    /// The share of the processors' time used in which owners wake sleeping thieves.
    pub waking_cost: f64,
    /// The time that victims lose for each steal, in seconds, without waking the thief. `None` if
    /// nothing was stolen.
    pub loss_per_steal: Option<f64>,
    /// The share of steals that needed no request. `None` if nothing was stolen.
    pub free_steal_share: Option<f64>,
}

impl StealCosts {
    /// Computes the costs of one run. It took this number of seconds, and its threads `used` the
    /// processors for this time. Sleeping workers use none.
    pub fn of_run(
        stats: Stats,
        times: Times,
        tasks: u64,
        seconds: f64,
        used: Duration,
    ) -> StealCosts {
        let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let steals = stats.steals as f64;
        let (used, crossing) = (used.as_secs_f64(), times.crossing.as_secs_f64());
        let interrupted = match stats.forced_steals {
            0 => 0.0,
            forced => forced as f64 * interruption().as_secs_f64(),
        };
        let lost = times.serving.as_secs_f64() + crossing + interrupted;
        // The victims' clock goes on while the system runs another program on their processor. In a
        // short run, it may count more time than the threads have used.
        let share = |part: f64| ratio(part, used).min(1.0);
        StealCosts {
            steal_ratio: (tasks > 0).then(|| steals / tasks as f64),
            steal_rate: ratio(steals, seconds * 1e3),
            dynamic_overhead: share(lost),
            barrier_cost: share(crossing),
            waking_cost: share(times.waking.as_secs_f64()),
            loss_per_steal: (stats.steals > 0).then(|| lost / steals),
            free_steal_share: (stats.steals > 0).then(|| stats.free_steals as f64 / steals),
        }
    }

    /// Returns the median of each figure, over the runs that have it. The system may interrupt a
    /// victim while it serves a thief, which distorts a single run but not the median.
    pub fn median(runs: &[StealCosts]) -> Option<StealCosts> {
        let of =
            |figure: fn(&StealCosts) -> f64| median(&runs.iter().map(figure).collect::<Vec<_>>());
        let of_some = |figure: fn(&StealCosts) -> Option<f64>| {
            let values: Vec<_> = runs.iter().filter_map(figure).collect();
            (!values.is_empty()).then(|| median(&values))
        };
        (!runs.is_empty()).then(|| StealCosts {
            steal_ratio: of_some(|run| run.steal_ratio),
            steal_rate: of(|run| run.steal_rate),
            dynamic_overhead: of(|run| run.dynamic_overhead),
            barrier_cost: of(|run| run.barrier_cost),
            waking_cost: of(|run| run.waking_cost),
            loss_per_steal: of_some(|run| run.loss_per_steal),
            free_steal_share: of_some(|run| run.free_steal_share),
        })
    }
}

/// The number of interrupts that [`interruption`] averages.
const INTERRUPTS: u32 = 200;

/// Returns the mean time that a running worker loses when a forced steal interrupts its processor.
/// The first call measures it, for some 50 ms.
///
/// One thread reads the clock without a pause, and adds up the gaps between its readings. The other
/// interrupts it by `membarrier`, as a forcing thief does. In a second round it does not.
fn interruption() -> Duration {
    static TIME: OnceLock<Duration> = OnceLock::new();
    *TIME.get_or_init(|| {
        register();
        let (with, without) = (gaps(true), gaps(false));
        with.saturating_sub(without) / INTERRUPTS
    })
}

/// The time between two interrupts.
const PAUSE: Duration = Duration::from_micros(100);

/// The gap between two readings of the clock above which something else has run in between.
const GAP: Duration = Duration::from_nanos(200);

fn gaps(interrupts: bool) -> Duration {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let victim = scope.spawn(|| {
            let (mut lost, mut last) = (Duration::ZERO, Instant::now());
            while !is_over.load(Ordering::Relaxed) {
                let now = Instant::now();
                let gap = now - last;
                if gap > GAP {
                    lost += gap;
                }
                last = now;
            }
            lost
        });
        for _ in 0..INTERRUPTS {
            let start = Instant::now();
            if interrupts {
                interrupt();
            }
            while start.elapsed() < PAUSE {
                std::hint::spin_loop();
            }
        }
        is_over.store(true, Ordering::Relaxed);
        victim.join().expect("the victim does not panic")
    })
}

/// Registers this process for [`interrupt`], as a pool does that steals by force. Returns whether the
/// system has the call.
fn register() -> bool {
    // From <linux/membarrier.h>: register private expedited.
    membarrier(1 << 4)
}

/// Interrupts every processor that runs a thread of this process.
fn interrupt() {
    // Private expedited. Where the call fails, no steal is forced.
    membarrier(1 << 3);
}

#[cfg(target_os = "linux")]
fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: the call takes three integers and touches no memory of this process.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn membarrier(_: i32) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overhead_is_a_share_of_the_processor_time_used() {
        let (stats, mut times) = (Stats::default(), Times::default());
        times.serving = Duration::from_millis(10);
        times.crossing = Duration::from_millis(5);
        // Two workers, of which one slept for nearly all of the second.
        let used = Duration::from_millis(1_000);
        let costs = StealCosts::of_run(stats, times, 1, 1.0, used);
        assert!((costs.dynamic_overhead - 0.015).abs() < 1e-9);
        assert!((costs.barrier_cost - 0.005).abs() < 1e-9);
    }

    #[test]
    fn no_share_of_the_time_used_exceeds_1() {
        let mut times = Times::default();
        // The system interrupted a victim for 2 ms, and the run used only 200 µs.
        times.crossing = Duration::from_millis(2);
        let used = Duration::from_micros(200);
        let costs = StealCosts::of_run(Stats::default(), times, 1, 2.1e-3, used);
        assert_eq!((costs.dynamic_overhead, costs.barrier_cost), (1.0, 1.0));
    }

    #[test]
    fn a_run_without_steals_says_nothing_about_a_steal() {
        let run = |steals: u64| {
            let (mut stats, mut times) = (Stats::default(), Times::default());
            (stats.steals, stats.free_steals) = (steals, steals / 2);
            times.serving = Duration::from_micros(steals);
            StealCosts::of_run(stats, times, 1, 1.0, Duration::from_secs(1))
        };
        assert!(run(0).loss_per_steal.is_none());
        let costs = StealCosts::median(&[run(0), run(0), run(10)]).unwrap();
        assert!((costs.loss_per_steal.unwrap() - 1e-6).abs() < 1e-12);
        assert_eq!(costs.free_steal_share, Some(0.5));
        assert_eq!(costs.steal_rate, 0.0);
        let json = serde_json::to_value(StealCosts::median(&[run(0)])).unwrap();
        assert!(json["loss_per_steal"].is_null() && json["free_steal_share"].is_null());
    }

    #[test]
    fn an_interrupt_takes_time() {
        if !register() {
            return;
        }
        let least = INTERRUPTS * Duration::from_nanos(100);
        // Other programs can hide it, but not for long.
        let is_seen = (0..20).any(|_| gaps(true) > gaps(false) + least);
        assert!(is_seen);
    }

    #[test]
    fn a_forced_steal_costs_its_victim_an_interrupt() {
        let (mut stats, times) = (Stats::default(), Times::default());
        stats.forced_steals = 1_000;
        let costs = StealCosts::of_run(stats, times, 1, 1.0, Duration::from_secs(1));
        let interrupts = 1_000.0 * interruption().as_secs_f64();
        assert!((costs.dynamic_overhead - interrupts).abs() < 1e-9);
    }
}
