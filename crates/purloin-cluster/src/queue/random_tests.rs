//! Random programs of one owner and its thieves. Each task must run once, and each result must
//! go to its origin.
//!
//! The owner's side is the real [`Stack`]. The thieves are simulated: they take their steps
//! (claim, copy, write the result) between the owner's operations, and also in the middle of an
//! operation, whenever the owner reads its batch word or adds to it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::{Pod, Zeroable};

use super::batch::{CLAIM, MAX_OFFERED, MAX_STEAL, claimed};
use super::layout::{BATCH_WORD, Header, Layout, Origin, SlotHandle};
use super::memory::Memory;
use super::stack::Stack;
use crate::{Random, Rank, Task};

/// A task that consists of its name.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Job {
    name: u64,
    /// The complement of the name, which reveals torn or stale tasks.
    check: u64,
}

impl Job {
    fn new(name: u64) -> Job {
        Job { name, check: !name }
    }

    fn output(self) -> [u64; 3] {
        [7, 11, 13].map(|factor| self.name * factor)
    }

    /// The time that the task pretends to take.
    fn work(self) -> u64 {
        self.name % 100
    }
}

impl Task for Job {
    /// Longer than the task, so that the result overwrites more than the task.
    type Output = [u64; 3];
    type Context = ();

    fn run<R: Rank<Self>>(self, _: R) -> Self::Output {
        unreachable!("these tests only move tasks");
    }
}

type Place = Layout<Job>;

/// The rank that owns the stack, and another rank.
const OWN: u32 = 3;
const OTHER: u32 = 5;

/// Slots of the other rank's tasks are greater than this.
const OTHER_SLOTS: u32 = 1000;

/// A theft that is under way.
enum Theft {
    /// The thief has claimed this many slots from the first on.
    Claimed(usize, usize),
    /// The thief has copied this task.
    Copied(Job, Origin),
}

struct World {
    words: Box<[AtomicU64]>,
    random: RefCell<Random>,
    thefts: RefCell<Vec<Theft>>,
    /// How often each task has run, by its name.
    runs: RefCell<Vec<u32>>,
    /// The number of the other rank's tasks that have run.
    other_ranks_runs: Cell<u32>,
    stolen: Cell<usize>,
}

impl World {
    fn new(seed: u64) -> Rc<World> {
        let words = Place::WINDOW_BYTES.div_ceil(8).min(1 << 16);
        Rc::new(World {
            words: (0..words).map(|_| AtomicU64::new(0)).collect(),
            random: RefCell::new(Random::new(seed)),
            thefts: RefCell::default(),
            runs: RefCell::default(),
            other_ranks_runs: Cell::new(0),
            stolen: Cell::new(0),
        })
    }

    fn below(&self, n: usize) -> usize {
        self.random.borrow_mut().below(n)
    }

    fn spawn(&self) -> Job {
        let mut runs = self.runs.borrow_mut();
        runs.push(0);
        Job::new(runs.len() as u64 - 1)
    }

    fn run(&self, job: Job) {
        assert_eq!(job.check, !job.name, "the slot contains no task");
        self.runs.borrow_mut()[job.name as usize] += 1;
    }

    /// Lets a random thief take its next step, or starts a new theft.
    fn step(&self) {
        let mut thefts = self.thefts.borrow_mut();
        if thefts.is_empty() || self.below(3) == 0 {
            let before = self.words[BATCH_WORD / 8].fetch_add(CLAIM, Ordering::Relaxed);
            if let Some((first, count)) = claimed(before) {
                assert!((1..=MAX_STEAL).contains(&count));
                self.stolen.set(self.stolen.get() + count);
                thefts.push(Theft::Claimed(first, count));
            }
            return;
        }
        let place = self.below(thefts.len());
        match thefts.swap_remove(place) {
            Theft::Claimed(first, count) => {
                for slot in first..first + count {
                    // SAFETY: the claimed slot is inside the window, and the test runs on one
                    // thread, so nothing else accesses it.
                    let (header, job) = unsafe {
                        let header = self.local(Place::slot(slot)).cast::<Header>();
                        let job = self.local(Place::payload(slot)).cast::<Job>();
                        (header.read(), job.read())
                    };
                    if (header.origin.rank, header.origin.slot) != (OWN, slot as u32) {
                        self.raise(slot);
                    }
                    thefts.push(Theft::Copied(job, header.origin));
                }
            }
            Theft::Copied(job, origin) => {
                self.run(job);
                self.send_back(origin, job);
            }
        }
    }

    fn raise(&self, slot: usize) {
        let before = self.words[Place::state(slot) / 8].fetch_add(1, Ordering::Relaxed);
        assert_eq!(before, 0, "slot {slot} was not stolen, or is done already");
    }

