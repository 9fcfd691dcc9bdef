//! A bound that all ranks lower: [`GlobalMin`].

use std::cell::RefCell;
use std::sync::atomic::Ordering;

use crate::transport::{Transfer, Window};
use crate::{Cluster, Error};

/// A number that any task lowers, for all others to see: the best value of a branch and
/// bound search.
///
/// Each rank has a copy. To look at it costs a load; to lower it costs a message to every
/// rank, which arrives in its time. So a rank may find the number higher than it has been
/// lowered elsewhere, and never lower.
///
/// ```no_run
/// # use purloin_cluster::{Cluster, Error, GlobalMin};
/// # fn example(cluster: &Cluster) -> Result<(), Error> {
/// let best = GlobalMin::new(cluster, u64::MAX)?;
/// if 17 < best.get() {
///     best.lower(17);
/// }
/// # Ok(())
/// # }
/// ```
pub struct GlobalMin {
    window: Window,
    /// What is on its way. In memory of its own, as MPI reads it meanwhile.
    under_way: RefCell<Vec<(Transfer, Vec<u64>)>>,
}

impl GlobalMin {
    /// Makes one that is `start`, on all ranks together.
    ///
    /// # Errors
    ///
    /// If a rank has no memory for it.
    pub fn new(cluster: &Cluster, start: u64) -> Result<GlobalMin, Error> {
        let minimum = GlobalMin {
            window: Window::allocate(cluster.world(), size_of::<u64>())?,
            under_way: RefCell::default(),
        };
        minimum.reset(start);
        Ok(minimum)
    }

    /// Its value, as far as this rank knows.
    pub fn get(&self) -> u64 {
        // Relaxed: it is the number itself that counts.
        self.window.word(0).load(Ordering::Relaxed)
    }

    /// Lowers it to `value`, if it is higher.
    pub fn lower(&self, value: u64) {
        let world = self.window.world();
        let mut under_way = self.under_way.borrow_mut();
        under_way.retain_mut(|(transfer, _)| !transfer.test(world));
        if value >= self.get() {
            return;
        }
        let others = (1..world.ranks()).map(|distance| (world.rank() + distance) % world.ranks());
        // The own copy first, by the same kind of operation: these are atomic among each
        // other.
        for rank in std::iter::once(world.rank()).chain(others) {
            let value = vec![value];
            // SAFETY: the number stays where it is until the transfer has ended.
            let transfer = unsafe { self.window.lower(rank, 0, value.as_ptr()) };
            under_way.push((transfer, value));
        }
    }

    /// Sets it anew, on all ranks together.
    pub fn reset(&self, value: u64) {
        let world = self.window.world();
        for (transfer, _) in self.under_way.take() {
            transfer.wait(world);
        }
        // Requests end here before they have ended there.
        self.window.flush_all();
        world.barrier();
        self.window.word(0).store(value, Ordering::Relaxed);
        self.window.sync();
        world.barrier();
    }
}

impl Drop for GlobalMin {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The job ends. Until then MPI reads the numbers.
            std::mem::forget(self.under_way.take());
            return;
        }
        for (transfer, _) in self.under_way.take() {
            transfer.wait(self.window.world());
        }
    }
}
