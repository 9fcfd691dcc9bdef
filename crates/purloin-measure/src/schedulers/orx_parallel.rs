//! The peer orx-parallel, which has only loops.

use orx_parallel::{BasicPool, IntoParIter, Par, Pool, Runner as LoopRunner, ThreadPool};
use purloin_kernels::{Answer, Instance};

use super::loops_only::{self, LoopPeer};
use super::{Description, Runner, Start};

pub const ORX_PARALLEL: Description = Description {
    name: "orx-parallel",
    about: "peer: the same source over the parallel iterators of orx-parallel",
    is_peer: true,
    has_workers: true,
    kernels: loops_only::KERNELS,
    start: Start::Threads(|workers, _| {
        let pool = Pool::basic(workers);
        // The environment variable ORX_NUM_THREADS can lower the number further.
        match pool.max_num_threads().get() {
            threads if threads < workers => Err(format!(
                "orx-parallel starts at most one thread for each core, here {threads}"
            )),
            _ => Ok(Box::new(pool)),
        }
    }),
    profile: None,
    options: &[],
};

impl Runner for BasicPool {
    fn run(&self, instance: &mut Instance) -> Answer {
        loops_only::run(self, instance)
    }
}

impl LoopPeer for BasicPool {
    /// Uses orx-parallel's default runner, which adapts the size of its chunks to the loop.
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
        let (map, combine) = (&map, &combine);
        pieces
            .into_par()
            .runner(LoopRunner::adaptive_with_pool(self))
            .map(map)
            .reduce(combine)
            .unwrap_or_default()
    }
}
