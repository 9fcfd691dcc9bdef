//! What the system says about a thread's use of processors.

pub(super) use system::{of, own_thread};

#[cfg(all(target_os = "linux", not(loom), not(miri)))]
mod system {
    use purloin_trace::ProcessorTime;

    /// Returns the number by which the system knows this thread.
    pub fn own_thread() -> u64 {
        // SAFETY: the call has no conditions.
        unsafe { libc::syscall(libc::SYS_gettid) as u64 }
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

    pub fn own_thread() -> u64 {
        0
    }

    pub fn of(_: u64) -> Option<ProcessorTime> {
        None
    }
}
