//! Makes the program of a seed.
//!
//! A program hangs only if the library is at fault. So a task waits only for futures that are older than the task, the
//! closures of a join under a lock take no lock and wait for nothing outside of the join, and a task waits for a thread
//! outside of its pool only if the pool has spare workers.

mod steps;

use crate::program::*;
use crate::random::Random;
use crate::setup::{SchedulerName, Setup};

/// A kind of step that a program may or may not have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Work,
    Join,
    Finish,
    Spawn,
    Future,
    Get,
    Drop,
    Cancel,
    Loop,
    Call,
    Job,
    Async,
    Blocking,
    Broadcast,
    Yield,
    Meet,
    Panic,
    Catch,
}

/// All kinds, with their weights, and how many of ten programs have them.
const KINDS: [(Kind, usize, usize); 18] = [
    (Kind::Work, 4, 10),
    (Kind::Join, 8, 8),
    (Kind::Finish, 4, 7),
    (Kind::Spawn, 8, 7),
    (Kind::Future, 7, 6),
    (Kind::Get, 7, 9),
    (Kind::Drop, 1, 5),
    (Kind::Cancel, 1, 2),
    (Kind::Loop, 3, 4),
    (Kind::Call, 2, 4),
    (Kind::Job, 2, 3),
    (Kind::Async, 2, 3),
    (Kind::Blocking, 1, 2),
    (Kind::Broadcast, 1, 1),
    (Kind::Yield, 1, 2),
    (Kind::Meet, 3, 4),
    (Kind::Panic, 1, 2),
    (Kind::Catch, 1, 2),
];

struct Generator<'r> {
    random: &'r mut Random,
    setup: &'r Setup,
    kinds: Vec<Kind>,
    /// How many more tasks the program may have.
    budget: usize,
    tasks: usize,
    numbers: u32,
    has_locks: bool,
    /// Whether a task spins already until another worker has run a task.
    has_met: bool,
    /// Whether that task is taken by force.
    meets_by_force: bool,
    max_steps: usize,
}

/// Where a piece of code is.
#[derive(Clone, Copy)]
struct Place {
    pool: PoolName,
    /// Number of scopes around it.
    scopes: usize,
    depth: usize,
    /// Whether it is in a join under a lock.
    is_locked: bool,
}

impl Program {
    /// Makes a program.
    pub fn random(random: &mut Random, setup: &Setup) -> Program {
        let kinds: Vec<_> = KINDS
            .iter()
            .filter(|kind| random.below(10) < kind.2)
            .collect();
        // A task that yields may run a task that gets its result, and that would wait for ever.
        let has = |kind: Kind| kinds.iter().any(|other| other.0 == kind);
        let yields = has(Kind::Yield);
        let meets_by_force = has(Kind::Meet) && random.one_in(2);
        let kinds = kinds.into_iter().filter(|kind| match kind.0 {
            Kind::Future => !yields,
            _ => true,
        });
        let weighted = kinds.flat_map(|kind| std::iter::repeat_n(kind.0, kind.1));
        let budget = random.pick(&[3, 5, 8, 12, 20, 40]);
        let mut generator = Generator {
            kinds: weighted.collect(),
            budget,
            tasks: 0,
            numbers: 0,
            has_locks: random.one_in(3) && !setup.main.runs_anything && !setup.other.runs_anything,
            max_steps: random.pick(&[2, 4, 8]),
            has_met: false,
            meets_by_force,
            setup,
            random,
        };
        let threads = generator.random.pick(&[1, 1, 1, 2, 2, 3]);
        let threads = (0..threads)
            .map(|thread| generator.thread(thread))
            .collect();
        Program {
            threads,
            tasks: generator.tasks,
        }
    }
}

