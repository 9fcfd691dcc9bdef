//! A random program: a tree of tasks, as data.

/// A task, or another piece of code that runs once: a closure of a join, the body of a finish.
#[derive(Debug, Clone)]
pub struct Task {
    /// Its number, from 0. No two tasks of a program have the same.
    pub id: usize,
    pub steps: Vec<Item<Step>>,
}

/// A step with its number, by which the shrinker drops it.
#[derive(Debug, Clone)]
pub struct Item<T> {
    pub number: u32,
    pub step: T,
}

/// A step of a task.
#[derive(Debug, Clone)]
pub enum Step {
    /// Accesses shared memory a few times.
    Work(usize),
    Join(JoinKind, Box<[Task; 2]>),
    /// Computes this Fibonacci number, with a join for each addition: many tiny tasks.
    Fib(u64),
    /// A scope. Its body runs here.
    Finish(Box<Task>),
    /// A task of one of the scopes around this code: `up` counts from the innermost one.
    Spawn {
        up: usize,
        is_after: bool,
        task: Box<Task>,
    },
    Future {
        kind: FutureKind,
        is_shared: bool,
        then: Then,
        task: Box<Task>,
    },
    /// Gets the result of one of the futures that this code knows.
    Get {
        which: usize,
        how: How,
        /// Whether a panic of the future ends here.
        catches: bool,
    },
    /// Drops a handle.
    Drop(usize),
    /// Cancels a scope around this code.
    Cancel {
        up: usize,
    },
    /// A loop; one of its iterations may run a task.
    Loop {
        kind: LoopKind,
        len: usize,
        special: Option<(usize, Box<Task>)>,
    },
    /// Calls a pool: this one, or the other one.
    Call {
        pool: PoolName,
        task: Box<Task>,
    },
    /// Hands a job to a pool.
    Job {
        pool: PoolName,
        in_background: bool,
        task: Box<Task>,
    },
    /// Makes a future of `run_async`, and polls it at most this often.
    Async {
        pool: PoolName,
        polls: usize,
        task: Box<Task>,
    },
    /// Hands a job to this pool, and blocks until it has run.
    Blocking(Box<Task>),
    Broadcast,
    /// Runs one job or call of this pool, if there is one.
    Yield,
    /// Makes a task, and spins until another worker has run it. If the code `serves`, it makes further joins meanwhile:
    /// without them, thieves must take the task by force.
    Meet {
        kind: MeetKind,
        serves: bool,
    },
    /// Panics.
    Panic,
    /// Runs a piece of code, and catches its panic.
    Catch(Box<Task>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    Token,
    /// Its closures do not fit in a slot.
    Big,
    /// Without a token. Only for the default scheduler.
    Free,
    /// Of the innermost scope.
    Scope,
    /// The code holds this lock across the join.
    Locked(usize),
}

/// The task that a spinning worker waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeetKind {
    Join,
    Spawn,
    Future,
    Job,
    /// The task that another worker runs makes one in turn, and waits for a third worker.
    Chain,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FutureKind {
    /// Of the code that makes it.
    Token,
    /// Of a scope around this code.
    Scoped { up: usize },
    /// Of a scope around this code, and begins after this many tasks whose shared handles the code knows.
    After { up: usize, inputs: usize },
    /// Without a token. Only for the default scheduler.
    Free,
}

/// The use of a handle that was just made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    Keep,
    /// Keeps it for the next part of this code: a closure of a join, a task.
    Give,
    Drop,
    Get(How),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Token,
    Plain,
    Try,
    /// In the second closure of a join.
    InJoin,
    /// On a thread outside of the pool, for which the worker waits.
    Thread,
    /// As an asynchronous program does.
    Await,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopKind {
    ForEach,
    MapReduce,
    Collect,
    FindFirst,
    Any,
    TryForEach,
    Until,
    Sort,
    SortUnstable,
    Bridge,
    PerWorker,
    Free,
}

/// The pools of a program: the first one has the scheduler under test, the other one the default scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolName {
    Main,
    Other,
}

/// A step of a thread outside of the pools.
#[derive(Debug, Clone)]
pub enum Outside {
    Call(PoolName, Task),
    /// A scope whose body runs on this thread, with these tasks.
    Finish(PoolName, Vec<Item<Task>>),
    Job {
        pool: PoolName,
        in_background: bool,
        task: Task,
    },
    /// Waits for all jobs.
    Wait(PoolName),
    Async {
        pool: PoolName,
        polls: usize,
        task: Task,
    },
    /// Gets a future from a call, and gets its result here.
    Future {
        pool: PoolName,
        how: How,
        is_shared: bool,
        task: Task,
    },
    Broadcast(PoolName),
    /// Reads what the pool tells about itself.
    Look(PoolName),
    Pause,
}

