//! The memory of task stacks.
//!
//! Unix keeps the memory of a stack that is gone for the next one. The system calls that map a stack, open its
//! first slots and unmap it wait for every other thread that changes the process's memory, and interrupt the
//! other processors. A program that made one pool of four workers after the other spent two thirds of
//! its time on them.

#[cfg(loom)]
pub(super) use model::{allocate, free};
#[cfg(all(not(loom), any(miri, not(unix))))]
pub(super) use portable::{allocate, free};
#[cfg(all(unix, not(loom), not(miri)))]
pub(super) use system::{allocate, free, open};

/// Never called, because all slots are accessible from the start.
#[cfg(any(loom, miri, not(unix)))]
pub(super) unsafe fn open<S: super::Scheduler>(
    _: *mut super::Slot<S>,
    _: *mut super::Slot<S>,
) -> std::io::Result<()> {
    Ok(())
}

#[cfg(all(unix, not(loom), not(miri)))]
mod system {
    use std::any::TypeId;
    use std::io;
    use std::ops::Range;

    use super::super::{Scheduler, Slot};
    use crate::pool::stack_sizes;
    use crate::sync::plain::{Mutex, MutexGuard};

    /// FreeBSD has no such flag, and reserves nothing anyway.
    #[cfg(not(target_os = "freebsd"))]
    const NO_RESERVE: libc::c_int = libc::MAP_NORESERVE;
    #[cfg(target_os = "freebsd")]
    const NO_RESERVE: libc::c_int = 0;

    /// Maximum number of mappings that are kept: with default sizes, half a gigabyte of addresses and at
    /// most two megabytes of memory.
    const MAX_KEPT: usize = 16;

    /// The mapping of a stack that is gone. All of its slots are free.
    struct Mapping {
        /// The scheduler that has used the slots: no other one knows how it leaves the header of a free slot.
        scheduler: TypeId,
        start: *mut libc::c_void,
        bytes: usize,
        /// The addresses with access.
        open: Range<usize>,
    }

    // SAFETY: whoever has the value owns the mapping, which nobody else uses.
    unsafe impl Send for Mapping {}

    impl Mapping {
        fn unmap(self) {
            // SAFETY: the value owns the mapping, and is consumed.
            unsafe { libc::munmap(self.start, self.bytes) };
        }
    }

    static KEPT: Mutex<Vec<Mapping>> = Mutex::new(Vec::new());

