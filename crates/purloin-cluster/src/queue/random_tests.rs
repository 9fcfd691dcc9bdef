//! Random owners and thieves: whatever both do, every task is run once, and every
//! result goes where it belongs.
//!
//! The owner is the real one; thieves take their steps (claim, copy, result) in between, also
//! in the midst of what the owner does, whenever it looks at its word or adds to it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::{Pod, Zeroable};

use super::layout::{Head, Layout, Origin, SHARE, Slot};
use super::share::{CLAIM, MOST, MOST_OFFERED, claimed};
use super::stack::{Memory, Stack};
use crate::{Rank, Task};

/// A task that only has a name.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Job {
    name: u64,
    /// So that torn or stale ones are noticed.
    check: u64,
}

impl Job {
    fn new(name: u64) -> Job {
        Job { name, check: !name }
    }

    fn output(self) -> [u64; 3] {
        [7, 11, 13].map(|factor| self.name * factor)
    }

    /// What it has taken.
    fn work(self) -> u64 {
        self.name % 100
    }
}

impl Task for Job {
    /// Longer than the task, so that there is more to be written than was there.
    type Output = [u64; 3];
    type Context = ();

    fn run<R: Rank<Self>>(self, _: R) -> Self::Output {
        unreachable!("they are only moved about");
    }
}

type Place = Layout<Job>;

/// The rank whose stack it is, and another one.
const OWN: u32 = 3;
const OTHER: u32 = 5;

/// Where the other rank's tasks that were stolen were spawned, more or less.
const FAR: u32 = 1000;

/// What a thief has under way.
enum Theft {
    Claimed(usize, usize),
    Copied(Job, Origin),
}

struct World {
    bytes: Box<[AtomicU64]>,
    random: Cell<u64>,
    thefts: RefCell<Vec<Theft>>,
    /// How often each task was run.
    runs: RefCell<Vec<u32>>,
    /// Tasks of the other rank's that were run.
    far: Cell<u32>,
    stolen: Cell<usize>,
}

impl World {
    fn new(seed: u64) -> Rc<World> {
        let words = Place::WINDOW.div_ceil(8).min(1 << 16);
        Rc::new(World {
            bytes: (0..words).map(|_| AtomicU64::new(0)).collect(),
            random: Cell::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            thefts: RefCell::default(),
            runs: RefCell::default(),
            far: Cell::new(0),
            stolen: Cell::new(0),
        })
    }

    fn below(&self, n: u64) -> u64 {
        let mut random = self.random.get();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        self.random.set(random);
        (random >> 32) % n
    }

    fn spawn(&self) -> Job {
        let mut runs = self.runs.borrow_mut();
        runs.push(0);
        Job::new(runs.len() as u64 - 1)
    }

    fn run(&self, job: Job) {
        assert_eq!(job.check, !job.name, "no task lies there");
        self.runs.borrow_mut()[job.name as usize] += 1;
    }

    /// A thief takes a step, if there is one to take.
    fn step(&self) {
        let mut thefts = self.thefts.borrow_mut();
        if thefts.is_empty() || self.below(3) == 0 {
            let before = self.bytes[SHARE / 8].fetch_add(CLAIM, Ordering::Relaxed);
            if let Some((first, count)) = claimed(before) {
                assert!((1..=MOST).contains(&count));
                self.stolen.set(self.stolen.get() + count);
                thefts.push(Theft::Claimed(first, count));
            }
            return;
        }
        let place = self.below(thefts.len() as u64) as usize;
        match thefts.swap_remove(place) {
            Theft::Claimed(first, count) => {
                for slot in first..first + count {
                    // SAFETY: it is in the window, and whole words.
                    let (head, job) = unsafe {
                        let head = self.local(Place::slot(slot)).cast::<Head>();
                        let job = self.local(Place::payload(slot)).cast::<Job>();
                        (head.read(), job.read())
                    };
                    if (head.origin.rank, head.origin.slot) != (OWN, slot as u32) {
                        self.raise(slot);
                    }
                    thefts.push(Theft::Copied(job, head.origin));
                }
            }
            Theft::Copied(job, origin) => {
                self.run(job);
                self.deliver(origin, job);
            }
        }
    }

    fn raise(&self, slot: usize) {
        let before = self.bytes[Place::state(slot) / 8].fetch_add(1, Ordering::Relaxed);
        assert_eq!(before, 0, "slot {slot} is no thief's");
    }

