//! Tasks that were spawned and not joined: [`Tasks`].

use super::worker::NONE;

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
