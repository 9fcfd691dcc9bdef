//! A worker's state, [`Worker`], and tasks that were spawned and not joined, [`Tasks`].

use std::collections::VecDeque;
use std::hint::black_box;

use crate::Time;

/// A number that no worker and no task has.
pub const NONE: u32 = u32::MAX;

/// An activation of a task or function.
#[derive(Clone, Debug)]
pub struct Frame<A> {
    pub activation: A,
    /// The task that has ended when this has, if anybody waits for it.
    pub task: TaskId,
    /// Tasks that it has spawned and not waited for.
    pub children: u32,
    /// How many spawns it is away from the program's beginning.
    pub level: u32,
    pub waits: Wait,
}

/// What a frame waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    Nothing,
    /// Its newest child.
    Newest,
    /// The future of this number, which another worker runs.
    Future(u32),
}

/// What a worker is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It works.
    Busy,
    /// It has nothing to run.
    Dry,
    /// Its core belongs to another worker of this core.
    Parked,
}

/// How far an attempt to steal is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attempt {
    /// There is none.
    Nothing,
    /// It samples: so many are left, and the best victim so far has its oldest task on this
    /// level.
    Sampling { left: u32, best: u32, level: u32 },
    /// It reaches for this worker's tasks.
    Reaching,
    /// It tries again and again, with all others.
    Crowd,
    /// It has asked, and so many others may still be asked.
    Asking { left: u32 },
}

/// A stack of activations, and of the tasks that these have spawned.
///
/// As in a direct task stack, tasks lie in the order in which they were pushed, and those that
/// are stolen are the oldest ones.
///
/// What a thief needs as long as it gets nothing is in the first cache line: with a million
/// cores, each line is a cache miss.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Worker<A> {
    pub core: u32,
    /// Whom it steals from, or looks at.
    pub victim: u32,
    pub attempt: Attempt,
    pub state: State,
    /// It is not busy, and what it waits for is done.
    pub is_able: bool,
    pub walk: Walk,
    /// What it has to do for tasks before it goes on.
    pub overhead: Time,
    /// The first of its tasks that is not stolen.
    pub bottom: usize,
    pub frames: Vec<Frame<A>>,
    /// All tasks that it has spawned and not joined.
    pub tasks: Vec<TaskId>,
    pub pace: Pace,
    /// What it has stolen and not begun, oldest first. Others may steal it in turn.
    pub loot: VecDeque<TaskId>,
    /// What it has stolen and is on its way.
    pub arriving: Vec<TaskId>,
    /// Those who have asked it while it worked.
    pub mail: Vec<u32>,
}

/// How a thief goes through its victims.
#[derive(Clone, Copy, Debug, Default)]
pub struct Walk {
    /// Where its set begins, and the way from one member to the next.
    pub start: u32,
    pub stride: u32,
    /// How many members have been asked, and how many of these were thieves.
    pub asked: u32,
    pub thieves: u32,
    /// Attempts in vain since the last good one.
    pub failures: u32,
}

/// What came out of the last steals.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    pub steals: u32,
    pub tasks: u32,
    pub takes_half: bool,
}

impl<A> Worker<A> {
    pub fn new(core: u32) -> Self {
        Worker {
            core,
            victim: NONE,
            attempt: Attempt::Nothing,
            state: State::Dry,
            is_able: false,
            walk: Walk::default(),
            overhead: Time::ZERO,
            bottom: 0,
            frames: Vec::new(),
            tasks: Vec::new(),
            pace: Pace::default(),
            loot: VecDeque::new(),
            arriving: Vec::new(),
            mail: Vec::new(),
        }
    }

    /// Brings what will be needed of it into the processor's caches: one cache miss after the
    /// other would take as long as all else.
    pub fn prefetch(&self, tasks: &Tasks<A>) {
        let newest = self.tasks.last().map(|&task| tasks.get(task).level);
        let level = self.frames.last().map(|frame| frame.level);
        black_box((newest, level));
    }

    /// Whether it waits for this task of its own.
    pub fn awaits(&self, task: TaskId) -> bool {
        let waits = self.frames.last().map(|frame| frame.waits);
        waits == Some(Wait::Newest) && self.tasks.last() == Some(&task)
    }

    /// How many tasks there are to be stolen.
    pub fn ready(&self) -> usize {
        self.tasks.len() - self.bottom + self.loot.len()
    }

    /// The oldest task that there is to be stolen.
    pub fn oldest(&self) -> Option<TaskId> {
        self.tasks.get(self.bottom).or(self.loot.front()).copied()
    }

    /// Takes that one.
    pub fn take_oldest(&mut self) -> Option<TaskId> {
        match self.tasks.get(self.bottom) {
            Some(&task) => {
                self.bottom += 1;
                Some(task)
            }
            None => self.loot.pop_front(),
        }
    }

    /// Whether the newest task is not stolen.
    pub fn has_newest(&self) -> bool {
        self.bottom < self.tasks.len()
    }

    /// Takes the newest task off.
    pub fn pop_newest(&mut self) {
        self.tasks.pop();
        self.bottom = self.bottom.min(self.tasks.len());
    }
}

/// A task that is not joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskId(pub u32);

impl TaskId {
    /// No task.
    pub const NONE: TaskId = TaskId(u32::MAX);
}

/// What is known about a task.
#[derive(Clone, Debug)]
pub struct Task<A> {
    /// How it begins. `None` when it has.
    pub activation: Option<A>,
    /// Who has spawned it. Nobody is to be told of its end, if that is [`NONE`].
    pub owner: u32,
    /// Who runs it, if it was stolen.
    pub thief: u32,
    pub level: u32,
    /// Its number, if it is a future that is got by that.
    pub future: u32,
    pub is_done: bool,
}

/// All of them.
#[derive(Debug)]
pub struct Tasks<A> {
    tasks: Vec<Task<A>>,
    free: Vec<u32>,
}

impl<A> Task<A> {
    pub fn is_future(&self) -> bool {
        self.future != NONE
    }
}

impl<A> Tasks<A> {
    pub fn new() -> Self {
        Tasks {
            tasks: Vec::new(),
            free: Vec::new(),
        }
    }

    pub fn add(&mut self, task: Task<A>) -> TaskId {
        match self.free.pop() {
            Some(place) => {
                self.tasks[place as usize] = task;
                TaskId(place)
            }
            None => {
                self.tasks.push(task);
                TaskId(self.tasks.len() as u32 - 1)
            }
        }
    }

    pub fn get(&self, id: TaskId) -> &Task<A> {
        &self.tasks[id.0 as usize]
    }

    pub fn get_mut(&mut self, id: TaskId) -> &mut Task<A> {
        &mut self.tasks[id.0 as usize]
    }

    /// It is joined.
    pub fn free(&mut self, id: TaskId) {
        self.free.push(id.0);
    }
}
