//! Memory that all ranks can access: [`Window`].

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::AtomicU64;

use mpi::ffi;

use super::{Transfer, World, reason};
use crate::{Error, failure};

/// Memory of each rank that all ranks can access. It is initially zero.
pub struct Window {
    world: Rc<World>,
    win: ffi::MPI_Win,
    base: *mut u8,
    len: usize,
}

impl Window {
    /// Allocates a window. All ranks must call this function; `len` is the size of this rank's
    /// part, in bytes.
    pub fn allocate(world: &Rc<World>, len: usize) -> Result<Window, Error> {
        check_memory(world, len)?;
        let mut win = MaybeUninit::uninit();
        let mut base: *mut u8 = ptr::null_mut();
        // SAFETY: MPI writes the address to `base` and the handle to `win`. All ranks call
        // this together.
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
        // If the allocation failed on one rank, all ranks return an error.
        if let Some(rank) = world
            .all_gather(code as u64)
            .iter()
            .position(|&code| code != 0)
        {
            let reason = match code {
                0 => "that rank lacks memory".to_owned(),
                code => format!(
                    "{} (if this MPI does not support windows on this network, choose another \
                     transport, for example with Open MPI's mpirun --mca osc sm,pt2pt)",
                    reason(code)
                ),
            };
            return Err(Error::Window {
                rank,
                bytes: len,
                reason,
            });
        }
        // SAFETY: the allocation succeeded on all ranks, so `win` and `base` are set. No other
        // rank accesses this part before the barrier below.
        let win = unsafe {
            let win = win.assume_init();
            ffi::MPI_Win_set_errhandler(win, ffi::RSMPI_ERRORS_RETURN);
            world.check("MPI_Win_lock_all", ffi::MPI_Win_lock_all(0, win));
            base.write_bytes(0, len);
            world.check("MPI_Win_sync", ffi::MPI_Win_sync(win));
            win
        };
        // MPI may return any address for an empty part.
        assert!(
            len == 0 || base.addr().is_multiple_of(8),
            "MPI aligns windows to words"
        );
        world.barrier();
        Ok(Window {
            world: world.clone(),
            win,
            base,
            len,
        })
    }

    /// Returns the ranks of the job.
    pub fn world(&self) -> &Rc<World> {
        &self.world
    }