    /// Writes a result to its origin by additions.
    fn send_back(&self, origin: Origin, job: Job) {
        if origin.rank == OTHER {
            self.other_ranks_runs.set(self.other_ranks_runs.get() + 1);
            return;
        }
        let slot = origin.slot as usize;
        let before = [0, job.name, job.check, 0];
        let [a, b, c] = job.output();
        let words = self.words[Place::result(slot) / 8..].iter();
        for ((word, before), after) in words.zip(before).zip([job.work(), a, b, c]) {
            word.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
        }
        self.raise(slot);
    }

    fn local(&self, offset: usize) -> *mut u8 {
        let bytes = self.words.as_ptr().cast::<u8>();
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
        if offset == BATCH_WORD && self.below(8) == 0 {
            self.step();
        }
        &self.words[offset / 8]
    }

    fn fetch_add(&self, offset: usize, value: u64) -> u64 {
        if self.below(3) == 0 {
            self.step();
        }
        self.words[offset / 8].fetch_add(value, Ordering::Relaxed)
    }

    fn sync(&self) {}
}

struct Owner {
    world: Rc<World>,
    stack: Stack<Job, Rc<World>>,
    /// The number of tasks that the owner has stolen from the other rank.
    taken: u32,
}

impl Owner {
    /// Runs a task, which performs a random selection of the operations of tasks.
    fn run(&mut self, job: Job, depth: u32) {
        let base = self.stack.top();
        for _ in 0..self.world.below(4) {
            match self.world.below(4) {
                0 => self.stack.replenish_offer(),
                1 if depth < 6 => self.join(depth),
                2 if depth < 6 => self.spawn_some(depth),
                3 if depth < 4 => self.run_stolen_tasks(depth),
                _ => self.world.step(),
            }
        }
        assert_eq!(self.stack.top(), base, "the task has left slots in use");
        self.world.run(job);
    }

    fn push(&mut self) -> (usize, Job) {
        let job = self.world.spawn();
        let slot = self.stack.push(job, 0);
        if self.world.below(4) == 0 {
            self.stack.replenish_offer();
        }
        (slot, job)
    }

    /// Waits for a stolen task, and checks its result if it is the owner's.
    fn await_done(&mut self, slot: usize, job: Option<Job>) {
        while !self.stack.is_done(slot) {
            self.world.step();
            self.stack.replenish_offer();
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
                self.stack.free_newest(slot);
            }
        }
    }

    /// Joins, or spawns several tasks together.
    fn join(&mut self, depth: u32) {
        let max = if depth == 0 { 80 } else { 4 };
        let mut jobs: Vec<_> = (0..self.world.below(max)).map(|_| self.push()).collect();
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

    /// Reverses the order of the newest tasks, `jobs`.
    fn reverse(&mut self, jobs: &mut [(usize, Job)]) {
        let Some(&(first, _)) = jobs.first() else {
            return;
        };
        self.stack.reverse(first);
        for (slot, job) in jobs {
            let found = self.stack.task(*slot);
            // If the slot contains no task, the task was stolen and this is its result.
            if found.check == !found.name {
                *job = found;
            }
        }
    }

    /// Spawns tasks, and asks for their results in any order, or never.
    fn spawn_some(&mut self, depth: u32) {
        let base = self.stack.top();
        let mut handles: Vec<(SlotHandle, Job)> = Vec::new();
        let mut used: Vec<SlotHandle> = Vec::new();
        for _ in 0..self.world.below(5) {
            let (slot, job) = self.push();
            handles.push((self.stack.handle(slot, 0), job));
        }
        while !handles.is_empty() && self.world.below(8) > 0 {
            let place = self.world.below(handles.len());
            let (handle, job) = handles.swap_remove(place);
            assert!(self.stack.is_valid(handle));
            let slot = handle.index as usize;
            if slot + 1 == self.stack.top() && !self.stack.is_settled(slot) {
                self.stack.invalidate_handle(slot);
                self.finish_newest(slot, job, depth);
            } else {
                match self.stack.take_in_place(slot) {
                    Some(found) => {
                        assert_eq!(found.name, job.name);
                        self.run(found, depth + 1);
                    }
                    None => self.await_done(slot, Some(job)),
                }
                self.stack.release(slot);
            }
            assert!(!self.stack.is_valid(handle));
            used.push(handle);
        }
        // A slot that is used again does not make old handles valid.
        let (slot, job) = self.push();
        handles.push((self.stack.handle(slot, 0), job));
        assert!(used.iter().all(|&handle| !self.stack.is_valid(handle)));
        // The end of a task waits for all tasks that it has spawned.
        while self.stack.top() > base {
            let slot = self.stack.top() - 1;
            if self.stack.is_settled(slot) {
                self.stack.release(slot);
            } else {
                let left = handles
                    .iter()
                    .find(|(handle, _)| handle.index as usize == slot);
                let &(_, job) = left.expect("every task left has a handle");
                self.stack.invalidate_handle(slot);
                self.finish_newest(slot, job, depth);
            }
        }
    }

    /// Pushes tasks as if they were stolen from the other rank, and runs them.
    fn run_stolen_tasks(&mut self, depth: u32) {
        let base = self.stack.top();
        for _ in 0..self.world.below(6) {
            self.taken += 1;
            let origin = Origin {
                rank: OTHER,
                slot: OTHER_SLOTS + self.taken,
            };
            let job = self.world.spawn();
            self.stack.push_stolen(job, 0, origin);
        }
        while self.stack.top() > base {
            let slot = self.stack.top() - 1;
            if self.world.below(3) == 0 {
                self.stack.replenish_offer();
            }
            let origin = self.stack.origin_and_depth(slot).0;
            match self.stack.pop(slot) {
                Some(job) => {
                    self.run(job, depth + 1);
                    self.world.send_back(origin, job);
                }
                None => {
                    self.await_done(slot, None);
                    self.stack.free_newest(slot);
                }
            }
        }
    }
}

