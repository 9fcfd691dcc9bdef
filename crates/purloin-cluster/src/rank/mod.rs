//! A rank during a run: it runs tasks, and steals when it runs out of them.
//!
//! # Two tokens
//!
//! Under [`SpawningRank`], each spawn asks the cut-off and may push a task. Under
//! [`InlineRank`], a spawn decrements a counter and calls the task. Whole subtrees run like this
//! if no task in them is worth a place in the queue. Because the tokens are types, the program
//! is compiled once for each of them, and a third time for its serial elision.
//!
//! When the counter reaches zero, about every 20 µs, the rank *polls* ([`Engine::poll`]): it lets
//! MPI serve other ranks, advances its writes and its steal, and offers private tasks. A subtree
//! that runs under [`InlineRank`] for much longer than expected is *overdue*. Its tasks ask again
//! while the queue has room, beginning with the tasks next to the root of the subtree.
//!
//! # Waiting
//!
//! A join whose task is stolen blocks until the result has arrived. Meanwhile the rank steals
//! from any other rank, and runs the stolen tasks on top of its stack. Ranks never wait in a
//! circle. A frame waits only for tasks that began after it, or have not begun yet, and for the
//! frames above it on its own stack, which also began later. So of all unfinished frames, the
//! one that began last can always go on.
//!
//! The tasks on top of a blocked frame are unrelated to it. This differs from the library for
//! shared memory, because a rank has no other thread that could use its processor, and waiting for
//! a network costs a million instructions. So a task must not hold anything that another task needs
//! across a spawn. Tasks are plain data and contain no locks. A context should not contain any
//! either.
//!
//! # Early steals
//!
//! A steal advances by one step whenever the rank attends to it ([`Thief`]). Under
//! [`Steal::Sync`], a steal starts when no task is left. Under [`Steal::Async`], it starts as
//! soon as fewer than `residual` tasks are left besides the one that is about to run, unless all of
//! these probably last for three steals: then the rank can start later. Stolen tasks wait until the
//! rank runs out of tasks or a join blocks.
//!
//! # The end
//!
//! Every task waits for the tasks that it has spawned. So when the first task ends, all tasks have
//! ended, and no other termination detection is necessary. Rank 0 notifies two
//! ranks, each of them notifies two more, and so on. Each rank waits for its own operations
//! that are under way. A barrier follows, because no window may be freed while another rank
//! still has an operation on it.
//!
//! Source: AsynchWS, section II (dependences and termination as in the work that it
//! cites) and IV.A.

mod inline;
mod poll_timer;
mod spawning;
mod thief;
mod victims;
mod wait;
mod writes;

use std::iter;
use std::rc::Rc;
use std::time::{Duration, Instant};

use self::inline::InlineRank;
use self::poll_timer::{PERIOD, PollTimer};
use self::spawning::SpawningRank;
use self::thief::Thief;
use self::writes::Writes;
use crate::cut_off::Policy;
use crate::failure::TaskGuard;
use crate::options::{Options, Steal};
use crate::queue::{Layout, MAX_STEAL, Stack};
use crate::stats::Stats;
use crate::transport::{Window, World};
use crate::{Error, Task, launch};

/// The minimum interval between two calls for MPI progress. A call takes half a microsecond.
const PROGRESS_INTERVAL: Duration = Duration::from_micros(50);

/// If a call for MPI progress takes longer than this, it has given up the rank's time slice.
const LONG_PROGRESS: Duration = Duration::from_micros(20);

/// The largest number of levels of a subtree that count as overdue. No sensible tree has more.
const MAX_OVERDUE_LEVELS: u32 = 1 << 20;

/// With at least this many tasks, no early steal starts.
const FEW: usize = 16;

/// The state of a rank during a run.
pub struct Engine<'c, T: Task, P: Policy> {
    context: &'c T::Context,
    window: Rc<Window>,
    stack: Stack<T>,
    policy: P,
    thief: Thief<T>,
    writes: Writes,
    poll_timer: PollTimer,
    steals_early: bool,
    residual: usize,
    is_alone: bool,
    /// The earliest time of the next call for MPI progress.
    next_progress: Instant,
    overdue: Overdue,
    /// The number of polls when the last early steal started.
    last_early_steal: u64,
    account: Account,
    stats: Stats,
}

