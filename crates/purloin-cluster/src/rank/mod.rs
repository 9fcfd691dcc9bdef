//! What a rank does: it runs tasks, and steals when it runs out of them.
//!
//! # Two ways to run a task
//!
//! Under [`Active`] each spawn asks the cut-off, and may push a task. Under [`Quick`] a
//! spawn is a plain call and the decrement of a counter; that is how whole subtrees are
//! run in which no level is worth a task. Both are types, so that the program is compiled
//! once for each, and a third time for its serial elision.
//!
//! When the counter is down, which is about every 20 µs, the rank looks up
//! ([`Engine::look_up`]): it lets MPI serve others, sees to results and a steal that are
//! under way, and offers what it has kept. A subtree that runs much longer under `Quick` than
//! was thought is *doubted*: its tasks ask again, as long as the queue has room, those
//! next to its root first.
//!
//! # Waiting
//!
//! A join whose task is stolen is blocked until the result has come. The rank steals
//! meanwhile, from anyone, and runs what it gets on top of its stack. Nobody waits in a
//! circle: a frame waits for tasks that began after it, or will, and for what lies above it
//! on its own stack, which also began later. So the frame that began last, of all that have
//! not ended, can go on.
//!
//! It is unrelated work that runs on top of a blocked frame, unlike in the shared memory
//! library: a rank has no threads to lend its processor to, and a latency is a million
//! instructions. So a task must not hold across a spawn what another task needs; there are no
//! locks in its plain data anyway, and contexts should have none.
//!
//! # Stealing early
//!
//! A steal takes its steps whenever the rank looks after it ([`Thief`]). Under
//! [`Steal::Sync`] it is begun when nothing is left to run. Under [`Steal::Async`] it is begun
//! as soon as fewer than the residual tasks are left, unless these are coarse: if they
//! should last for three steals, there is time. What a steal brings is kept until the rank
//! runs out of tasks, or a join blocks.
//!
//! # The end
//!
//! Every task is waited for by the one that has spawned it, so that all tasks have ended when
//! the first has: this is termination detection already. The first rank tells two others, these
//! tell two more each, and each rank waits for what it has under way. Then a barrier, as
//! nobody's window may go while another has something under way.
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

use std::rc::Rc;
use std::time::{Duration, Instant};

use self::inline::Quick;
use self::poll_timer::{PERIOD, Pulse};
use self::spawning::Active;
use self::thief::Thief;
use self::writes::Returns;
use crate::cut_off::CutOff;
use crate::failure::Running;
use crate::options::{Options, Steal};
use crate::queue::{Layout, MOST, Stack};
use crate::stats::Stats;
use crate::transport::{Window, World};
use crate::{Error, Task, launch};

/// At least so long is it between two pokes of MPI, which cost half a microsecond.
const POKE: Duration = Duration::from_micros(50);

/// A poke that takes longer has cost a time slice.
const LONG_POKE: Duration = Duration::from_micros(20);

/// The most levels of a subtree that are doubted: all, in trees of any sense.
const MOST_DOUBTED: u32 = 1 << 20;

/// With as many tasks, no steal is begun early.
const FEW: usize = 16;

/// What a rank has, in a run.
pub struct Engine<'c, T: Task, C: CutOff> {
    context: &'c T::Context,
    window: Rc<Window>,
    stack: Stack<T>,
    cutoff: C,
    thief: Thief<T>,
    returns: Returns,
    pulse: Pulse,
    steals_early: bool,
    residual: usize,
    is_alone: bool,
    /// Not before then is MPI poked the next time.
    next_poke: Instant,
    doubt: Doubt,
    /// The number of looks when a steal was begun early, the last time.
    early: u64,
    account: Account,
    stats: Stats,
}

/// Whether a subtree under [`Quick`] is as fine as was thought.
#[derive(Clone, Copy, Default)]
struct Doubt {
    /// The number of looks when it was begun.
    since: u64,
    /// The level of its root, and how many levels from there on are doubted.
    level: u32,
    levels: u32,
}

impl Doubt {
    /// Tasks above this level ask the cut-off about what they spawn.
    #[inline]
    fn end(self) -> u32 {
        self.level + self.levels
    }
}

/// What is needed to tell the work of a task from the time it took, in nanoseconds.
#[derive(Clone, Copy, Default)]
struct Account {
    /// Time for which joins were blocked.
    blocked: u64,
    /// Work that others have done for tasks of this rank.
    elsewhere: u64,
}

