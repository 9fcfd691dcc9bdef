//! The state of a worker, [`Worker`], and the tasks that were spawned and not joined, [`Tasks`].

use std::collections::VecDeque;
use std::hint::black_box;

use purloin::scheduler::SetRound;
use purloin_schedulers::Adaptive;

use crate::Time;

/// A number that is not the number of any worker, task or future.
pub const NONE: u32 = u32::MAX;

/// An activation of a task or function.
#[derive(Clone, Debug)]
pub struct Frame<A> {
    pub activation: A,
    /// The task that ends with this frame, if another frame may wait for it.
    pub task: TaskId,
    /// Number of tasks that the frame has spawned and not joined.
    pub children: u32,
    /// Number of spawns between the root of the program and this frame.
    pub level: u32,
    pub waits: Wait,
}

/// The event for which a frame waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    Nothing,
    /// The newest task that the frame has spawned.
    NewestChild,
    /// The future of this number, which another worker runs.
    Future(u32),
}

/// The state of a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// The worker runs its frames.
    Busy,
    /// The worker has its core, but nothing to run.
    Idle,
    /// Another worker of the same core has the core.
    Parked,
}

/// The state of a steal attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attempt {
    /// The worker does not try to steal.
    Nothing,
    /// The thief samples victims. `left` samples remain. `best` is the victim whose oldest task has
    /// the lowest level so far, which is `level`.
    Sampling { left: u32, best: u32, level: u32 },
    /// The thief looks whether its victim has a task.
    Looking,
    /// The thief takes tasks from its victim, or waits for those that it has taken.
    Stealing,
    /// The thief makes one attempt after another, simulated in aggregate with other thieves.
    Aggregate,
    /// The thief has sent a steal request, which may be forwarded `left` more times.
    Requesting { left: u32 },
}

/// A worker: a stack of activations, and a stack of the tasks that they have spawned.
///
/// As in a direct task stack, the tasks are in the order in which they were pushed, and thieves
/// take the oldest ones.
///
/// The first cache line has all fields that a failed steal attempt needs. With a million cores,
/// each access to another line is a cache miss.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Worker<A> {
    pub core: u32,
    /// The victim that the worker looks at or steals from.
    pub victim: u32,
    pub attempt: Attempt,
    pub state: State,
    /// Whether the worker is not busy, and the task that it waits for has ended.
    pub can_resume: bool,
    pub walk: Walk,
    /// The time for spawning and joining tasks, and for steals from this worker, that the worker still has to
    /// spend.
    pub overhead: Time,
    /// The index of the oldest of `tasks` that is not stolen.
    pub bottom: usize,
    pub frames: Vec<Frame<A>>,
    /// The tasks that the worker has spawned and not joined.
    pub tasks: Vec<TaskId>,
    /// The stolen tasks that the worker runs, the innermost last, under the policy `pending`.
    pub bases: Vec<Base>,
    /// The worker's decision under the policy `adaptive`.
    pub adaptive: Adaptive,
    /// Stolen tasks that the worker has not started, oldest first. Thieves may steal them in turn.
    pub stolen: VecDeque<TaskId>,
    /// Stolen tasks that have not arrived yet.
    pub arriving: Vec<TaskId>,
    /// The thieves whose steal requests have arrived while the worker worked.
    pub requests: Vec<u32>,
}

/// A stolen task that a worker runs.
#[derive(Clone, Copy, Debug)]
pub struct Base {
    level: u32,
    /// Number of frames below that of the task.
    frames: u32,
    /// Number of tasks that the worker had spawned and not joined when it began this one.
    tasks: u32,
}

/// A thief's place in its search, and in its victim set.
#[derive(Clone, Copy, Debug, Default)]
pub struct Walk {
    /// Whether the thief has made an attempt since it was last busy.
    pub is_searching: bool,
    /// The first member of the set.
    pub start: u32,
    /// The distance from one member to the next.
    pub stride: u32,
    pub round: SetRound,
}

impl<A> Worker<A> {
    pub fn new(core: u32) -> Self {
        Worker {
            core,
            victim: NONE,
            attempt: Attempt::Nothing,
            state: State::Idle,
            can_resume: false,
            walk: Walk::default(),
            overhead: Time::ZERO,
            bottom: 0,
            frames: Vec::new(),
            tasks: Vec::new(),
            bases: Vec::new(),
            adaptive: Adaptive::default(),
            stolen: VecDeque::new(),
            arriving: Vec::new(),
            requests: Vec::new(),
        }
    }

