//! How a pool starts: its shared state, its workers, their threads.

use std::io;
use std::sync::{Arc, Weak};

use super::builder::Builder;
use super::forked_process;
use super::inbox::Inbox;
use super::rescue::Rescue;
use super::stack_sizes::Stacks;
use super::threads::{self, Threads, WorkerStart};
use super::{Pool, Quiescence, Shared, watched};
use crate::append_vec::AppendVec;
use crate::error::BuildError;
use crate::scheduler::Scheduler;
use crate::sleep::Sleep;
use crate::sync::asymmetric;
use crate::sync::plain::{Mutex, OnceLock, Ordering, lock};
use crate::tracing;

impl<S: Scheduler> Builder<S> {
    /// Starts a pool with `workers` workers, up to `spares` spare workers, and stacks of these sizes.
    pub(super) fn start(
        &self,
        workers: usize,
        spares: usize,
        stacks: Stacks,
        mut start: impl FnMut(WorkerStart<S>) -> io::Result<()>,
    ) -> Result<Pool<S>, BuildError> {
        let (stack_size, _) = stacks;
        let names: Vec<String> = (0..workers).map(&self.thread_name).collect();
        if let Some(worker) = names.iter().position(|name| name.contains('\0')) {
            return Err(BuildError::ThreadName { worker });
        }
        // Relaxed: it only matters that each pool gets its own number.
        let id = super::NEXT_POOL.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::new_cyclic(|shared: &Weak<Shared<S>>| Shared {
            id,
            process: std::process::id(),
            trace: tracing::record_pool(id, workers, self.options.traced),
            sleep: Sleep::new(id, workers, spares, {
                let shared = Weak::clone(shared);
                // If the pool is gone, no task waits for the worker.
                Box::new(move |_, worker| {
                    let shared = shared.upgrade();
                    shared.is_none_or(|shared| Threads::start_spare(shared, worker))
                })
            }),
            worker_threads: AppendVec::with_capacity(workers + spares),
            spares,
            scheduler: Arc::clone(&self.scheduler),
            stacks,
            workers,
            threads: Threads {
                names: Mutex::new(names.into()),
                workers,
                stack_size,
                processors: match self.pinned {
                    true => threads::processors(),
                    false => Box::default(),
                },
                handles: Default::default(),
                dropped: Mutex::new(Some(Vec::new())),
            },
            inbox: Inbox::new(),
            rescue: Rescue::default(),
            quiescence: Quiescence::new(),
            options: self.options.clone(),
            borrowed: OnceLock::new(),
        });
        forked_process::prepare_for_forks();
        asymmetric::prepare();
        for worker in 0..workers {
            if let Some(trace) = &shared.trace {
                let events = trace.events();
                let failed = |_| BuildError::TraceMemory { worker, events };
                trace.buffer(worker).map_err(failed)?;
            }
            let failed = |source| BuildError::TaskStack {
                worker,
                stack_size,
                source,
            };
            shared.add_worker(worker).map_err(failed)?;
        }
        shared.register();
        watched::watch(&shared);
        // If a thread does not start, dropping the pool ends the threads that were started.
        let pool = Pool { shared };
        let failed = |worker| {
            move |source| BuildError::Start {
                worker,
                stack_size,
                source,
            }
        };
        for worker in 0..workers {
            let shared = Arc::clone(&pool.shared);
            start(WorkerStart::new(shared, worker)).map_err(failed(worker))?;
        }
        let dropped = lock(&pool.shared.threads.dropped).take();
        for worker in dropped.into_iter().flatten() {
            Threads::start_regular(Arc::clone(&pool.shared), worker).map_err(failed(worker))?;
        }
        Ok(pool)
    }
}