impl<'c, T: Task, C: CutOff> Engine<'c, T, C> {
    /// On all ranks together.
    pub fn new(
        world: &Rc<World>,
        context: &'c T::Context,
        cutoff: C,
        options: &Options,
    ) -> Result<Self, Error> {
        let window = Rc::new(Window::allocate(world, Layout::<T>::WINDOW)?);
        let mut engine = Engine {
            context,
            stack: Stack::new(&window),
            cutoff,
            thief: Thief::new(&window),
            returns: Returns::new(&window),
            window,
            pulse: Pulse::new(),
            steals_early: options.steal == Steal::Async && world.ranks() > 1,
            residual: options.residual,
            is_alone: world.ranks() == 1,
            next_poke: Instant::now(),
            doubt: Doubt::default(),
            early: 0,
            account: Account::default(),
            stats: Stats::default(),
        };
        engine.tell_cost();
        Ok(engine)
    }

    fn world(&self) -> &World {
        self.window.world()
    }

    /// What was counted, and the cut-off.
    pub fn finish(self) -> (Stats, C) {
        (self.stats, self.cutoff)
    }

    fn tell_cost(&mut self) {
        self.cutoff.tell_cost(self.thief.cost().as_nanos() as u64);
    }

    /// Pushes a task, and offers what is to be offered.
    #[inline]
    fn push(&mut self, task: T, level: u32) -> usize {
        self.stats.tasks += 1;
        let slot = self.stack.push(task, level);
        if self.pulse.is_slow() {
            self.offer();
        }
        slot
    }

    /// Offers tasks, if nothing is offered.
    #[cold]
    fn offer(&mut self) {
        if self.is_alone || self.stack.offers() {
            return;
        }
        self.stack.share();
    }

    /// Runs a task that did not go into the queue.
    #[inline]
    fn run(&mut self, task: T, level: u32) -> T::Output {
        if self.cutoff.is_fine(level) {
            self.run_quick(task, level)
        } else if C::MEASURES && self.cutoff.wants_sample(level) {
            self.stats.samples += 1;
            self.run_timed(task, level).0
        } else {
            self.run_active(task, level)
        }
    }

    #[inline]
    fn run_active(&mut self, task: T, level: u32) -> T::Output {
        let base = self.stack.top();
        let output = task.run(Active::new(self, level));
        debug_assert!(self.stack.top() >= base);
        if self.stack.top() != base {
            self.end_of_task(base, level);
        }
        output
    }

    fn run_quick(&mut self, task: T, level: u32) -> T::Output {
        let outer = self.doubt;
        if outer.levels == 0 {
            self.doubt = Doubt {
                since: self.pulse.looks(),
                level,
                levels: 0,
            };
        }
        let output = task.run(Quick::new(self, level));
        self.doubt = outer;
        output
    }

    /// Runs a task that came out of a queue.
    #[inline]
    fn run_created(&mut self, task: T, level: u32) -> T::Output {
        match C::MEASURES && self.cutoff.wants_time(level) {
            true => self.run_timed(task, level).0,
            false => self.run_active_or_quick(task, level),
        }
    }

    #[inline]
    fn run_active_or_quick(&mut self, task: T, level: u32) -> T::Output {
        match self.cutoff.is_fine(level) {
            true => self.run_quick(task, level),
            false => self.run_active(task, level),
        }
    }

    /// Runs a task, and tells the cut-off what it has taken; with that, in nanoseconds.
    #[inline(never)]
    fn run_timed(&mut self, task: T, level: u32) -> (T::Output, u64) {
        let outer = self.account;
        let begin = Instant::now();
        let output = self.run_active_or_quick(task, level);
        let end = Instant::now();
        // What a reading of the clock costs.
        let clock = end.elapsed();
        let blocked = self.account.blocked - outer.blocked;
        let elsewhere = self.account.elsewhere - outer.elsewhere;
        if end - self.pulse.last() >= PERIOD {
            self.pulse.expire();
        }
        let taken = (end - begin).as_nanos() as u64;
        let work = taken.saturating_sub(blocked) + elsewhere;
        self.cutoff.learn(level, work);
        // The first reading was before `begin`, the last is not over.
        self.stats.profiling_nanoseconds += (end.elapsed() + 2 * clock).as_nanos() as u64;
        (output, work)
    }

    /// Runs a task that was stolen, or the first of all; with what it has taken.
    fn run_guarded(&mut self, task: T, level: u32, is_serial: bool) -> (T::Output, u64) {
        let window = self.window.clone();
        let _running = Running::new(window.world(), &task, level);
        if is_serial {
            (self.run_quick(task, level), 0)
        } else if C::MEASURES {
            self.run_timed(task, level)
        } else {
            (self.run_active_or_quick(task, level), 0)
        }
    }