impl Generator<'_> {
    fn number(&mut self) -> u32 {
        self.numbers += 1;
        self.numbers
    }

    fn item<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Item<T> {
        let number = self.number();
        let step = make(self);
        Item { number, step }
    }

    fn has(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }

    fn thread(&mut self, thread: usize) -> Vec<Item<Outside>> {
        let steps = 1 + self.random.below(3);
        let mut items: Vec<_> = (0..steps)
            .map(|_| self.item(|this| this.outside()))
            .collect();
        // Most bugs need a call.
        if thread == 0 && !self.random.one_in(3) {
            let place = Place::of(PoolName::Main);
            items.push(self.item(|this| Outside::Call(place.pool, this.task(place))));
        }
        items
    }

    /// Returns the pool that is called from outside.
    fn pool(&mut self) -> PoolName {
        match self.has(Kind::Call) && self.random.one_in(4) {
            true => PoolName::Other,
            false => PoolName::Main,
        }
    }

    fn outside(&mut self) -> Outside {
        let pool = self.pool();
        let place = Place::of(pool);
        let has_jobs = self.has(Kind::Job);
        match self.random.below(14) {
            0 | 1 if self.has(Kind::Spawn) => {
                let place = Place { scopes: 1, ..place };
                let count = 1 + self.random.below(4);
                let tasks = (0..count).map(|_| self.item(|this| this.task(place)));
                Outside::Finish(pool, tasks.collect())
            }
            2..=4 if has_jobs => Outside::Job {
                pool,
                in_background: self.random.one_in(3),
                task: self.task(place),
            },
            5 if has_jobs => Outside::Wait(pool),
            6 if self.has(Kind::Async) => Outside::Async {
                pool,
                polls: self.polls(),
                task: self.task(place),
            },
            7 | 8 if self.has(Kind::Future) => Outside::Future {
                pool,
                how: self.random.pick(&[How::Plain, How::Try, How::Await]),
                is_shared: self.random.one_in(2),
                task: self.task(place),
            },
            9 if self.has(Kind::Broadcast) && self.may_broadcast(pool) => Outside::Broadcast(pool),
            10 if self.random.one_in(3) => Outside::Look(pool),
            11 => Outside::Pause,
            _ => Outside::Call(pool, self.task(place)),
        }
    }

    fn polls(&mut self) -> usize {
        self.random.pick(&[1, 2, 1000, 1000, 1000])
    }

    fn is_default(&self, pool: PoolName) -> bool {
        pool == PoolName::Other || self.setup.scheduler.is_default()
    }

    /// Returns whether a task may wait for a thread outside of its pool: a spare worker takes its place. A worker that blocks
    /// so takes part in no broadcast.
    fn has_spares(&self, pool: PoolName) -> bool {
        !self.has(Kind::Broadcast) && self.has_many_spares(pool)
    }

    fn has_many_spares(&self, pool: PoolName) -> bool {
        match pool {
            PoolName::Main => {
                self.setup.main.has_many_spares() && !self.setup.scheduler.is_channel()
            }
            PoolName::Other => self.setup.other.has_many_spares(),
        }
    }

    /// Returns whether code here may spin until another worker has run a task. All other workers come to be idle, or wait
    /// for this one and hand off their processors.
    fn may_meet(&self, place: Place) -> bool {
        let options = match place.pool {
            PoolName::Main => &self.setup.main,
            PoolName::Other => &self.setup.other,
        };
        let others_wait = self.has_locks || self.has(Kind::Broadcast) || self.has(Kind::Yield);
        !(self.has_met || others_wait) && options.workers > 1 && self.has_many_spares(place.pool)
    }

    /// Returns a kind of task that another worker runs. A job waits for an idle worker: all others may be blocked and steal
    /// tiny tasks of this one, until a spare worker rescues the job.
    fn meeting(&mut self, place: Place) -> MeetKind {
        let options = match place.pool {
            PoolName::Main => &self.setup.main,
            PoolName::Other => &self.setup.other,
        };
        // With joins, a blocked worker would steal the tiny tasks of one of the two for ever, and hand off nothing.
        let may_chain = options.workers > 2 && self.has_force(place.pool) && self.meets_by_force;
        let kinds = [
            (MeetKind::Join, true),
            (MeetKind::Spawn, true),
            (MeetKind::Future, true),
            (MeetKind::Job, options.rescues_calls),
            (MeetKind::Chain, may_chain),
            (MeetKind::Chain, may_chain),
        ];
        let kinds = kinds.iter().filter(|(_, is_possible)| *is_possible);
        let kinds: Vec<_> = kinds.map(|(kind, _)| *kind).collect();
        self.random.pick(&kinds)
    }

    /// Returns whether thieves take tasks of a worker that offers none. They need `membarrier`, which a machine may refuse.
    fn has_force(&self, pool: PoolName) -> bool {
        let takes_by_force = match pool {
            PoolName::Main => self.setup.scheduler == SchedulerName::ReturnBarrier,
            PoolName::Other => true,
        };
        takes_by_force && cfg!(purloin_untimed)
    }

    fn may_broadcast(&self, pool: PoolName) -> bool {
        self.is_default(pool) && !self.has_locks
    }

    fn task(&mut self, place: Place) -> Task {
        let id = self.tasks;
        self.tasks += 1;
        self.budget = self.budget.saturating_sub(1);
        let max = if place.depth > 12 { 1 } else { self.max_steps };
        let steps = self.random.below(max + 1);
        let place = Place {
            depth: place.depth + 1,
            ..place
        };
        let steps = (0..steps).map(|_| self.item(|this| this.step(place)));
        let steps = steps.collect();
        Task { id, steps }
    }

    fn boxed(&mut self, place: Place) -> Box<Task> {
        Box::new(self.task(place))
    }

    fn step(&mut self, place: Place) -> Step {
        // A few attempts to find a kind that may stand here.
        for _ in 0..4 {
            let kind = match self.kinds.len() {
                0 => Kind::Work,
                len => self.kinds[self.random.below(len)],
            };
            if let Some(step) = self.step_of(kind, place) {
                return step;
            }
        }
        Step::Work(self.random.below(6))
    }

    fn step_of(&mut self, kind: Kind, place: Place) -> Option<Step> {
        let makes_task = !matches!(
            kind,
            Kind::Work
                | Kind::Get
                | Kind::Drop
                | Kind::Cancel
                | Kind::Broadcast
                | Kind::Yield
                | Kind::Meet
                | Kind::Panic
        );
        if makes_task && self.budget == 0 {
            return None;
        }
        let up = match place.scopes {
            0 => 0,
            _ if self.random.one_in(2) => 0,
            scopes => self.random.below(scopes),
        };
        // A task of an outer scope is in fewer scopes.
        let of_scope = Place {
            scopes: place.scopes.saturating_sub(up),
            ..place
        };
        let is_open = !place.is_locked;
        Some(match kind {
            Kind::Work => Step::Work(self.random.pick(&[1, 2, 3, 10, 40])),
            Kind::Join => self.join(place),
            Kind::Finish => Step::Finish(self.boxed(Place {
                scopes: place.scopes + 1,
                ..place
            })),
            Kind::Spawn if place.scopes > 0 => Step::Spawn {
                up,
                is_after: self.random.one_in(4),
                task: self.boxed(of_scope),
            },
            Kind::Future => self.future(place, up, of_scope),
            Kind::Get => Step::Get {
                which: self.random.below(16),
                how: self.how(place),
                catches: self.random.one_in(3),
            },
            Kind::Drop => Step::Drop(self.random.below(16)),
            Kind::Cancel if place.scopes > 0 => Step::Cancel { up },
            Kind::Loop => self.loop_of(place),
            Kind::Call if is_open => {
                let pool = self.called(place)?;
                let place = Place {
                    pool,
                    scopes: 0,
                    ..place
                };
                let task = self.boxed(place);
                Step::Call { pool, task }
            }
            Kind::Job => {
                let pool = self.called(place)?;
                Step::Job {
                    pool,
                    in_background: self.random.one_in(3),
                    task: self.boxed(place.apart(pool)),
                }
            }
            Kind::Async if is_open && self.has_spares(place.pool) => {
                let pool = self.called(place)?;
                let polls = self.polls();
                let task = self.boxed(place.apart(pool));
                Step::Async { pool, polls, task }
            }
            Kind::Blocking if is_open && self.has_spares(place.pool) => {
                Step::Blocking(self.boxed(place.apart(place.pool)))
            }
            Kind::Broadcast if self.may_broadcast(place.pool) && is_open => Step::Broadcast,
            Kind::Yield if is_open && !self.has_locks => Step::Yield,
            Kind::Meet if self.may_meet(place) => {
                self.has_met = true;
                Step::Meet {
                    kind: self.meeting(place),
                    serves: !(self.has_force(place.pool) && self.meets_by_force),
                }
            }
            Kind::Panic if self.random.one_in(2) => Step::Panic,
            Kind::Catch => Step::Catch(self.boxed(place)),
            _ => return None,
        })
    }
}

impl Place {
    fn of(pool: PoolName) -> Place {
        Place {
            pool,
            scopes: 0,
            depth: 0,
            is_locked: false,
        }
    }

    /// Returns the place of a task of this pool that belongs to nothing around the code.
    fn apart(self, pool: PoolName) -> Place {
        Place {
            depth: self.depth,
            ..Place::of(pool)
        }
    }
}
