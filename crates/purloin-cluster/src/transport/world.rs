//! The ranks of a job: [`World`].

use std::cell::Cell;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr;
use std::time::Duration;

use mpi::Threading;
use mpi::environment::Universe;
use mpi::ffi;

use super::reason;
use crate::{Error, failure};

/// The size of the memory that the ranks of a node share, in bytes.
pub const NODE_MEMORY: usize = 1 << 13;

/// All ranks of the job. MPI is finalized when this is dropped.
pub struct World {
    comm: ffi::MPI_Comm,
    rank: usize,
    ranks: usize,
    /// The ranks on this rank's node, in ascending order.
    node_ranks: Vec<usize>,
    nodes: usize,
    node: ffi::MPI_Comm,
    latency: Cell<Duration>,
    /// The memory that the ranks of the node share, allocated on first use.
    node_memory: Cell<Option<ffi::MPI_Win>>,
    _universe: Universe,
}

impl World {
    /// Initializes MPI.
    pub fn initialize() -> Result<World, Error> {
        // Funneled: only the calling thread ever calls MPI.
        let (universe, _) =
            mpi::initialize_with_threading(Threading::Funneled).ok_or(Error::AlreadyInitialized)?;
        // SAFETY: this is a constant of the MPI library, valid once MPI is initialized.
        let comm = unsafe { ffi::RSMPI_COMM_WORLD };
        let (mut rank, mut ranks) = (0, 0);
        let mut node = comm;
        // SAFETY: MPI is initialized, and the results go to local variables. All ranks call
        // MPI_Comm_split_type.
        unsafe {
            // MPI returns errors instead of printing them, so that Purloin reports each error once.
            ffi::MPI_Comm_set_errhandler(comm, ffi::RSMPI_ERRORS_RETURN);
            ffi::MPI_Comm_rank(comm, &mut rank);
            ffi::MPI_Comm_size(comm, &mut ranks);
            let shared = ffi::RSMPI_COMM_TYPE_SHARED;
            ffi::MPI_Comm_split_type(comm, shared, rank, ffi::RSMPI_INFO_NULL, &mut node);
        }
        let mut world = World {
            comm,
            rank: rank as usize,
            ranks: ranks as usize,
            node_ranks: Vec::new(),
            nodes: 0,
            node,
            latency: Cell::new(Duration::ZERO),
            node_memory: Cell::new(None),
            _universe: universe,
        };
        let mut size = 0;
        // SAFETY: MPI_Comm_split_type has set the communicator.
        unsafe { ffi::MPI_Comm_size(node, &mut size) };
        world.node_ranks = world
            .all_gather_in(node, rank as u64, size as usize)
            .into_iter()
            .map(|rank| rank as usize)
            .collect();
        let mut firsts = world.all_gather(world.node_ranks[0] as u64);
        firsts.sort_unstable();
        firsts.dedup();
        world.nodes = firsts.len();
        Ok(world)
    }

    /// Returns the number of this rank.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// Returns the ranks on this rank's node, including this rank.
    pub fn node_ranks(&self) -> &[usize] {
        &self.node_ranks
    }

    /// Returns the number of nodes on which the ranks run.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Returns the artificial delay of operations on other ranks, for experiments.
    pub fn latency(&self) -> Duration {
        self.latency.get()
    }

    /// Sets the artificial delay of operations on other ranks that start from now on.
    pub fn set_latency(&self, latency: Duration) {
        self.latency.set(latency);
    }

    pub(super) fn comm(&self) -> ffi::MPI_Comm {
        self.comm
    }

    /// Ends the job on all ranks if `code` says that a call of MPI has failed.
    pub(super) fn check(&self, call: &str, code: c_int) {
        if code != 0 {
            self.fail(&format!("{call} failed: {}", reason(code)));
        }
    }

    /// Ends the job on all ranks, with a message that names this rank.
    pub fn fail(&self, message: &str) -> ! {
        // Writes the line in one piece, so that output of other ranks does not get into it.
        let line = format!("purloin-cluster: rank {}: {message}\n", self.rank);
        eprint!("{line}");
        self.abort()
    }

    /// Ends the job on all ranks.
    pub fn abort(&self) -> ! {
        // mpirun may stop reading the ranks' output as soon as one of them aborts. The pause
        // gives it time to read the message.
        std::thread::sleep(Duration::from_millis(10));
        // SAFETY: the communicator is valid as long as `self`.
        unsafe { ffi::MPI_Abort(self.comm, 1) };
        std::process::abort()
    }

    /// Lets MPI make progress on operations that other ranks have started on this rank.
    pub fn progress(&self) {
        let mut flag = 0;
        // SAFETY: the communicator is valid as long as `self`, and MPI_Iprobe receives nothing.
        let code = unsafe {
            ffi::MPI_Iprobe(
                ffi::RSMPI_ANY_SOURCE,
                0,
                self.comm,
                &mut flag,
                ffi::RSMPI_STATUS_IGNORE,
            )
        };
        self.check("MPI_Iprobe", code);
    }

