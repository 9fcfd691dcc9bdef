//! The two systems of *Friendly Barriers*: DefaultWS, the paper's baseline, and ReturnBarrierWS.
//!
//! Both share tasks by the protocol of the default scheduler ([`BarrierTasks`]), and leave out what
//! that scheduler adds to the paper:
//!
//! - **Thieves use no force.** A victim answers at its next push or pop, or not at all. So an owner
//!   that takes a task back executes no fence, and makes a task public by a store.
//! - **Thieves leave no tiny tasks alone.** An idle thief searches on at once, and a blocked worker
//!   leapfrogs at once. (In section 3.3, the authors removed a pause of their thieves.) So a thief
//!   does not read the clock at an attempt.
//!
//! # What differs from the source
//!
//! - A steal takes a closure that lies in a slot, not a continuation in the victim's execution stack.
//! - A victim also offers a task unasked, when it begins to spawn in a stolen task, and when it has got
//!   back the result of one. For the second case it reads the clock at each publication and at each
//!   result. In Java, a victim passes a yieldpoint at each call and each turn of a loop. Ours answers at
//!   pushes and pops only, which may come too late for a thief that asks.
//! - With the barrier, an answer makes up to 32 tasks public, which thieves then take without the
//!   victim. The paper's thieves share a copy of the victim's stack instead.
//! - Without the barrier, the victim waits for its thief for at most 20 µs, and not for a thief that
//!   sleeps. Idle workers sleep, and a blocked worker hands its processor to a spare worker.
//!
//! Source: Return barrier, sections 2.4 (DefaultWS) and 5 (ReturnBarrierWS).

#[cfg(all(test, loom))]
mod models;

use purloin::scheduler::{
    BarrierHeader, BarrierScheduler, BarrierTasks, ReachIn, Scheduler, TaskStack,
};

/// The baseline of *Friendly Barriers*: each steal interrupts its victim, which offers one task, waits
/// until a thief has taken it, and goes on.
///
/// ```
/// use purloin::{Pool, Worker};
/// use purloin_schedulers::DefaultWs;
///
/// let pool = Pool::builder().scheduler(DefaultWs).build()?;
/// assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
/// assert_eq!(pool.stats().free_steals, 0);
/// # Ok::<(), purloin::BuildError>(())
/// ```
///
/// Source: Return barrier, sections 2.4 and 5.2.
#[derive(Clone, Copy, Debug, Default)]
pub struct DefaultWs;

/// The system of *Friendly Barriers*: a victim that has answered a thief leaves tasks below a barrier,
/// where thieves steal them for free.
///
/// ```
/// use purloin::{Pool, Worker};
/// use purloin_schedulers::ReturnBarrierWs;
///
/// let pool = Pool::builder().scheduler(ReturnBarrierWs).build()?;
/// assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
/// assert_eq!(pool.stats().forced_steals, 0);
/// # Ok::<(), purloin::BuildError>(())
/// ```
///
/// Source: Return barrier, section 5.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReturnBarrierWs;

// SAFETY: `BarrierTasks` gives each task to exactly one thread, under every `BarrierScheduler`.
unsafe impl Scheduler for DefaultWs {
    type Header = BarrierHeader;
    type TaskPool = BarrierTasks<Self>;
    type Protocol = ReachIn;

    purloin::slow_paths!();

    fn task_pool(&self, stack: TaskStack<Self>, _workers: usize) -> BarrierTasks<Self> {
        // SAFETY: the runtime gets the task pool.
        unsafe { BarrierTasks::new(self, stack) }
    }
}

impl BarrierScheduler for DefaultWs {
    const HAS_FORCE: bool = false;
    const BARRIER_STAYS: bool = false;
}

// SAFETY: `BarrierTasks` gives each task to exactly one thread, under every `BarrierScheduler`.
unsafe impl Scheduler for ReturnBarrierWs {
    type Header = BarrierHeader;
    type TaskPool = BarrierTasks<Self>;
    type Protocol = ReachIn;

    purloin::slow_paths!();

    fn task_pool(&self, stack: TaskStack<Self>, _workers: usize) -> BarrierTasks<Self> {
        // SAFETY: the runtime gets the task pool.
        unsafe { BarrierTasks::new(self, stack) }
    }
}

impl BarrierScheduler for ReturnBarrierWs {
    const HAS_FORCE: bool = false;
    const BARRIER_STAYS: bool = true;
}
