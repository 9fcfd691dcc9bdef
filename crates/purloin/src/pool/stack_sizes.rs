//! The sizes of a pool's stacks by default, and what a process has left of its limits.
//!
//! A thread's stack and a task stack take memory only where they are used. But limits of a process
//! count more than that:
//!
//! | limit | of a thread's stack | of a task stack |
//! |---|---|---|
//! | address space (`ulimit -v`) | all | all |
//! | data (`ulimit -d`), strict overcommit | all | the slots that are open |
//! | locked memory (`ulimit -l`), after `mlockall(MCL_FUTURE)` | all | all |
//!
//! The program needs most of what is left for itself and for its other pools. So a pool with default
//! sizes looks at the first two limits, and takes smaller stacks if little is left. It does not check
//! whether memory is locked, because few programs lock it, and the check would cost every pool as much as
//! a thread. Instead, if the system refuses a stack, the pool tries again with smaller ones.
//!
//! The allocator of glibc also reserves 64 MiB of address space for each thread that allocates, but
//! does without if the limit forbids it.

use super::cache_placement::{MAX_SKIP, MAX_TASKS_SKIP};
use crate::runtime::task_bytes;

/// The sizes of a worker's stacks, in bytes: that of its thread, and its task stack.
pub(super) type Stacks = (usize, usize);

/// The default sizes, and the smaller ones if little is left.
///
/// The first has room for any recursion that fits the main thread's stack on most systems. The last
/// but one takes, with all that is added to it, little more than the 2 MiB that the standard library
/// gives to a thread.
const DEFAULTS: [Stacks; 5] = [
    with_tasks(8 << 20),
    with_tasks(4 << 20),
    with_tasks(2 << 20),
    ((2 << 20) - MAX_SKIP, 256 << 10),
    LEAST,
];

/// The sizes that a pool takes only if the system has refused larger ones.
const LEAST: Stacks = (512 << 10, 128 << 10);

/// The stacks of the workers get this fraction of the address space that is left, if their sizes are
/// the default.
const ADDRESSES_DIVISOR: usize = 32;

/// The stacks of the workers' threads get this fraction of the data that is left, if their sizes are the
/// default.
const DATA_DIVISOR: usize = 32;

/// Returns the sizes of the stacks of a worker whose thread has a stack of `thread` bytes.
pub(super) const fn with_tasks(thread: usize) -> Stacks {
    (thread, task_bytes(thread))
}

/// The bytes that this process may still use, by limit.
#[derive(Clone, Copy, Default)]
pub(super) struct Left {
    /// Address space, if it is limited.
    addresses: Option<usize>,
    /// Data, if it is limited.
    data: Option<usize>,
}

/// Returns the default sizes for a pool with `workers` workers, the best first. Each is for the case
/// that the system refuses those before.
pub(super) fn default_stacks(left: Left, workers: usize) -> &'static [Stacks] {
    let fits = |&(thread, tasks): &Stacks| {
        let data = thread + MAX_SKIP;
        let addresses = data + tasks + MAX_TASKS_SKIP;
        let is_within = |left: Option<usize>, divisor, size| {
            left.is_none_or(|left| workers.saturating_mul(size) <= left / divisor)
        };
        is_within(left.addresses, ADDRESSES_DIVISOR, addresses)
            && is_within(left.data, DATA_DIVISOR, data)
    };
    let [usual @ .., _, _] = &DEFAULTS;
    let best = usual.iter().position(fits).unwrap_or(usual.len());
    &DEFAULTS[best..]
}

/// Returns the limits of this process for its address space and its data, if it has any.
#[cfg(all(target_os = "linux", not(miri)))]
fn limits() -> [Option<u64>; 2] {
    [libc::RLIMIT_AS, libc::RLIMIT_DATA].map(|resource| {
        let mut limit = libc::rlimit {
            rlim_cur: libc::RLIM_INFINITY,
            rlim_max: libc::RLIM_INFINITY,
        };
        // SAFETY: `getrlimit` only writes `limit`, which is a local variable.
        let result = unsafe { libc::getrlimit(resource, &mut limit) };
        (result == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
    })
}

/// Returns whether this process has limits that count addresses which are not in use. Only Linux is asked.
#[cfg(all(target_os = "linux", not(miri), not(loom)))]
pub(crate) fn is_limited() -> bool {
    limits() != [None; 2]
}

/// Returns what this process has left of its limits.
#[cfg(all(target_os = "linux", not(miri)))]
pub(super) fn left() -> Left {
    let limits = limits();
    if limits == [None; 2] {
        return Left::default();
    }
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    // SAFETY: `sysconf` only returns a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    let field = |place| pages.split(' ').nth(place)?.parse::<u64>().ok();
    let left = |limit: Option<u64>, place| {
        let left = limit?.saturating_sub(field(place).unwrap_or(0) * page);
        Some(usize::try_from(left).unwrap_or(usize::MAX))
    };
    // The first field is the address space, the sixth is data and the main thread's stack.
    Left {
        addresses: left(limits[0], 0),
        data: left(limits[1], 5),
    }
}

#[cfg(all(unix, not(target_os = "linux"), not(miri), not(loom)))]
pub(crate) fn is_limited() -> bool {
    false
}

/// Miri has no `getrlimit`.
#[cfg(any(not(target_os = "linux"), miri))]
pub(super) fn left() -> Left {
    Left::default()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const GIGABYTE: usize = 1 << 30;

    #[test]
    fn default_stacks_shrink_with_what_is_left_of_either_limit() {
        let of = |workers, addresses, data| {
            let (thread, _) = default_stacks(Left { addresses, data }, workers)[0];
            thread.div_ceil(1 << 20)
        };
        assert_eq!(of(2, None, None), 8);
        assert_eq!(of(2, Some(4 * GIGABYTE), None), 8);
        assert_eq!(of(2, Some(2 * GIGABYTE), None), 4);
        assert_eq!(of(2, Some(GIGABYTE / 8), None), 2);
        assert_eq!(of(2, None, Some(GIGABYTE)), 8);
        assert_eq!(of(16, None, Some(GIGABYTE)), 2);
    }

    #[test]
    fn smaller_stacks_are_left_to_try_if_the_system_refuses_some() {
        let tight = Left {
            addresses: Some(0),
            data: None,
        };
        assert_eq!(default_stacks(Left::default(), 4096).len(), DEFAULTS.len());
        assert_eq!(default_stacks(tight, 1).len(), 2);
        assert_eq!(default_stacks(tight, 1)[1], LEAST);
    }
}
