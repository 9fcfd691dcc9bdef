//! Memory that every rank can reach: [`Window`].

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::AtomicU64;

use mpi::ffi;

use super::{Transfer, World, reason};
use crate::{Error, failure};

/// Some memory of each rank, all of it zero at first.
pub struct Window {
    world: Rc<World>,
    win: ffi::MPI_Win,
    base: *mut u8,
    len: usize,
}

impl Window {
    /// Makes one, on all ranks together; `len` is this rank's part, in bytes.
    pub fn allocate(world: &Rc<World>, len: usize) -> Result<Window, Error> {
        available(world, len)?;
        let mut win = MaybeUninit::uninit();
        let mut base: *mut u8 = ptr::null_mut();
        // SAFETY: `base` is where MPI puts the address.
        let code = unsafe {
            ffi::MPI_Win_allocate(
                len as ffi::MPI_Aint,
                1,
                ffi::RSMPI_INFO_NULL,
                world.comm(),
                (&raw mut base).cast(),
                win.as_mut_ptr(),
            )
        };
        // All ranks learn if one has none.
        if let Some(rank) = world
            .all_gather(code as u64)
            .iter()
            .position(|&code| code != 0)
        {
            let reason = match code {
                0 => "no memory there".to_owned(),
                code => format!(
                    "{} (if this MPI has no windows on this network, choose another \
                     transport, such as Open MPI's by mpirun --mca osc sm,pt2pt)",
                    reason(code)
                ),
            };
            return Err(Error::Window {
                rank,
                bytes: len,
                reason,
            });
        }
        // SAFETY: it was made. It is ours alone until the barrier.
        let win = unsafe {
            let win = win.assume_init();
            ffi::MPI_Win_set_errhandler(win, ffi::RSMPI_ERRORS_RETURN);
            world.check("MPI_Win_lock_all", ffi::MPI_Win_lock_all(0, win));
            base.write_bytes(0, len);
            world.check("MPI_Win_sync", ffi::MPI_Win_sync(win));
            win
        };
        assert!(base.addr().is_multiple_of(8), "MPI aligns its memory");
        world.barrier();
        Ok(Window {
            world: world.clone(),
            win,
            base,
            len,
        })
    }

    /// The job's ranks.
    pub fn world(&self) -> &Rc<World> {
        &self.world
    }