/// A whole program. The first thread builds the pools, and drops them.
#[derive(Debug, Clone)]
pub struct Program {
    pub threads: Vec<Vec<Item<Outside>>>,
    /// Number of tasks.
    pub tasks: usize,
}

impl Step {
    /// Returns the tasks of this step.
    pub fn tasks(&self) -> Vec<&Task> {
        use Step::*;
        match self {
            Join(_, both) => both.iter().collect(),
            Finish(task)
            | Spawn { task, .. }
            | Future { task, .. }
            | Call { task, .. }
            | Job { task, .. }
            | Async { task, .. }
            | Blocking(task)
            | Catch(task) => vec![task],
            Loop { special, .. } => special.iter().map(|(_, task)| &**task).collect(),
            Work(_)
            | Fib(_)
            | Get { .. }
            | Drop(_)
            | Cancel { .. }
            | Broadcast
            | Yield
            | Meet { .. }
            | Panic => vec![],
        }
    }

    fn tasks_mut(&mut self) -> Vec<&mut Task> {
        use Step::*;
        match self {
            Join(_, both) => both.iter_mut().collect(),
            Finish(task)
            | Spawn { task, .. }
            | Future { task, .. }
            | Call { task, .. }
            | Job { task, .. }
            | Async { task, .. }
            | Blocking(task)
            | Catch(task) => vec![task],
            Loop { special, .. } => special.iter_mut().map(|(_, task)| &mut **task).collect(),
            Work(_)
            | Fib(_)
            | Get { .. }
            | Drop(_)
            | Cancel { .. }
            | Broadcast
            | Yield
            | Meet { .. }
            | Panic => vec![],
        }
    }
}

impl Task {
    /// Drops the steps whose numbers are not kept.
    fn retain(&mut self, keeps: &impl Fn(u32) -> bool) {
        self.steps.retain(|item| keeps(item.number));
        for item in &mut self.steps {
            item.step
                .tasks_mut()
                .into_iter()
                .for_each(|task| task.retain(keeps));
        }
    }

    /// Calls `f` for this task and for all tasks in it.
    pub fn for_each<'p>(&'p self, f: &mut impl FnMut(&'p Task)) {
        f(self);
        for item in &self.steps {
            item.step
                .tasks()
                .into_iter()
                .for_each(|task| task.for_each(f));
        }
    }
}

impl Outside {
    /// Returns the tasks of this step.
    pub fn tasks(&self) -> Vec<&Task> {
        use Outside::*;
        match self {
            Call(_, task) | Job { task, .. } | Async { task, .. } | Future { task, .. } => {
                vec![task]
            }
            Finish(_, tasks) => tasks.iter().map(|item| &item.step).collect(),
            Wait(_) | Broadcast(_) | Look(_) | Pause => vec![],
        }
    }
}

impl Program {
    /// Drops the steps whose numbers are not kept.
    pub fn retain(&mut self, keeps: &impl Fn(u32) -> bool) {
        for thread in &mut self.threads {
            thread.retain(|item| keeps(item.number));
            for item in thread {
                use Outside::*;
                match &mut item.step {
                    Call(_, task) | Job { task, .. } | Async { task, .. } | Future { task, .. } => {
                        task.retain(keeps);
                    }
                    Finish(_, tasks) => {
                        tasks.retain(|item| keeps(item.number));
                        tasks.iter_mut().for_each(|item| item.step.retain(keeps));
                    }
                    Wait(_) | Broadcast(_) | Look(_) | Pause => (),
                }
            }
        }
    }

    /// Drops the step in which a worker waits for another one.
    pub fn drop_meetings(&mut self) {
        let mut meetings = Vec::new();
        for item in self.threads.iter().flatten() {
            for task in item.step.tasks() {
                task.for_each(&mut |task| {
                    let steps = task.steps.iter();
                    let met = steps.filter(|item| matches!(item.step, Step::Meet { .. }));
                    meetings.extend(met.map(|item| item.number));
                });
            }
        }
        self.retain(&|number| !meetings.contains(&number));
    }

    /// Returns the numbers of all steps, a step before those within it.
    pub fn numbers(&self) -> Vec<u32> {
        let mut numbers = Vec::new();
        for item in self.threads.iter().flatten() {
            numbers.push(item.number);
            if let Outside::Finish(_, tasks) = &item.step {
                numbers.extend(tasks.iter().map(|item| item.number));
            }
            for task in item.step.tasks() {
                task.for_each(&mut |task| {
                    numbers.extend(task.steps.iter().map(|item| item.number));
                });
            }
        }
        numbers
    }
}