/// The subtree that runs under [`InlineRank`], and its overdue levels.
#[derive(Clone, Copy, Default)]
struct Overdue {
    /// The number of polls when the subtree started.
    since: u64,
    /// The depth of the subtree's root.
    depth: u32,
    /// The number of overdue levels, from the root downwards.
    levels: u32,
}

impl Overdue {
    /// Returns the first depth below the overdue levels. Tasks of smaller depths ask whether their
    /// spawns enter the queue.
    #[inline]
    fn end(self) -> u32 {
        self.depth + self.levels
    }
}

/// Times, in nanoseconds, that separate the work of a task from its elapsed time.
#[derive(Clone, Copy, Default)]
struct Account {
    /// The time for which joins were blocked.
    blocked: u64,
    /// The work that other ranks have done for tasks of this rank.
    elsewhere: u64,
}

impl<'c, T: Task, P: Policy> Engine<'c, T, P> {
    /// Prepares a run. All ranks must call this function.
    pub fn new(
        world: &Rc<World>,
        context: &'c T::Context,
        policy: P,
        options: &Options,
    ) -> Result<Self, Error> {
        let window = Rc::new(Window::allocate(world, Layout::<T>::WINDOW_BYTES)?);
        let mut engine = Engine {
            context,
            stack: Stack::new(&window, P::MAX_OFFERED),
            policy,
            thief: Thief::new(&window),
            writes: Writes::new(&window),
            window,
            poll_timer: PollTimer::new(),
            steals_early: options.steal == Steal::Async && world.ranks() > 1,
            residual: options.residual,
            is_alone: world.ranks() == 1,
            next_progress: Instant::now(),
            overdue: Overdue::default(),
            last_early_steal: 0,
            account: Account::default(),
            stats: Stats::default(),
        };
        engine.update_steal_cost();
        Ok(engine)
    }

    fn world(&self) -> &World {
        self.window.world()
    }

    /// Returns the statistics and the cut-off.
    pub fn finish(self) -> (Stats, P) {
        (self.stats, self.policy)
    }

    fn update_steal_cost(&mut self) {
        self.policy
            .set_steal_cost(self.thief.cost().as_nanos() as u64);
    }

    /// Pushes a spawned task, and offers it if the next poll may be far away.
    #[inline]
    fn push(&mut self, task: T, depth: u32) -> usize {
        self.stats.tasks += 1;
        let slot = self.stack.push(task, depth);
        if self.poll_timer.are_spawns_rare() {
            self.offer_if_none();
        }
        slot
    }

    /// Offers private tasks if no task is offered.
    #[cold]
    fn offer_if_none(&mut self) {
        if self.is_alone || self.stack.has_offer() {
            return;
        }
        self.stack.replenish_offer();
    }

    /// Returns whether the siblings of a task that runs inline wait in the queue meanwhile.
    #[inline]
    fn leaves_siblings(&mut self, depth: u32) -> bool {
        self.stack.has_room_for(1 + MAX_STEAL)
            && self.policy.leaves_siblings(depth, self.stack.ready())
    }

    /// Runs a task that did not enter the queue.
    #[inline]
    fn run_inline(&mut self, task: T, depth: u32) -> T::Output {
        if self.policy.is_fine(depth) {
            self.run_fine(task, depth)
        } else if P::MEASURES && self.policy.wants_sample(depth) {
            self.stats.samples += 1;
            self.run_timed(task, depth).0
        } else {
            self.run_spawning(task, depth)
        }
    }

    /// Runs a task whose spawns may enter the queue.
    #[inline]
    fn run_spawning(&mut self, task: T, depth: u32) -> T::Output {
        let base = self.stack.top();
        let output = task.run(SpawningRank::new(self, depth));
        debug_assert!(self.stack.top() >= base);
        if self.stack.top() != base {
            self.finish_spawned(base, depth);
        }
        output
    }