    /// Loads the state that the worker's next event needs into the processor's caches. Otherwise
    /// one cache miss after the other would take as long as the rest of the simulation.
    pub fn prefetch(&self, tasks: &Tasks<A>) {
        let newest = self.tasks.last().map(|&task| tasks.get(task).level);
        let level = self.frames.last().map(|frame| frame.level);
        black_box((newest, level));
    }

    /// Returns whether the top frame waits for this task, which the worker has spawned.
    pub fn awaits(&self, task: TaskId) -> bool {
        let waits = self.frames.last().map(|frame| frame.waits);
        waits == Some(Wait::NewestChild) && self.tasks.last() == Some(&task)
    }

    /// Notes that the worker is about to push the frame of a stolen task.
    pub fn begin_stolen(&mut self, level: u32) {
        let (frames, tasks) = (self.frames.len() as u32, self.tasks.len() as u32);
        self.bases.push(Base {
            level,
            frames,
            tasks,
        });
    }

    /// Notes that the worker has popped a frame.
    pub fn end_frame(&mut self) {
        let frames = self.frames.len() as u32;
        self.bases.pop_if(|base| base.frames == frames);
    }

    /// Returns the level of a task that the worker is about to spawn, as the library counts: that of
    /// the stolen task that it runs, plus the number of its tasks that are not joined.
    pub fn pending_level(&self) -> u32 {
        let (level, below) = self.bases.last().map_or((0, 0), |b| (b.level, b.tasks));
        level + 1 + self.tasks.len() as u32 - below
    }

    /// Returns the number of tasks that thieves can steal.
    pub fn ready(&self) -> usize {
        self.tasks.len() - self.bottom + self.stolen.len()
    }

    /// Returns the oldest task that thieves can steal.
    pub fn oldest(&self) -> Option<TaskId> {
        self.tasks.get(self.bottom).or(self.stolen.front()).copied()
    }

    /// Takes the oldest task that thieves can steal.
    pub fn take_oldest(&mut self) -> Option<TaskId> {
        match self.tasks.get(self.bottom) {
            Some(&task) => {
                self.bottom += 1;
                Some(task)
            }
            None => self.stolen.pop_front(),
        }
    }

    /// Returns whether the newest task is not stolen.
    pub fn has_newest(&self) -> bool {
        self.bottom < self.tasks.len()
    }

    /// Pops the newest task.
    pub fn pop_newest(&mut self) {
        self.tasks.pop();
        self.bottom = self.bottom.min(self.tasks.len());
    }
}

/// The number of a task that is not joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskId(pub u32);

impl TaskId {
    /// No task.
    pub const NONE: TaskId = TaskId(u32::MAX);
}

/// A task that is not joined.
#[derive(Clone, Debug)]
pub struct Task<A> {
    /// The first activation of the task. `None` after the task has started.
    pub activation: Option<A>,
    /// The worker that has spawned the task and waits for its end, or [`NONE`].
    pub owner: u32,
    /// The worker that runs the task, if it was stolen.
    pub thief: u32,
    pub level: u32,
    /// The number of the future, if another frame may get it by that number.
    pub future: u32,
    pub is_done: bool,
}

/// All tasks that are not joined.
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

    /// Removes a task that is joined. Its id may be reused.
    pub fn free(&mut self, id: TaskId) {
        self.free.push(id.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The library's `Remote::depth_of`: the depth of the stolen task, one more, and the place in the
    /// stack above it.
    #[test]
    fn pending_tasks_are_counted_as_in_the_library() {
        let mut worker = Worker::<()>::new(0);
        let frame = || Frame {
            activation: (),
            task: TaskId::NONE,
            children: 0,
            level: 0,
            waits: Wait::Nothing,
        };
        worker.frames.push(frame());
        assert_eq!(worker.pending_level(), 1);
        worker.tasks.extend([TaskId(0), TaskId(1)]);
        // The first closure of the second join.
        assert_eq!(worker.pending_level(), 3);
        worker.pop_newest();
        // The second closure, which is no longer in the stack.
        assert_eq!(worker.pending_level(), 2);
        worker.begin_stolen(7);
        worker.frames.push(frame());
        assert_eq!(worker.pending_level(), 8);
        worker.tasks.push(TaskId(2));
        assert_eq!(worker.pending_level(), 9);
        worker.pop_newest();
        worker.frames.push(frame());
        worker.frames.pop();
        worker.end_frame();
        assert_eq!(worker.pending_level(), 8, "the stolen task goes on");
        worker.frames.pop();
        worker.end_frame();
        assert_eq!(worker.pending_level(), 2);
    }
}