    /// Waits until all ranks have called this function.
    pub fn barrier(&self) {
        failure::assert_outside_tasks();
        // SAFETY: the communicator is valid as long as `self`.
        self.check("MPI_Barrier", unsafe { ffi::MPI_Barrier(self.comm) });
    }

    /// Returns the value of `mine` on each rank, in the order of the ranks. All ranks must call
    /// this function.
    pub fn all_gather(&self, mine: u64) -> Vec<u64> {
        self.all_gather_in(self.comm, mine, self.ranks)
    }

    /// Returns the value of `mine` on each rank of this node. All ranks of the node must call this
    /// function.
    pub fn all_gather_on_node(&self, mine: u64) -> Vec<u64> {
        self.all_gather_in(self.node, mine, self.node_ranks.len())
    }

    fn all_gather_in(&self, comm: ffi::MPI_Comm, mine: u64, ranks: usize) -> Vec<u64> {
        failure::assert_outside_tasks();
        let mut all = vec![0_u64; ranks];
        // SAFETY: `all` has room for one number of each rank in the communicator.
        let code = unsafe {
            ffi::MPI_Allgather(
                (&raw const mine).cast(),
                1,
                ffi::RSMPI_UINT64_T,
                all.as_mut_ptr().cast(),
                1,
                ffi::RSMPI_UINT64_T,
                comm,
            )
        };
        self.check("MPI_Allgather", code);
        all
    }

    /// Copies the bytes of rank 0 to all ranks. All ranks must call this function, with the
    /// same number of bytes.
    pub fn broadcast(&self, bytes: &mut [u8]) {
        failure::assert_outside_tasks();
        // SAFETY: the slice is valid for the call. The callers broadcast values whose type, and
        // so whose size, is the same on all ranks.
        let code = unsafe {
            ffi::MPI_Bcast(
                bytes.as_mut_ptr().cast(),
                bytes.len() as c_int,
                ffi::RSMPI_UINT8_T,
                0,
                self.comm,
            )
        };
        self.check("MPI_Bcast", code);
    }

    /// Returns [`NODE_MEMORY`] bytes that all ranks of this node share, filled with zeros, or
    /// `None` if MPI cannot share memory. Each call returns the same memory. All ranks of the
    /// node must call this function.
    pub fn node_memory(&self) -> Option<*mut u8> {
        let win = match self.node_memory.get() {
            Some(win) => win,
            None => self.allocate_node_memory()?,
        };
        let mut base: *mut u8 = ptr::null_mut();
        let (mut size, mut unit) = (0, 0);
        // SAFETY: all ranks of the node call this together. Between the two barriers, only the
        // node's first rank accesses the memory.
        unsafe {
            let code =
                ffi::MPI_Win_shared_query(win, 0, &mut size, &mut unit, (&raw mut base).cast());
            self.check("MPI_Win_shared_query", code);
            self.check("MPI_Barrier", ffi::MPI_Barrier(self.node));
            if self.node_ranks[0] == self.rank {
                base.write_bytes(0, NODE_MEMORY);
            }
            self.check("MPI_Win_sync", ffi::MPI_Win_sync(win));
            self.check("MPI_Barrier", ffi::MPI_Barrier(self.node));
        }
        Some(base)
    }

    fn allocate_node_memory(&self) -> Option<ffi::MPI_Win> {
        let mut base: *mut u8 = ptr::null_mut();
        let mut win = MaybeUninit::uninit();
        let mine = if self.node_ranks[0] == self.rank {
            NODE_MEMORY
        } else {
            0
        };
        // SAFETY: all ranks of the node call this together, and the handle is read only if all
        // allocations succeeded.
        unsafe {
            let code = ffi::MPI_Win_allocate_shared(
                mine as ffi::MPI_Aint,
                1,
                ffi::RSMPI_INFO_NULL,
                self.node,
                (&raw mut base).cast(),
                win.as_mut_ptr(),
            );
            // Some transports cannot share memory. If the call failed on one rank, no rank of
            // the node uses the memory.
            if self
                .all_gather_on_node(code as u64)
                .iter()
                .any(|&code| code != 0)
            {
                return None;
            }
            let win = win.assume_init();
            self.check("MPI_Win_lock_all", ffi::MPI_Win_lock_all(0, win));
            self.node_memory.set(Some(win));
            Some(win)
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The other ranks would wait for this rank. The panic hook has printed the reason.
            self.abort();
        }
        // SAFETY: MPI is finalized only after this, by `_universe`. The handles are not used
        // afterwards.
        unsafe {
            if let Some(mut win) = self.node_memory.take() {
                ffi::MPI_Win_unlock_all(win);
                ffi::MPI_Win_free(&mut win);
            }
            ffi::MPI_Comm_free(&mut self.node);
        }
    }
}