    /// Runs a task whose whole subtree runs inline.
    fn run_fine(&mut self, task: T, depth: u32) -> T::Output {
        let outer = self.overdue;
        if outer.levels == 0 {
            self.overdue = Overdue {
                since: self.poll_timer.polls(),
                depth,
                levels: 0,
            };
        }
        let output = task.run(InlineRank::new(self, depth));
        self.overdue = outer;
        output
    }

    /// Runs a task that came out of a queue.
    #[inline]
    fn run_dequeued(&mut self, task: T, depth: u32) -> T::Output {
        match P::MEASURES && self.policy.wants_time(depth) {
            true => self.run_timed(task, depth).0,
            false => self.run_untimed(task, depth),
        }
    }

    #[inline]
    fn run_untimed(&mut self, task: T, depth: u32) -> T::Output {
        match self.policy.is_fine(depth) {
            true => self.run_fine(task, depth),
            false => self.run_spawning(task, depth),
        }
    }

    /// Runs a task, and records its work with the cut-off. Also returns the work, in
    /// nanoseconds.
    #[inline(never)]
    fn run_timed(&mut self, task: T, depth: u32) -> (T::Output, u64) {
        let (output, work, end) = self.measure(|engine| engine.run_untimed(task, depth));
        // The cost of one reading of the clock.
        let clock = end.elapsed();
        self.policy.record(depth, work);
        // `end.elapsed()` misses two readings of the clock: the one before `begin`, and the one
        // that it makes itself.
        self.stats.profiling_nanoseconds += (end.elapsed() + 2 * clock).as_nanos() as u64;
        (output, work)
    }

    /// Calls `run`. Also returns its work, in nanoseconds, and the time at which it ended.
    #[inline]
    fn measure<R>(&mut self, run: impl FnOnce(&mut Self) -> R) -> (R, u64, Instant) {
        let outer = self.account;
        let begin = Instant::now();
        let output = run(self);
        let end = Instant::now();
        let blocked = self.account.blocked - outer.blocked;
        let elsewhere = self.account.elsewhere - outer.elsewhere;
        if end - self.poll_timer.last_poll() >= PERIOD {
            self.poll_timer.expire();
        }
        let taken = (end - begin).as_nanos() as u64;
        (output, taken.saturating_sub(blocked) + elsewhere, end)
    }

    /// Runs a stolen task or the first task. Also returns its work in nanoseconds, or 0 if the
    /// cut-off uses no durations.
    fn run_guarded(&mut self, task: T, depth: u32, is_serial: bool) -> (T::Output, u64) {
        let window = self.window.clone();
        let _guard = TaskGuard::new(window.world(), &task, depth);
        if is_serial {
            self.stats.serial += 1;
            // Its work counts as the work of the tasks above it, although its own depth is known.
            let (output, work, _) = self.measure(|engine| engine.run_fine(task, depth));
            (output, if P::MEASURES { work } else { 0 })
        } else if P::MEASURES {
            self.run_timed(task, depth)
        } else {
            (self.run_untimed(task, depth), 0)
        }
    }

    /// Returns the output of the newest task, whose slot is `slot`: runs the task, or waits for
    /// its thief.
    #[inline]
    fn finish_newest(&mut self, slot: usize, depth: u32) -> T::Output {
        let Some(task) = self.stack.pop(slot) else {
            return self.await_output(slot);
        };
        if self.poll_timer.are_spawns_rare() {
            self.offer_if_none();
        }
        self.steal_early_if_few(depth);
        self.run_dequeued(task, depth)
    }

    /// Waits for the tasks that a task has spawned without asking for their outputs.
    #[cold]
    fn finish_spawned(&mut self, base: usize, depth: u32) {
        while self.stack.top() > base {
            let slot = self.stack.top() - 1;
            if self.stack.is_settled(slot) {
                self.stack.release(slot);
            } else {
                self.stack.invalidate_handle(slot);
                self.finish_newest(slot, depth + 1);
            }
        }
    }

