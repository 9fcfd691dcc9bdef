//! The peer paralight, which has only loops.

use std::cell::RefCell;

use paralight::prelude::*;
use purloin_kernels::{Answer, Instance};

use super::loops_only::{self, LoopPeer};
use super::{Description, Runner, Start};

pub const PARALIGHT: Description = Description {
    name: "paralight",
    about: "peer: the same source over the parallel iterators of paralight",
    is_peer: true,
    has_workers: true,
    kernels: loops_only::KERNELS,
    start: Start::Threads(|workers, _| {
        let threads = ThreadPoolBuilder {
            num_threads: ThreadCount::try_from(workers).map_err(|error| error.to_string())?,
            range_strategy: RangeStrategy::WorkStealing,
            cpu_pinning: CpuPinningPolicy::No,
        };
        Ok(Box::new(ParalightPool(RefCell::new(threads.build()))))
    }),
    profile: None,
    options: &[],
};

/// The pool is borrowed mutably for each loop, because it can run only one at a time.
struct ParalightPool(RefCell<ThreadPool>);

impl Runner for ParalightPool {
    fn run(&self, instance: &mut Instance) -> Answer {
        loops_only::run(self, instance)
    }
}

impl LoopPeer for ParalightPool {
    fn map_reduce<P, T>(
        &self,
        pieces: Vec<P>,
        map: impl Fn(P) -> T + Sync,
        combine: impl Fn(T, T) -> T + Sync,
    ) -> T
    where
        P: Send,
        T: Default + Send,
    {
        pieces
            .into_par_iter()
            .with_thread_pool(&mut *self.0.borrow_mut())
            .map(map)
            .reduce(T::default, combine)
    }
}
