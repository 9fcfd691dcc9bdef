//! The address space that a pool reserves for stacks, if the process has a limit (`ulimit -v`).
//!
//! Without a limit, address space costs nothing. With one, the program needs most of it for itself and
//! for its other pools. So a pool looks at what is left: default stacks are smaller, and spare workers
//! fewer.

/// The default size of a thread's stack, and the smaller ones if little address space is left. The
/// last is the default of the standard library.
const DEFAULT_STACKS: [usize; 4] = [16 << 20, 8 << 20, 4 << 20, 2 << 20];

/// The stacks of the workers get this fraction of what is left, if their size is the default.
const WORKERS_DIVISOR: usize = 64;

/// The stacks of the spare workers get this fraction of what is left.
const SPARES_DIVISOR: usize = 16;

/// Returns the default size of the stacks of a pool with `workers` workers. A worker with a stack of a
/// given size reserves `reserved` bytes.
pub(super) fn default_stack(
    left: Option<usize>,
    workers: usize,
    reserved: impl Fn(usize) -> usize,
) -> usize {
    let room = left.map_or(usize::MAX, |left| left / WORKERS_DIVISOR);
    let fits = |&size: &usize| workers * reserved(size) <= room;
    let [.., least] = DEFAULT_STACKS;
    DEFAULT_STACKS.into_iter().find(fits).unwrap_or(least)
}

/// Returns how many spare workers a pool has, of which each reserves `reserved` bytes and at most
/// `spares` are wanted.
pub(super) fn spares(left: Option<usize>, spares: usize, reserved: usize) -> usize {
    left.map_or(spares, |left| spares.min(left / SPARES_DIVISOR / reserved))
}

/// Returns how many bytes this process may still reserve, if it has a limit.
#[cfg(all(target_os = "linux", not(miri)))]
pub(super) fn left() -> Option<usize> {
    let mut limit = libc::rlimit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: `getrlimit` only writes `limit`, which is a local variable.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) };
    if result != 0 || limit.rlim_cur == libc::RLIM_INFINITY {
        return None;
    }
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split(' ').next().and_then(|pages| pages.parse().ok());
    // SAFETY: `sysconf` only returns a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    let left = limit.rlim_cur.saturating_sub(pages.unwrap_or(0) * page);
    Some(usize::try_from(left).unwrap_or(usize::MAX))
}

/// Miri has no `getrlimit`.
#[cfg(any(not(target_os = "linux"), miri))]
pub(super) fn left() -> Option<usize> {
    None
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const GIGABYTE: usize = 1 << 30;

    #[test]
    fn stacks_and_spare_workers_shrink_with_the_address_space_that_is_left() {
        let reserved = |stack: usize| 9 * stack;
        let of = |left| {
            let stack = default_stack(left, 2, reserved);
            (stack >> 20, spares(left, 32, reserved(stack)))
        };
        assert_eq!(of(None), (16, 32));
        assert_eq!(of(Some(100 * GIGABYTE)), (16, 32));
        assert_eq!(of(Some(4 * GIGABYTE)), (2, 14));
        assert_eq!(of(Some(GIGABYTE / 8)), (2, 0));
    }
}