    /// Returns whether a steal may start: no other steal is under way, the queue has room for
    /// the stolen tasks, and the stack has room to run them on top of the current frame. Pushes
    /// always leave that room in the queue.
    fn may_steal(&self) -> bool {
        let is_free = !self.thief.is_busy() && !self.thief.has_tasks();
        !self.is_alone && is_free && self.stack.has_room_for(MAX_STEAL) && launch::has_stack()
    }

    /// Advances the steal that is under way.
    fn advance_steal(&mut self) {
        self.thief.advance(&mut self.stats, &mut self.writes);
    }

    /// Starts an early steal if few tasks are left.
    #[inline]
    fn steal_early_if_few(&mut self, depth: u32) {
        if self.steals_early && self.stack.has_fewer_than(FEW) {
            self.steal_early(depth);
        }
    }

    #[cold]
    fn steal_early(&mut self, depth: u32) {
        self.advance_steal();
        // After an unsuccessful attempt, the next one waits for a poll.
        let has_polled = self.last_early_steal != self.poll_timer.polls();
        if !has_polled || !self.may_steal() {
            return;
        }
        let depths = iter::once(depth).chain(self.stack.ready_depths());
        if self.policy.are_residual(depths, self.residual) {
            self.last_early_steal = self.poll_timer.polls();
            self.stats.early_steals += 1;
            self.thief.begin(&mut self.stats);
        }
    }

    /// Counts a spawn that asks the cut-off, and polls if a poll is due.
    #[inline]
    fn count_spawn(&mut self) {
        // A spawn that asks the cut-off costs about as much as eight inline spawns.
        if self.poll_timer.count(8) {
            self.poll();
        }
    }

    /// Counts a task that comes off the queue, and polls if a poll is due.
    #[inline]
    fn count_task(&mut self) {
        if self.poll_timer.count(32) {
            self.poll();
        }
    }

    /// Polls, and checks whether the subtree that runs under [`InlineRank`] is overdue.
    #[cold]
    fn poll_inline(&mut self) {
        self.poll();
        if !self.is_alone {
            self.check_overdue();
        }
    }

    /// Polls if a poll is due. Returns whether the spawns of a task at this depth, which runs
    /// under [`InlineRank`], enter the queue because the task is overdue.
    #[cold]
    fn enqueues_overdue(&mut self, depth: u32) -> bool {
        if self.poll_timer.is_due() {
            self.poll_inline();
        }
        depth < self.overdue.end()
            && self.stack.has_room_for(1 + MAX_STEAL)
            && self.policy.refills(self.stack.ready())
    }

    /// Adjusts the number of overdue levels of a subtree that runs for longer than expected.
    ///
    /// Levels become overdue from the root downwards, because the longest tasks are near the
    /// root. At each poll the number of levels doubles if the queue still has too few tasks,
    /// and halves otherwise.
    fn check_overdue(&mut self) {
        let polls = self.poll_timer.polls() - self.overdue.since;
        let running_for = polls.saturating_sub(1) * PERIOD.as_nanos() as u64;
        let limit = self.policy.overdue_after();
        if limit.is_some_and(|limit| running_for > limit) {
            let Overdue { levels, .. } = self.overdue;
            self.overdue.levels = match self.policy.refills(self.stack.ready()) {
                true => (2 * levels).clamp(1, MAX_OVERDUE_LEVELS),
                false => (levels / 2).max(1),
            };
        }
    }

    /// Attends to everything other than the work: the steal and the writes that are under way, the
    /// offer, and MPI's progress.
    #[cold]
    fn poll(&mut self) {
        self.poll_timer.restart();
        if self.is_alone {
            return;
        }
        self.advance_steal();
        self.writes.advance();
        self.stack.replenish_offer();

        let now = self.poll_timer.last_poll();
        if now >= self.next_progress {
            self.world().progress();
            let taken = now.elapsed();
            // If ranks share a processor, MPI gives it to another rank during the call. With calls
            // every 50 µs, this rank would lose most of its time slices.
            let pause = if taken > LONG_PROGRESS {
                10 * taken
            } else {
                PROGRESS_INTERVAL
            };
            self.next_progress = now + taken + pause;
        }
        if self.poll_timer.polls().is_multiple_of(64) {
            self.update_steal_cost();
        }
    }
}