    /// This rank's part.
    #[inline]
    pub fn local(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset <= self.len);
        self.base.wrapping_add(offset)
    }

    /// A word of this rank's part that others change.
    #[inline]
    pub fn word(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset.is_multiple_of(8) && offset + 8 <= self.len);
        // SAFETY: the window lives as long as `self`; words that others change are only
        // looked at as atomic ones.
        unsafe { AtomicU64::from_ptr(self.local(offset).cast()) }
    }

    /// Makes what this rank has written visible to others, and the other way around.
    pub fn sync(&self) {
        // SAFETY: the window is locked.
        self.check("MPI_Win_sync", unsafe { ffi::MPI_Win_sync(self.win) });
    }

    fn check(&self, call: &str, code: c_int) {
        self.world.check(call, code);
    }

    fn transfer(&self, rank: usize, request: MaybeUninit<ffi::MPI_Request>) -> Transfer {
        // SAFETY: all callers have filled it.
        Transfer::new(&self.world, rank, unsafe { request.assume_init() })
    }

    /// Begins to copy from a rank.
    ///
    /// # Safety
    ///
    /// There is room for `len` bytes at `into`, which is left alone until the transfer has
    /// ended.
    pub unsafe fn get(&self, rank: usize, offset: usize, into: *mut u8, len: usize) -> Transfer {
        let mut request = MaybeUninit::uninit();
        // SAFETY: by the caller.
        let code = unsafe {
            ffi::MPI_Rget(
                into.cast(),
                len as c_int,
                ffi::RSMPI_UINT8_T,
                rank as c_int,
                offset as ffi::MPI_Aint,
                len as c_int,
                ffi::RSMPI_UINT8_T,
                self.win,
                request.as_mut_ptr(),
            )
        };
        self.check("MPI_Rget", code);
        self.transfer(rank, request)
    }

    /// Begins to add to words of a rank, each atomically, and to fetch what they were.
    ///
    /// This is also how words are replaced where it is known what they are: unlike a
    /// put, it has ended there when it has ended here.
    ///
    /// # Safety
    ///
    /// `values` and `before` are `count` words, left alone until the transfer has ended.
    pub unsafe fn add(
        &self,
        rank: usize,
        offset: usize,
        values: *const u64,
        before: *mut u64,
        count: usize,
    ) -> Transfer {
        let mut request = MaybeUninit::uninit();
        let word = ffi_word();
        // SAFETY: by the caller.
        let code = unsafe {
            ffi::MPI_Rget_accumulate(
                values.cast(),
                count as c_int,
                word,
                before.cast(),
                count as c_int,
                word,
                rank as c_int,
                offset as ffi::MPI_Aint,
                count as c_int,
                word,
                ffi::RSMPI_SUM,
                self.win,
                request.as_mut_ptr(),
            )
        };
        self.check("MPI_Rget_accumulate", code);
        self.transfer(rank, request)
    }

    /// Adds to a word of a rank, and returns what it was.
    pub fn fetch_add(&self, rank: usize, offset: usize, value: u64) -> u64 {
        let mut before = 0;
        // SAFETY: both live until it has ended.
        let transfer = unsafe { self.add(rank, offset, &raw const value, &raw mut before, 1) };
        transfer.wait(&self.world);
        before
    }

    /// Copies to a rank; done there when it returns.
    pub fn put(&self, rank: usize, offset: usize, bytes: &[u8]) {
        // SAFETY: the bytes live until the flush.
        let code = unsafe {
            ffi::MPI_Put(
                bytes.as_ptr().cast(),
                bytes.len() as c_int,
                ffi::RSMPI_UINT8_T,
                rank as c_int,
                offset as ffi::MPI_Aint,
                bytes.len() as c_int,
                ffi::RSMPI_UINT8_T,
                self.win,
            )
        };
        self.check("MPI_Put", code);
        self.flush(rank);
    }

    /// Adds `count` elements to those of a rank, each atomically; done there when it
    /// returns.
    ///
    /// # Safety
    ///
    /// There are as many elements of that type at `values`.
    pub unsafe fn add_elements(
        &self,
        rank: usize,
        offset: usize,
        values: *const u8,
        count: usize,
        element: ffi::MPI_Datatype,
    ) {
        // SAFETY: by the caller.
        let code = unsafe {
            ffi::MPI_Accumulate(
                values.cast(),
                count as c_int,
                element,
                rank as c_int,
                offset as ffi::MPI_Aint,
                count as c_int,
                element,
                ffi::RSMPI_SUM,
                self.win,
            )
        };
        self.check("MPI_Accumulate", code);
        self.flush(rank);
    }

    /// Waits until all that was begun has ended where it was to be done.
    pub fn flush_all(&self) {
        // SAFETY: the window is locked.
        let code = unsafe { ffi::MPI_Win_flush_all(self.win) };
        self.check("MPI_Win_flush_all", code);
    }

    /// Waits until what was begun with a rank has ended there.
    fn flush(&self, rank: usize) {
        // SAFETY: the window is locked.
        let code = unsafe { ffi::MPI_Win_flush(rank as c_int, self.win) };
        self.check("MPI_Win_flush", code);
        super::transfer::delay(&self.world, rank);
    }

    /// Begins to take the minimum of a word of a rank and `value`.
    ///
    /// # Safety
    ///
    /// `value` is left alone until the transfer has ended.
    pub unsafe fn lower(&self, rank: usize, offset: usize, value: *const u64) -> Transfer {
        let mut request = MaybeUninit::uninit();
        let word = ffi_word();
        // SAFETY: by the caller.
        let code = unsafe {
            ffi::MPI_Raccumulate(
                value.cast(),
                1,
                word,
                rank as c_int,
                offset as ffi::MPI_Aint,
                1,
                word,
                ffi::RSMPI_MIN,
                self.win,
                request.as_mut_ptr(),
            )
        };
        self.check("MPI_Raccumulate", code);
        self.transfer(rank, request)
    }
}

/// MPI's name of a `u64`.
fn ffi_word() -> ffi::MPI_Datatype {
    // SAFETY: a constant.
    unsafe { ffi::RSMPI_UINT64_T }
}

impl Drop for Window {
    fn drop(&mut self) {
        // Freeing is done by all ranks together; a panic on one is not.
        if std::thread::panicking() {
            return;
        }
        failure::assert_no_task();
        // SAFETY: nobody uses it any more, on any rank, as freeing waits for all.
        unsafe {
            self.check("MPI_Win_unlock_all", ffi::MPI_Win_unlock_all(self.win));
            let code = ffi::MPI_Win_free(&mut self.win);
            self.check("MPI_Win_free", code);
        }
    }
}

/// Asks, on all ranks together, whether every node has the memory that its ranks want.
///
/// MPI gets it from the system, which promises more than it has: a process would be
/// killed only when it writes there.
fn available(world: &World, len: usize) -> Result<(), Error> {
    let wanted: u128 = world
        .all_gather_on_node(len as u64)
        .into_iter()
        .map(u128::from)
        .sum();
    // Where the system does not say, MPI will.
    let lacks = free().is_some_and(|free| wanted > u128::from(free));
    match world
        .all_gather(lacks.into())
        .iter()
        .position(|&lacks| lacks != 0)
    {
        None => Ok(()),
        Some(rank) => Err(Error::Window {
            rank,
            bytes: len,
            reason: "its node has less memory than its ranks want".to_owned(),
        }),
    }
}

/// The memory, in bytes, that the system could give to programs.
fn free() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes << 10)
}