    /// Writes a result to where it belongs, by additions.
    fn deliver(&self, origin: Origin, job: Job) {
        if origin.rank == OTHER {
            self.far.set(self.far.get() + 1);
            return;
        }
        let slot = origin.slot as usize;
        let before = [0, job.name, job.check, 0];
        let [a, b, c] = job.output();
        let words = self.bytes[Place::work(slot) / 8..].iter();
        for ((word, before), after) in words.zip(before).zip([job.work(), a, b, c]) {
            word.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
        }
        self.raise(slot);
    }

    fn local(&self, offset: usize) -> *mut u8 {
        let bytes = self.bytes.as_ptr().cast::<u8>();
        bytes.cast_mut().wrapping_add(offset)
    }
}

impl Memory for Rc<World> {
    fn rank(&self) -> usize {
        OWN as usize
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn local(&self, offset: usize) -> *mut u8 {
        World::local(self, offset)
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        if offset == SHARE && self.below(8) == 0 {
            self.step();
        }
        &self.bytes[offset / 8]
    }

    fn fetch_add(&self, offset: usize, value: u64) -> u64 {
        if self.below(3) == 0 {
            self.step();
        }
        self.bytes[offset / 8].fetch_add(value, Ordering::Relaxed)
    }

    fn sync(&self) {}
}

struct Owner {
    world: Rc<World>,
    stack: Stack<Job, Rc<World>>,
    /// Tasks that were taken from the other rank.
    taken: u32,
}

impl Owner {
    /// Runs a task that may do anything that tasks do.
    fn run(&mut self, job: Job, depth: u32) {
        let base = self.stack.top();
        for _ in 0..self.world.below(4) {
            match self.world.below(4) {
                0 => self.stack.share(),
                1 if depth < 6 => self.join(depth),
                2 if depth < 6 => self.spawn_some(depth),
                3 if depth < 4 => self.run_prey(depth),
                _ => self.world.step(),
            }
        }
        assert_eq!(self.stack.top(), base, "a task leaves nothing behind");
        self.world.run(job);
    }

    fn push(&mut self) -> (usize, Job) {
        let job = self.world.spawn();
        let slot = self.stack.push(job, 0);
        if self.world.below(4) == 0 {
            self.stack.share();
        }
        (slot, job)
    }

    /// Waits for a stolen task, and looks at its result.
    fn await_done(&mut self, slot: usize, job: Option<Job>) {
        while !self.stack.is_done(slot) {
            self.world.step();
            self.stack.share();
        }
        if let Some(job) = job {
            assert_eq!(self.stack.output(slot), (job.output(), job.work()));
        }
    }

    fn finish_newest(&mut self, slot: usize, job: Job, depth: u32) {
        match self.stack.pop(slot) {
            Some(found) => {
                assert_eq!(found.name, job.name);
                self.run(found, depth + 1);
            }
            None => {
                self.await_done(slot, Some(job));
                self.stack.release(slot);
            }
        }
    }

    /// Joins, and tasks that were spawned together.
    fn join(&mut self, depth: u32) {
        let most = if depth == 0 { 80 } else { 4 };
        let mut jobs: Vec<_> = (0..self.world.below(most)).map(|_| self.push()).collect();
        if self.world.below(2) == 0 {
            self.reverse(&mut jobs);
        }
        if self.world.below(2) == 0 {
            let first = self.world.spawn();
            self.run(first, depth + 1);
        }
        for (slot, job) in jobs.into_iter().rev() {
            self.finish_newest(slot, job, depth);
        }
    }

    /// Turns around the order of the newest tasks.
    fn reverse(&mut self, jobs: &mut [(usize, Job)]) {
        let Some(&(first, _)) = jobs.first() else {
            return;
        };
        self.stack.reverse(first);
        for (slot, job) in jobs {
            let found = self.stack.task(*slot);
            // Otherwise it is stolen, and its result lies there.
            if found.check == !found.name {
                *job = found;
            }
        }
    }

