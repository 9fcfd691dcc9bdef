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

/// How many bytes a node's ranks share.
pub const SHARED: usize = 1 << 10;

/// All ranks of the job, and MPI itself, which ends with this.
pub struct World {
    comm: ffi::MPI_Comm,
    rank: usize,
    ranks: usize,
    /// The ranks on this one's node, in order.
    neighbours: Vec<usize>,
    nodes: usize,
    node: ffi::MPI_Comm,
    latency: Cell<Duration>,
    /// The memory that the node shares, once somebody has asked for it.
    shared: Cell<Option<ffi::MPI_Win>>,
    _universe: Universe,
}

impl World {
    /// Starts MPI.
    pub fn initialize() -> Result<World, Error> {
        // The calling thread only ever calls MPI.
        let (universe, _) =
            mpi::initialize_with_threading(Threading::Funneled).ok_or(Error::Initialized)?;
        // SAFETY: MPI is initialized, as for all calls from here on.
        let comm = unsafe { ffi::RSMPI_COMM_WORLD };
        let (mut rank, mut ranks) = (0, 0);
        let mut node = comm;
        // SAFETY: as above; the results are written to what lives long enough.
        unsafe {
            // What fails is reported by us, once and in our words.
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
            neighbours: Vec::new(),
            nodes: 0,
            node,
            latency: Cell::new(Duration::ZERO),
            shared: Cell::new(None),
            _universe: universe,
        };
        let mut size = 0;
        // SAFETY: as above.
        unsafe { ffi::MPI_Comm_size(node, &mut size) };
        world.neighbours = world
            .all_gather_in(node, rank as u64, size as usize)
            .into_iter()
            .map(|rank| rank as usize)
            .collect();
        let mut firsts = world.all_gather(world.neighbours[0] as u64);
        firsts.sort_unstable();
        firsts.dedup();
        world.nodes = firsts.len();
        Ok(world)
    }

    /// This rank.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The ranks on this one's node, including this one.
    pub fn neighbours(&self) -> &[usize] {
        &self.neighbours
    }

    /// How many nodes they are on.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// By how much all that is done to other ranks is delayed, for experiments.
    pub fn latency(&self) -> Duration {
        self.latency.get()
    }

    /// Delays from now on what is done to other ranks.
    pub fn set_latency(&self, latency: Duration) {
        self.latency.set(latency);
    }

    pub(super) fn comm(&self) -> ffi::MPI_Comm {
        self.comm
    }

    /// Ends the job on all ranks if a call of MPI has failed.
    pub(super) fn check(&self, call: &str, code: c_int) {
        if code != 0 {
            self.fail(&format!("{call} has failed: {}", reason(code)));
        }
    }

    /// Ends the job on all ranks, with a message.
    pub fn fail(&self, message: &str) -> ! {
        // In one piece, as others may tell something, too.
        let line = format!("purloin-cluster: rank {}: {message}\n", self.rank);
        eprint!("{line}");
        self.abort()
    }

    /// Ends the job on all ranks.
    pub fn abort(&self) -> ! {
        // What has started the job may end it before it has read what was told.
        std::thread::sleep(Duration::from_millis(10));
        // SAFETY: a call that does not return.
        unsafe { ffi::MPI_Abort(self.comm, 1) };
        std::process::abort()
    }

    /// Lets MPI work on what others have begun.
    pub fn poke(&self) {
        let mut flag = 0;
        // SAFETY: a question, no more.
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

    /// Waits until all ranks have come here.
    pub fn barrier(&self) {
        failure::assert_no_task();
        // SAFETY: all ranks call it.
        self.check("MPI_Barrier", unsafe { ffi::MPI_Barrier(self.comm) });
    }

    /// Each rank's number, by rank.
    pub fn all_gather(&self, mine: u64) -> Vec<u64> {
        self.all_gather_in(self.comm, mine, self.ranks)
    }

    /// The number of each rank on this node.
    pub fn all_gather_on_node(&self, mine: u64) -> Vec<u64> {
        self.all_gather_in(self.node, mine, self.neighbours.len())
    }

    fn all_gather_in(&self, comm: ffi::MPI_Comm, mine: u64, ranks: usize) -> Vec<u64> {
        failure::assert_no_task();
        let mut all = vec![0_u64; ranks];
        // SAFETY: there is room for one number of each rank.
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

    /// The bytes of the first rank, on all ranks.
    pub fn broadcast(&self, bytes: &mut [u8]) {
        failure::assert_no_task();
        // SAFETY: as many bytes on all ranks.
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

    /// Memory that all ranks of this node share, all of it zero; always the same. `None`
    /// if MPI has none. All ranks of the node ask together.
    pub fn share_with_node(&self) -> Option<*mut u8> {
        let win = match self.shared.get() {
            Some(win) => win,
            None => self.allocate_shared()?,
        };
        let mut base: *mut u8 = ptr::null_mut();
        let (mut size, mut unit) = (0, 0);
        // SAFETY: nobody uses the memory between the barriers but the first rank.
        unsafe {
            let code =
                ffi::MPI_Win_shared_query(win, 0, &mut size, &mut unit, (&raw mut base).cast());
            self.check("MPI_Win_shared_query", code);
            self.check("MPI_Barrier", ffi::MPI_Barrier(self.node));
            if self.neighbours[0] == self.rank {
                base.write_bytes(0, SHARED);
            }
            self.check("MPI_Win_sync", ffi::MPI_Win_sync(win));
            self.check("MPI_Barrier", ffi::MPI_Barrier(self.node));
        }
        Some(base)
    }

    fn allocate_shared(&self) -> Option<ffi::MPI_Win> {
        let mut base: *mut u8 = ptr::null_mut();
        let mut win = MaybeUninit::uninit();
        let mine = if self.neighbours[0] == self.rank {
            SHARED
        } else {
            0
        };
        // SAFETY: all ranks of the node call this together.
        unsafe {
            let code = ffi::MPI_Win_allocate_shared(
                mine as ffi::MPI_Aint,
                1,
                ffi::RSMPI_INFO_NULL,
                self.node,
                (&raw mut base).cast(),
                win.as_mut_ptr(),
            );
            // Some transports have none; then nobody has any.
            if self
                .all_gather_on_node(code as u64)
                .iter()
                .any(|&code| code != 0)
            {
                return None;
            }
            let win = win.assume_init();
            self.check("MPI_Win_lock_all", ffi::MPI_Win_lock_all(0, win));
            self.shared.set(Some(win));
            Some(win)
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The others would wait for this rank. The panic's hook has told why.
            self.abort();
        }
        // SAFETY: MPI ends after this.
        unsafe {
            if let Some(mut win) = self.shared.take() {
                ffi::MPI_Win_unlock_all(win);
                ffi::MPI_Win_free(&mut win);
            }
            ffi::MPI_Comm_free(&mut self.node);
        }
    }
}