    /// Returns a pointer into this rank's part.
    #[inline]
    pub fn local(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset <= self.len);
        self.base.wrapping_add(offset)
    }

    /// Returns a word of this rank's part that other ranks change.
    #[inline]
    pub fn word(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset.is_multiple_of(8) && offset + 8 <= self.len);
        // SAFETY: the window lives as long as `self`, and the word is aligned and inside this
        // rank's part. This rank accesses words that other ranks change only through here.
        unsafe { AtomicU64::from_ptr(self.local(offset).cast()) }
    }

    /// Makes this rank's stores visible to other ranks, and their stores visible to this rank.
    pub fn sync(&self) {
        // SAFETY: the window is locked from its allocation until it is dropped.
        self.check("MPI_Win_sync", unsafe { ffi::MPI_Win_sync(self.win) });
    }

    fn check(&self, call: &str, code: c_int) {
        self.world.check(call, code);
    }

    fn transfer(&self, rank: usize, request: MaybeUninit<ffi::MPI_Request>) -> Transfer {
        // SAFETY: the callers in this file pass a request that a successful MPI call has set.
        Transfer::new(&self.world, rank, unsafe { request.assume_init() })
    }

    /// Starts to copy `len` bytes from a rank.
    ///
    /// # Safety
    ///
    /// `into` must be valid for writes of `len` bytes until the transfer has ended, and nothing
    /// else may access these bytes until then.
    pub unsafe fn get(&self, rank: usize, offset: usize, into: *mut u8, len: usize) -> Transfer {
        let mut request = MaybeUninit::uninit();
        // SAFETY: the caller guarantees that the buffers stay valid until the transfer ends.
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

    /// Starts to add `values` to `count` words of a rank, each atomically, and to fetch the old
    /// words into `before`.
    ///
    /// A caller that knows the old words can also replace them with this operation, by adding
    /// the differences. Unlike a put, the operation is complete at the target when it is
    /// complete here.
    ///
    /// # Safety
    ///
    /// Until the transfer has ended, `values` must be valid for reads and `before` for writes
    /// of `count` words, and nothing else may access `before` or write to `values`.
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
        // SAFETY: the caller guarantees that the buffers stay valid until the transfer ends.
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

    /// Adds to a word of a rank, and returns the old word.
    pub fn fetch_add(&self, rank: usize, offset: usize, value: u64) -> u64 {
        let mut before = 0;
        // SAFETY: both words live on this stack frame until `wait` returns below.
        let transfer = unsafe { self.add(rank, offset, &raw const value, &raw mut before, 1) };
        transfer.wait(&self.world);
        before
    }

    /// Copies bytes to a rank. The copy is complete at the target when this function returns.
    pub fn put(&self, rank: usize, offset: usize, bytes: &[u8]) {
        // SAFETY: `bytes` stay borrowed until the flush below, which completes the operation.
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

    /// Adds `count` elements to elements of a rank, each atomically. The additions are complete
    /// at the target when this function returns.
    ///
    /// # Safety
    ///
    /// `values` must be valid for reads of `count` elements of the type `element`.
    pub unsafe fn add_elements(
        &self,
        rank: usize,
        offset: usize,
        values: *const u8,
        count: usize,
        element: ffi::MPI_Datatype,
    ) {
        // SAFETY: the caller guarantees the elements, which stay borrowed until the flush below.
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

    /// Waits until all operations that this rank has started are complete at their targets.
    pub fn flush_all(&self) {
        // SAFETY: the window is locked from its allocation until it is dropped.
        let code = unsafe { ffi::MPI_Win_flush_all(self.win) };
        self.check("MPI_Win_flush_all", code);
    }

    /// Waits until all operations that this rank has started on `rank` are complete there.
    fn flush(&self, rank: usize) {
        // SAFETY: the window is locked from its allocation until it is dropped.
        let code = unsafe { ffi::MPI_Win_flush(rank as c_int, self.win) };
        self.check("MPI_Win_flush", code);
        super::transfer::delay(&self.world, rank);
    }

    /// Starts to replace a word of a rank by the minimum of the word and `value`.
    ///
    /// # Safety
    ///
    /// `value` must be valid for reads, and must not change, until the transfer has ended.
    pub unsafe fn lower(&self, rank: usize, offset: usize, value: *const u64) -> Transfer {
        let mut request = MaybeUninit::uninit();
        let word = ffi_word();
        // SAFETY: the caller guarantees that the buffers stay valid until the transfer ends.
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

/// Returns MPI's name of the type `u64`.
fn ffi_word() -> ffi::MPI_Datatype {
    // SAFETY: this is a constant of the MPI library.
    unsafe { ffi::RSMPI_UINT64_T }
}

impl Drop for Window {
    fn drop(&mut self) {
        // Freeing a window is collective. The other ranks do not take part in a panic.
        if std::thread::panicking() {
            return;
        }
        failure::assert_outside_tasks();
        // SAFETY: MPI_Win_free waits for all ranks. Each rank has dropped its `Window`, so it has
        // no operation under way. The handle is not used afterwards.
        unsafe {
            self.check("MPI_Win_unlock_all", ffi::MPI_Win_unlock_all(self.win));
            let code = ffi::MPI_Win_free(&mut self.win);
            self.check("MPI_Win_free", code);
        }
    }
}

/// Checks that every node has enough memory for its ranks. This rank needs `len` bytes. All ranks
/// must call this function.
///
/// Without the check, the system would grant more memory than it has, and kill a process later
/// when the process writes there.
fn check_memory(world: &World, len: usize) -> Result<(), Error> {
    let wanted: u128 = world
        .all_gather_on_node(len as u64)
        .into_iter()
        .map(u128::from)
        .sum();
    // If the system does not report its free memory, the allocation itself is the only check.
    let lacks = free_memory().is_some_and(|free| wanted > u128::from(free));
    match world
        .all_gather(lacks.into())
        .iter()
        .position(|&lacks| lacks != 0)
    {
        None => Ok(()),
        Some(rank) => Err(Error::Window {
            rank,
            bytes: len,
            reason: "the memory of its node is less than its ranks need".to_owned(),
        }),
    }
}

/// Returns the memory that is available to programs on this node, in bytes.
fn free_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes << 10)
}