    /// Returns the mappings that are kept, or none if another thread has them: also in a process that was
    /// forked meanwhile.
    fn kept() -> Option<MutexGuard<'static, Vec<Mapping>>> {
        KEPT.try_lock().ok()
    }

    /// Reserves addresses for free slots. Fresh pages are zeros, and a header of zeros is the header of a
    /// free slot. A mapping that was kept has been used by the same scheduler. Returns also the addresses with
    /// access.
    pub(in super::super) fn allocate<S: Scheduler>(
        len: usize,
    ) -> io::Result<(*mut Slot<S>, Range<usize>)> {
        let bytes = len * size_of::<Slot<S>>();
        let scheduler = TypeId::of::<S>();
        let fits = |mapping: &Mapping| mapping.bytes == bytes && mapping.scheduler == scheduler;
        let take = |kept: &mut Vec<Mapping>| Some(kept.remove(kept.iter().position(fits)?));
        if let Some(Mapping { start, open, .. }) = kept().and_then(|mut kept| take(&mut kept)) {
            return Ok((start.cast(), open));
        }
        let start = map(bytes).or_else(|error| {
            let kept = kept().map(|mut kept| std::mem::take(&mut *kept));
            match kept.filter(|kept| !kept.is_empty()) {
                None => Err(error),
                Some(kept) => {
                    kept.into_iter().for_each(Mapping::unmap);
                    map(bytes)
                }
            }
        })?;
        Ok((start.cast(), 0..0))
    }

    fn map(bytes: usize) -> io::Result<*mut libc::c_void> {
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | NO_RESERVE;
        // SAFETY: a fresh anonymous mapping touches no memory in use.
        match unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_NONE, kind, -1, 0) } {
            libc::MAP_FAILED => Err(io::Error::last_os_error()),
            start => Ok(start),
        }
    }

    /// Gives access to the slots from `from` up to and including the one at `to`.
    ///
    /// # Safety
    ///
    /// Both lie in memory that [`allocate`] has returned.
    pub(in super::super) unsafe fn open<S: Scheduler>(
        from: *mut Slot<S>,
        to: *mut Slot<S>,
    ) -> io::Result<()> {
        let from = start_of_page(from);
        let len = to.addr() + size_of::<Slot<S>>() - from.addr();
        // SAFETY: the caller says that both slots lie in one mapping, and the system rounds the length up
        // to pages of that mapping. Access to more of it breaks no reference.
        match unsafe { libc::mprotect(from, len, libc::PROT_READ | libc::PROT_WRITE) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The start of the page of a slot, which is not below the start of its mapping.
    fn start_of_page<S: Scheduler>(slot: *mut Slot<S>) -> *mut libc::c_void {
        // SAFETY: `sysconf` only returns a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        slot.map_addr(|slot| slot - slot % page).cast()
    }

    /// Frees memory of this length. The next stack may get it if the caller passes the `open`
    /// slots: those up to and including the one at the end.
    ///
    /// # Safety
    ///
    /// [`allocate`] has returned the memory, and nobody uses it any more. The slots in `open` are free: a
    /// task may be pushed to them, as to any slot whose task is gone.
    pub(in super::super) unsafe fn free<S: Scheduler>(
        memory: *mut Slot<S>,
        len: usize,
        open: Option<Range<*mut Slot<S>>>,
    ) {
        let mut mapping = Mapping {
            scheduler: TypeId::of::<S>(),
            start: memory.cast(),
            bytes: len * size_of::<Slot<S>>(),
            open: 0..0,
        };
        if let Some(open) = open
            && !stack_sizes::is_limited()
            && let Some(mut all) = kept()
        {
            mapping.open = start_of_page(open.start).addr()..open.end.wrapping_add(1).addr();
            all.push(mapping);
            // The oldest may have a size that the program no longer uses.
            mapping = match all.len() > MAX_KEPT {
                true => all.remove(0),
                false => return,
            };
        }
        mapping.unmap();
    }
}

#[cfg(all(not(loom), any(miri, not(unix))))]
mod portable {
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::io;
    use std::ops::Range;

    use super::super::{Scheduler, Slot};

    fn layout<S: Scheduler>(len: usize) -> io::Result<Layout> {
        Layout::array::<Slot<S>>(len).map_err(|_| io::ErrorKind::OutOfMemory.into())
    }

    /// Allocates zeroed memory, which is accessible from the start. A header of zeros is the header of a
    /// free slot.
    pub(in super::super) fn allocate<S: Scheduler>(
        len: usize,
    ) -> io::Result<(*mut Slot<S>, Range<usize>)> {
        let layout = layout::<S>(len)?;
        // SAFETY: a stack has at least one slot, so the size is not zero.
        let first = unsafe { alloc_zeroed(layout) };
        match first.is_null() {
            true => Err(io::ErrorKind::OutOfMemory.into()),
            false => Ok((first.cast(), 0..usize::MAX)),
        }
    }

    /// Frees memory of this length.
    ///
    /// # Safety
    ///
    /// [`allocate`] has returned the memory, and nobody uses it any more.
    pub(in super::super) unsafe fn free<S: Scheduler>(
        memory: *mut Slot<S>,
        len: usize,
        _: Option<Range<*mut Slot<S>>>,
    ) {
        let layout = layout::<S>(len).expect("`allocate` has made the same layout");
        // SAFETY: `allocate` has made the memory with this layout.
        unsafe { dealloc(memory.cast(), layout) };
    }
}

#[cfg(loom)]
mod model {
    use std::io;
    use std::ops::Range;

    use super::super::{Scheduler, Slot};

    /// Allocates slots, which are accessible from the start.
    pub(in super::super) fn allocate<S: Scheduler>(
        len: usize,
    ) -> io::Result<(*mut Slot<S>, Range<usize>)> {
        let mut slots = Vec::new();
        slots
            .try_reserve_exact(len)
            .map_err(|_| io::ErrorKind::OutOfMemory)?;
        slots.resize_with(len, Slot::<S>::empty);
        let first = Box::into_raw(slots.into_boxed_slice()).cast();
        Ok((first, 0..usize::MAX))
    }

    /// Frees memory of this length.
    ///
    /// # Safety
    ///
    /// [`allocate`] has returned the memory, and nobody uses it any more.
    pub(in super::super) unsafe fn free<S: Scheduler>(
        memory: *mut Slot<S>,
        len: usize,
        _: Option<Range<*mut Slot<S>>>,
    ) {
        let slots = std::ptr::slice_from_raw_parts_mut(memory, len);
        // SAFETY: `allocate` made the pointer from a box of this length.
        drop(unsafe { Box::from_raw(slots) });
    }
}