    /// The result of the newest task, whose slot this is.
    #[inline]
    fn finish_newest(&mut self, slot: usize, level: u32) -> T::Output {
        let Some(task) = self.stack.pop(slot) else {
            return self.await_result(slot);
        };
        if self.pulse.is_slow() {
            self.offer();
        }
        self.look_ahead(level);
        self.run_created(task, level)
    }

    /// What a task has spawned and not asked for is waited for.
    #[cold]
    fn end_of_task(&mut self, base: usize, level: u32) {
        while self.stack.top() > base {
            let slot = self.stack.top() - 1;
            if self.stack.is_settled(slot) {
                self.stack.let_go(slot);
            } else {
                self.stack.forget(slot);
                self.finish_newest(slot, level + 1);
            }
        }
    }

    /// Whether a steal can be begun: there is none, and what it brings has room, and
    /// may run on top of what waits. Pushes leave that room alone.
    fn may_steal(&self) -> bool {
        let is_free = !self.thief.is_busy() && !self.thief.has_loot();
        !self.is_alone && is_free && self.stack.has_room_for(MOST) && launch::has_stack()
    }

    /// Goes on with the steal that is under way.
    fn advance(&mut self) {
        self.thief.advance(&mut self.stats, &mut self.returns);
    }

    /// Begins to steal if few tasks are left.
    #[inline]
    fn look_ahead(&mut self, level: u32) {
        if self.steals_early && self.stack.has_fewer_than(FEW) {
            self.steal_early(level);
        }
    }

    #[cold]
    fn steal_early(&mut self, level: u32) {
        self.advance();
        let tasks = self.stack.ready();
        // After one in vain, not before the next look.
        let is_new = self.early != self.pulse.looks();
        if is_new && self.may_steal() && self.cutoff.are_residual(level, tasks, self.residual) {
            self.early = self.pulse.looks();
            self.stats.early_steals += 1;
            self.thief.begin(&mut self.stats);
        }
    }

    /// Counts a spawn; looks up if it is time to.
    #[inline]
    fn beat(&mut self) {
        // Spawns that ask the cut-off cost more than those that do not.
        if self.pulse.beats(8) {
            self.look_up();
        }
    }

    /// Counts a task that comes off the queue; looks up if it is time to.
    #[inline]
    fn beat_for_task(&mut self) {
        if self.pulse.beats(32) {
            self.look_up();
        }
    }

    /// Under [`Quick`], in a task of this level: at the end of an interval, or in doubt.
    /// Whether what it spawns is to go into the queue.
    #[cold]
    fn ask(&mut self, level: u32) -> bool {
        if self.pulse.is_over() {
            self.look_up();
            if !self.is_alone {
                self.doubt_if_slow();
            }
        }
        level < self.doubt.end()
            && self.stack.has_room_for(1 + MOST)
            && self.cutoff.refills(self.stack.ready())
    }

    /// Doubts a subtree that lasts, from its root downwards: there are the longest tasks. If
    /// that does not fill the queue, more levels are doubted at every look, and fewer if
    /// it does.
    fn doubt_if_slow(&mut self) {
        let looks = self.pulse.looks() - self.doubt.since;
        let at_least = looks.saturating_sub(1) * PERIOD.as_nanos() as u64;
        if self
            .cutoff
            .patience()
            .is_some_and(|patience| at_least > patience)
        {
            let Doubt { levels, .. } = self.doubt;
            self.doubt.levels = match self.cutoff.refills(self.stack.ready()) {
                true => (2 * levels).clamp(1, MOST_DOUBTED),
                false => (levels / 2).max(1),
            };
        }
    }

    /// Sees to all that goes on beside the work.
    #[cold]
    fn look_up(&mut self) {
        self.pulse.go_on();
        if self.is_alone {
            return;
        }
        self.advance();
        self.returns.progress();
        self.stack.share();

        let now = self.pulse.last();
        if now >= self.next_poke {
            self.world().poke();
            let taken = now.elapsed();
            // Where ranks share processors, MPI gives this one away in that call: not to
            // lose all of it.
            let pause = if taken > LONG_POKE { 10 * taken } else { POKE };
            self.next_poke = now + taken + pause;
        }
        if self.pulse.looks().is_multiple_of(64) {
            self.tell_cost();
        }
    }
}