    /// Tasks whose results are asked for in any order, or not at all.
    fn spawn_some(&mut self, depth: u32) {
        let base = self.stack.top();
        let mut promises: Vec<(Slot, Job)> = Vec::new();
        let mut old: Vec<Slot> = Vec::new();
        for _ in 0..self.world.below(5) {
            let (slot, job) = self.push();
            promises.push((self.stack.promise(slot, 0), job));
        }
        while !promises.is_empty() && self.world.below(8) > 0 {
            let place = self.world.below(promises.len() as u64) as usize;
            let (promise, job) = promises.swap_remove(place);
            assert!(self.stack.has(promise));
            let slot = promise.index as usize;
            if slot + 1 == self.stack.top() && !self.stack.is_settled(slot) {
                self.stack.forget(slot);
                self.finish_newest(slot, job, depth);
            } else {
                match self.stack.take(slot) {
                    Some(found) => {
                        assert_eq!(found.name, job.name);
                        self.run(found, depth + 1);
                    }
                    None => self.await_done(slot, Some(job)),
                }
                self.stack.let_go(slot);
            }
            assert!(!self.stack.has(promise));
            old.push(promise);
        }
        // In a slot that is used again there is another promise.
        let (slot, job) = self.push();
        promises.push((self.stack.promise(slot, 0), job));
        assert!(old.iter().all(|&promise| !self.stack.has(promise)));
        // As at the end of a task.
        while self.stack.top() > base {
            let slot = self.stack.top() - 1;
            if self.stack.is_settled(slot) {
                self.stack.let_go(slot);
            } else {
                let left = promises
                    .iter()
                    .find(|(promise, _)| promise.index as usize == slot);
                let &(_, job) = left.expect("nothing else is left");
                self.stack.forget(slot);
                self.finish_newest(slot, job, depth);
            }
        }
    }

    /// Tasks that were stolen from the other rank.
    fn run_prey(&mut self, depth: u32) {
        let base = self.stack.top();
        for _ in 0..self.world.below(6) {
            self.taken += 1;
            let origin = Origin {
                rank: OTHER,
                slot: FAR + self.taken,
            };
            let job = self.world.spawn();
            self.stack.push_from(job, 0, origin);
        }
        while self.stack.top() > base {
            let slot = self.stack.top() - 1;
            if self.world.below(3) == 0 {
                self.stack.share();
            }
            let origin = self.stack.head(slot).0;
            match self.stack.pop(slot) {
                Some(job) => {
                    self.run(job, depth + 1);
                    self.world.deliver(origin, job);
                }
                None => {
                    self.await_done(slot, None);
                    self.stack.release(slot);
                }
            }
        }
    }
}

#[test]
fn every_task_is_run_once_whatever_owner_and_thieves_do() {
    let (mut tasks, mut stolen) = (0, 0);
    for seed in 0..if cfg!(miri) { 20 } else { 3000 } {
        let world = World::new(seed);
        let mut owner = Owner {
            stack: Stack::new(&world),
            world: world.clone(),
            taken: 0,
        };
        for _ in 0..4 {
            let job = world.spawn();
            owner.run(job, 0);
        }
        while !world.thefts.borrow().is_empty() {
            world.step();
        }
        assert_eq!(owner.stack.top(), 0);
        assert_eq!(world.far.get(), owner.taken);
        let runs = world.runs.borrow();
        assert!(runs.iter().all(|&runs| runs == 1), "seed {seed}: {runs:?}");
        tasks += runs.len();
        stolen += world.stolen.get();
    }
    // Otherwise this shows nothing.
    assert!(stolen > tasks / 10, "{stolen} of {tasks}");
    assert!(stolen < tasks);
}

#[test]
fn a_batch_of_which_little_is_left_is_renewed() {
    let world = World::new(1);
    // No thief but this one.
    let claim = || claimed(world.bytes[SHARE / 8].fetch_add(CLAIM, Ordering::Relaxed));
    let mut stack = Stack::<Job, _>::new(&Quiet(world.clone()));
    for _ in 0..100 {
        stack.push(world.spawn(), 0);
    }
    stack.share();
    assert_eq!(stack.ready(), 100);
    assert_eq!(claim(), Some((0, MOST)));
    stack.share();
    assert_eq!(claim(), Some((MOST, MOST / 2)), "half is left");
    stack.share();
    let next = MOST + MOST / 2;
    assert_eq!(claim(), Some((next, MOST)), "a quarter is left, of many");
    // The newest of those that are offered is taken back; older ones stay in others' reach.
    let offered = next + MOST_OFFERED;
    for slot in (offered - 1..100).rev() {
        assert!(stack.pop(slot).is_some());
    }
    assert_eq!(claim(), Some((next + MOST, MOST / 4)));
}

/// The same without thieves.
#[derive(Clone)]
struct Quiet(Rc<World>);

impl Memory for Quiet {
    fn rank(&self) -> usize {
        OWN as usize
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn local(&self, offset: usize) -> *mut u8 {
        World::local(&self.0, offset)
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        &self.0.bytes[offset / 8]
    }

    fn fetch_add(&self, offset: usize, value: u64) -> u64 {
        self.0.bytes[offset / 8].fetch_add(value, Ordering::Relaxed)
    }

    fn sync(&self) {}
}
