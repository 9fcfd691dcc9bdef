//! A clock that can be read in a few nanoseconds.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Reads the clock. The unit is the processor's own; see [`to_time`].
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 processor has a time-stamp counter.
    return unsafe { std::arch::x86_64::_rdtsc() };
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    return start().elapsed().as_nanos() as u64;
}

/// The same, after everything before has been done and before anything after
/// begins; or else the processor runs both into one another.
#[inline(always)]
pub(crate) fn ordered_ticks() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 processor has these instructions.
    unsafe {
        std::arch::x86_64::_mm_lfence();
        let ticks = ticks();
        std::arch::x86_64::_mm_lfence();
        ticks
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    ticks()
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn start() -> Instant {
    static START: OnceLock<Instant> = OnceLock::new();
    *START.get_or_init(Instant::now)
}

/// How long one tick is, in nanoseconds: measured at the first call, which
/// takes some milliseconds.
pub(crate) fn nanoseconds_per_tick() -> f64 {
    static SCALE: OnceLock<f64> = OnceLock::new();
    *SCALE.get_or_init(|| {
        let (start, first) = (Instant::now(), ticks());
        while start.elapsed() < Duration::from_millis(10) {
            std::hint::spin_loop();
        }
        let (elapsed, last) = (start.elapsed(), ticks());
        elapsed.as_nanos() as f64 / (last - first) as f64
    })
}

/// The time that so many ticks take.
pub(crate) fn to_time(ticks: f64) -> Duration {
    Duration::from_nanos((ticks * nanoseconds_per_tick()).max(0.0) as u64)
}
