//! A clock that can be read in a few nanoseconds.

use std::time::Duration;

use crate::sync::Instant;
use crate::sync::plain::OnceLock;

/// Reads the clock. The unit is the processor's own; see [`to_time`].
#[inline(always)]
pub fn ticks() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(any(miri, purloin_virtual))))]
    // SAFETY: every x86-64 processor has a time-stamp counter.
    return unsafe { std::arch::x86_64::_rdtsc() };
    #[cfg(purloin_virtual)]
    return purloin_virtual::sync::ticks();
    #[cfg(not(any(purloin_virtual, all(target_arch = "x86_64", not(miri)))))]
    return start().elapsed().as_nanos() as u64;
}

/// Reads the clock, in order with the instructions before and after. An unordered read may overlap
/// them.
#[inline(always)]
pub fn ordered_ticks() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(any(miri, purloin_virtual))))]
    // SAFETY: every x86-64 processor has these instructions.
    unsafe {
        std::arch::x86_64::_mm_lfence();
        let ticks = ticks();
        std::arch::x86_64::_mm_lfence();
        ticks
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(miri, purloin_virtual)))))]
    ticks()
}

#[cfg(not(any(purloin_virtual, all(target_arch = "x86_64", not(miri)))))]
fn start() -> Instant {
    static START: OnceLock<Instant> = OnceLock::new();
    *START.get_or_init(Instant::now)
}

/// Returns the length of one tick, in nanoseconds. The first call measures it, for ten
/// milliseconds.
pub fn nanoseconds_per_tick() -> f64 {
    if cfg!(purloin_virtual) {
        return 1.0;
    }
    static SCALE: OnceLock<f64> = OnceLock::new();
    *SCALE.get_or_init(|| {
        let (start, first) = (Instant::now(), ticks());
        while start.elapsed() < Duration::from_millis(10) {
            crate::sync::spin_loop();
        }
        let (elapsed, last) = (start.elapsed(), ticks());
        elapsed.as_nanos() as f64 / (last - first) as f64
    })
}

/// Converts ticks to time.
pub fn to_time(ticks: f64) -> Duration {
    Duration::from_nanos((ticks * nanoseconds_per_tick()).max(0.0) as u64)
}
