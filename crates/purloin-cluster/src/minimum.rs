//! A bound that all ranks can lower: [`GlobalMin`].

use std::cell::RefCell;
use std::sync::atomic::Ordering;

use crate::transport::{Transfer, Window};
use crate::{Cluster, Error};

/// A number that any task can lower and all tasks can read, such as the best value found by
/// a branch-and-bound search.
///
/// Each rank has a copy. Reading the number is a load of that copy. Lowering it sends a message
/// to every rank, and the messages take time to arrive. So a rank may read a number that
/// another rank has already lowered, but never one that is too low.
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
    /// The transfers under way, each with the number that MPI reads. Each number has its own
    /// allocation, which stays in place while the outer vector grows.
    under_way: RefCell<Vec<(Transfer, Vec<u64>)>>,
}

impl GlobalMin {
    /// Creates a minimum whose first value is `start`. All ranks must call this function.
    ///
    /// # Errors
    ///
    /// Returns an error if a rank lacks memory for it.
    pub fn new(cluster: &Cluster, start: u64) -> Result<GlobalMin, Error> {
        let minimum = GlobalMin {
            window: Window::allocate(cluster.world(), size_of::<u64>())?,
            under_way: RefCell::default(),
        };
        minimum.reset(start);
        Ok(minimum)
    }

    /// Returns the number as far as this rank knows it.
    pub fn get(&self) -> u64 {
        // Relaxed: the number guards no other data.
        self.window.word(0).load(Ordering::Relaxed)
    }

    /// Lowers the number to `value` if it is higher.
    pub fn lower(&self, value: u64) {
        let world = self.window.world();
        let mut under_way = self.under_way.borrow_mut();
        under_way.retain_mut(|(transfer, _)| !transfer.test(world));
        if value >= self.get() {
            return;
        }
        let others = (1..world.ranks()).map(|distance| (world.rank() + distance) % world.ranks());
        // This rank's own copy is also lowered by MPI, and first: MPI operations of one kind
        // are atomic with respect to each other.
        for rank in std::iter::once(world.rank()).chain(others) {
            let value = vec![value];
            // SAFETY: `under_way` keeps the number, unchanged and in its place, until the
            // transfer has ended.
            let transfer = unsafe { self.window.lower(rank, 0, value.as_ptr()) };
            under_way.push((transfer, value));
        }
    }

    /// Sets the number to `value`, higher or lower. All ranks must call this function.
    pub fn reset(&self, value: u64) {
        let world = self.window.world();
        for (transfer, _) in self.under_way.take() {
            transfer.wait(world);
        }
        // A request may be complete on this rank while its effect on the target is not.
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
            // The job is about to end. MPI reads the numbers until then, so they are leaked.
            std::mem::forget(self.under_way.take());
            return;
        }
        for (transfer, _) in self.under_way.take() {
            transfer.wait(self.window.world());
        }
    }
}
