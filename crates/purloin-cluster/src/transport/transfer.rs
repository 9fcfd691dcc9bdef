//! Transfers that are under way: [`Transfer`].

use std::time::Instant;

use mpi::ffi;

use super::World;

/// Something that MPI does meanwhile.
pub struct Transfer {
    request: ffi::MPI_Request,
    /// Not before then, for experiments.
    due: Option<Instant>,
}

impl Transfer {
    /// What is done to another rank is delayed as `world` says.
    pub(super) fn new(world: &World, rank: usize, request: ffi::MPI_Request) -> Transfer {
        let is_delayed = rank != world.rank() && !world.latency().is_zero();
        Transfer {
            request,
            due: is_delayed.then(|| Instant::now() + world.latency()),
        }
    }

    /// Whether it has ended.
    pub fn test(&mut self, world: &World) -> bool {
        let mut flag = 0;
        // SAFETY: the request is one of ours, or null when it has ended.
        let code = unsafe { ffi::MPI_Test(&mut self.request, &mut flag, ffi::RSMPI_STATUS_IGNORE) };
        world.check("MPI_Test", code);
        flag != 0 && self.due.is_none_or(|due| due <= Instant::now())
    }

    /// Waits until it has ended, and lets other processes of this machine go on
    /// meanwhile.
    pub fn wait(mut self, world: &World) {
        while !self.test(world) {
            std::thread::yield_now();
        }
    }
}

/// Waits as long as something that has been done to `rank` is to be delayed.
pub(super) fn delay(world: &World, rank: usize) {
    if rank != world.rank() && !world.latency().is_zero() {
        let due = Instant::now() + world.latency();
        while Instant::now() < due {
            std::thread::yield_now();
        }
    }
}
