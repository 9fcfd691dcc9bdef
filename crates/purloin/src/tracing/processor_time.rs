//! What the system says about a thread's use of processors, and about the age of the process.

pub(super) use system::{age_of_process, of, own_thread};

#[cfg(all(target_os = "linux", not(loom), not(miri)))]
mod system {
    use std::time::Duration;

    use purloin_trace::ProcessorTime;

    /// Returns the number by which the system knows this thread.
    pub fn own_thread() -> u64 {
        // SAFETY: the call has no conditions.
        unsafe { libc::syscall(libc::SYS_gettid) as u64 }
    }

    /// Returns how long ago this process began, to a hundredth of a second.
    pub fn age_of_process() -> Option<Duration> {
        // The name of the program, in parentheses, may contain anything.
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        let (_, rest) = stat.rsplit_once(')')?;
        // The field after the name is the third one, and the 22nd is the start in clock ticks since the system began.
        let start: f64 = rest.split_whitespace().nth(19)?.parse().ok()?;
        let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
        let uptime: f64 = uptime.split_whitespace().next()?.parse().ok()?;
        // SAFETY: the call has no conditions.
        let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
        Duration::try_from_secs_f64(uptime - start / ticks).ok()
    }

    /// Returns the use of a thread of this process, if it has not ended.
    pub fn of(thread: u64) -> Option<ProcessorTime> {
        let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?;
        let mut numbers = text.split_whitespace().map(|number| number.parse().ok());
        let (ran, waited) = (numbers.next()??, numbers.next()??);
        Some(ProcessorTime { ran, waited })
    }
}

/// Elsewhere nothing is known.
#[cfg(not(all(target_os = "linux", not(loom), not(miri))))]
mod system {
    use purloin_trace::ProcessorTime;

    pub fn age_of_process() -> Option<std::time::Duration> {
        None
    }

    pub fn own_thread() -> u64 {
        0
    }

    pub fn of(_: u64) -> Option<ProcessorTime> {
        None
    }
}
