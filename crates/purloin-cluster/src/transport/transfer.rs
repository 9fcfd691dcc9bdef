//! Operations that MPI performs in the background: [`Transfer`].

use std::time::Instant;

use mpi::ffi;

use super::World;

/// An operation on another rank's memory that is under way.
pub struct Transfer {
    request: ffi::MPI_Request,
    /// With an artificial latency: the earliest time at which the transfer ends.
    due: Option<Instant>,
}

impl Transfer {
    /// Wraps a request. If it targets another rank, the latency of `world` delays it.
    pub(super) fn new(world: &World, rank: usize, request: ffi::MPI_Request) -> Transfer {
        let is_delayed = rank != world.rank() && !world.latency().is_zero();
        Transfer {
            request,
            due: is_delayed.then(|| Instant::now() + world.latency()),
        }
    }

    /// Returns whether the transfer has ended.
    pub fn test(&mut self, world: &World) -> bool {
        let mut flag = 0;
        // SAFETY: `request` is a live request, or the null request that MPI_Test leaves after
        // completion and accepts again.
        let code = unsafe { ffi::MPI_Test(&mut self.request, &mut flag, ffi::RSMPI_STATUS_IGNORE) };
        world.check("MPI_Test", code);
        flag != 0 && self.due.is_none_or(|due| due <= Instant::now())
    }

    /// Waits until the transfer has ended, and yields the processor to other processes of this
    /// machine while it waits.
    pub fn wait(mut self, world: &World) {
        while !self.test(world) {
            std::thread::yield_now();
        }
    }
}

/// Waits for the artificial latency, if any, after a blocking operation on `rank`.
pub(super) fn delay(world: &World, rank: usize) {
    if rank != world.rank() && !world.latency().is_zero() {
        let due = Instant::now() + world.latency();
        while Instant::now() < due {
            std::thread::yield_now();
        }
    }
}