#[test]
fn every_task_runs_once_in_any_interleaving_of_owner_and_thieves() {
    let (mut tasks, mut stolen) = (0, 0);
    for seed in 0..if cfg!(miri) { 20 } else { 3000 } {
        let world = World::new(seed);
        let mut owner = Owner {
            stack: Stack::new(&world, MAX_OFFERED),
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
        assert_eq!(world.other_ranks_runs.get(), owner.taken);
        let runs = world.runs.borrow();
        assert!(runs.iter().all(|&runs| runs == 1), "seed {seed}: {runs:?}");
        tasks += runs.len();
        stolen += world.stolen.get();
    }
    // With fewer steals, the test would prove little.
    assert!(stolen > tasks / 10, "{stolen} of {tasks}");
    assert!(stolen < tasks);
}

/// Claims tasks as the only thief: the place of the first one, and their number.
fn claim(world: &World) -> Option<(usize, usize)> {
    claimed(world.words[BATCH_WORD / 8].fetch_add(CLAIM, Ordering::Relaxed))
}

/// Source: AsynchWS, section IV.B.
#[test]
fn a_thief_takes_half_of_the_papers_24_shared_tasks() {
    let world = World::new(1);
    let mut stack = Stack::<Job, _>::new(&WithoutThieves(world.clone()), 24);
    for _ in 0..100 {
        stack.push(world.spawn(), 0);
    }
    stack.replenish_offer();
    assert_eq!(claim(&world), Some((0, 12)));
}

#[test]
fn the_depths_of_ready_tasks_are_those_of_offered_and_private_tasks() {
    let world = World::new(1);
    let mut stack = Stack::<Job, _>::new(&WithoutThieves(world.clone()), 8);
    for depth in 0..12 {
        stack.push(world.spawn(), depth);
    }
    stack.replenish_offer();
    assert_eq!(claim(&world), Some((0, 4)));
    assert!(stack.pop(11).is_some() && stack.take_in_place(9).is_some());
    let depths: Vec<_> = stack.ready_depths().collect();
    assert_eq!(depths, [4, 5, 6, 7, 8, 10]);
}

#[test]
fn a_nearly_used_up_offer_is_replenished() {
    let world = World::new(1);
    let claim = || claim(&world);
    let mut stack = Stack::<Job, _>::new(&WithoutThieves(world.clone()), MAX_OFFERED);
    for _ in 0..100 {
        stack.push(world.spawn(), 0);
    }
    stack.replenish_offer();
    assert_eq!(stack.ready(), 100);
    assert_eq!(claim(), Some((0, MAX_STEAL)));
    stack.replenish_offer();
    assert_eq!(claim(), Some((MAX_STEAL, MAX_STEAL / 2)), "half was left");
    stack.replenish_offer();
    let next = MAX_STEAL + MAX_STEAL / 2;
    assert_eq!(claim(), Some((next, MAX_STEAL)), "a quarter was left");
    // The owner reclaims the newest task of the batch. The older half stays offered.
    let offered = next + MAX_OFFERED;
    for slot in (offered - 1..100).rev() {
        assert!(stack.pop(slot).is_some());
    }
    assert_eq!(claim(), Some((next + MAX_STEAL, MAX_STEAL / 4)));
}

/// The memory of a [`World`] whose thieves take no steps.
#[derive(Clone)]
struct WithoutThieves(Rc<World>);

impl Memory for WithoutThieves {
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
        &self.0.words[offset / 8]
    }

    fn fetch_add(&self, offset: usize, value: u64) -> u64 {
        self.0.words[offset / 8].fetch_add(value, Ordering::Relaxed)
    }

    fn sync(&self) {}
}
