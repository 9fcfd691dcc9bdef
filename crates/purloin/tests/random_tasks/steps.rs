//! The steps of tasks and bodies.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

use purloin::{Cancelled, Handle, SharedHandle, Spawner, Worker};

use crate::common::counted::Counted;
use crate::{
    Captures, Failed, Here, ITERATIONS, NODES, Payload, Plan, Record, STEPS, Shared, Task, WORK,
    catch, finish,
};

impl<'s, S: Spawner> Here<'s, '_, S> {
    /// Runs a nested scope.
    fn finish<W: Worker>(self, mut w: W, plan: Plan) {
        finish(&mut w, self.program, &|| self.cancel(), plan);
    }

    fn cancel(self) {
        self.record.is_cancelled.store(true, SeqCst);
        self.scope.cancel();
    }

    /// Runs the body of a scope.
    pub(crate) fn body(self, mut plan: Plan) {
        let is_graph = plan.chance(4);
        if is_graph {
            plan.depth = plan.depth.min(1);
        }
        for _ in 0..1 + plan.numbers.below(if is_graph { NODES } else { STEPS }) {
            match plan.numbers.below(8) {
                _ if is_graph && !plan.chance(10) => self.make(&mut plan),
                0 => {
                    let (left, right) = (plan.part(), plan.part());
                    self.scope
                        .join(move |w| self.steps(w, left), move |w| self.steps(w, right));
                }
                1 => self.step(&mut plan),
                2 if self.program.has_threads => self.get_outside(&mut plan),
                _ => self.make(&mut plan),
            }
        }
    }

    /// Runs the steps of a task, or of a closure of a join.
    fn steps<W: Worker>(self, mut w: W, mut plan: Plan) {
        for _ in 0..plan.numbers.below(STEPS + 1) {
            match plan.numbers.below(10) {
                0 if plan.depth > 0 => {
                    let (left, right) = (plan.part(), plan.part());
                    w.join(move |w| self.steps(w, left), move |w| self.steps(w, right));
                }
                1 if plan.depth > 0 => {
                    let plan = plan.part();
                    w.lend(|w| self.finish(w, plan));
                }
                2 => self.run_loop(&mut w, &mut plan),
                3 if plan.depth > 0 => self.future_of_no_scope(&mut w, &mut plan),
                4..=7 if plan.depth > 0 => self.make(&mut plan),
                _ => self.step(&mut plan),
            }
        }
    }

    /// Runs a step that needs no token.
    fn step(self, plan: &mut Plan) {
        match plan.numbers.below(12) {
            0 if self.program.has_cancels => self.cancel(),
            1 if self.program.has_cancels => (self.cancel_outer)(),
            2 | 3 if self.program.has_panics && plan.chance(3) => {
                Payload::Failed(Failed(self.program.number())).resume()
            }
            4..=8 => self.get(plan),
            _ => work(plan.numbers.below(WORK)),
        }
    }

    /// Makes a task, and does something with its handle.
    fn make(self, plan: &mut Plan) {
        let part = plan.part();
        let (is_spawned, is_after) = (plan.chance(3), plan.chance(2));
        let inputs = match is_after {
            true => plan.part().handles,
            false => Vec::new(),
        };
        let captures = self.captures(plan, !is_spawned, &inputs);
        let task = Arc::clone(&captures.task);
        let after = || self.scope.after(inputs.iter().map(|input| &input.handle));
        match (is_spawned, is_after) {
            (true, false) => self
                .scope
                .spawn(move |w| self.run_spawned(w, captures, part)),
            (true, true) => after().spawn(move |w| self.run_spawned(w, captures, part)),
            (false, false) if plan.chance(2) => {
                let handle = self.scope.future(move |w| self.run(w, captures, part));
                self.use_handle(handle, task, plan);
            }
            (false, _) => {
                let handle = after().shared_future(move |w| self.run(w, captures, part));
                self.keep(handle, task, plan);
            }
        }
    }

    /// Returns the captures of a new task of this scope.
    fn captures(self, plan: &mut Plan, has_handle: bool, inputs: &[Shared]) -> Captures {
        let task = Arc::new(Task {
            number: self.program.number(),
            has_handle,
            is_late: self.scope.is_cancelled(),
            inputs: inputs.iter().map(|input| Arc::clone(&input.task)).collect(),
            begins: AtomicUsize::new(0),
            has_ended: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        });
        self.record.tasks.lock().unwrap().push(Arc::clone(&task));
        let value = match self.program.has_bombs && plan.chance(10) {
            true => Counted::bomb(task.number),
            false => Counted::new(task.number),
        };
        Captures {
            task,
            scope: Arc::clone(self.record),
            program: Arc::clone(self.program),
            value: Some(value),
        }
    }

    /// Runs a task that has no handle.
    fn run_spawned<W: Worker>(self, w: W, captures: Captures, plan: Plan) {
        let result = catch(|| drop(self.run(w, captures, plan)));
        if let Err(payload) = result {
            if payload != Payload::Cancelled {
                self.record.has_failed.store(true, SeqCst);
            }
            payload.resume();
        }
    }

    /// Runs a task, and returns a result that has its number.
    fn run<W: Worker>(self, w: W, captures: Captures, plan: Plan) -> Counted {
        let (task, program) = (&captures.task, self.program);
        let number = task.number;
        let is_late = self.scope.is_cancelled();
        let begins = task.begins.fetch_add(1, SeqCst);
        program.expect(begins == 0, || format!("{number} runs twice"));
        program.expect(!task.is_late, || {
            format!("{number} runs, but was made late")
        });
        for input in &task.inputs {
            let (is_over, input) = (input.is_over.load(SeqCst), input.number);
            program.expect(is_over, || {
                format!("{number} begins before its input {input} has ended")
            });
        }
        if is_late {
            let thread = thread::current().id();
            let is_first = self.record.began_late.lock().unwrap().insert(thread);
            program.expect(is_first, || {
                format!("a thread begins {number} too, after the cancellation")
            });
        }
        if let Err(payload) = catch(|| self.steps(w, plan)) {
            self.record.keep_panic(program, payload);
            payload.resume();
        }
        task.has_ended.store(true, SeqCst);
        // Before the result: if the destructor panics, nothing drops a result that is in its place.
        drop(captures);
        Counted::new(number)
    }

    fn keep(self, handle: SharedHandle<Counted>, task: Arc<Task>, plan: &mut Plan) {
        if plan.chance(8) {
            return;
        }
        plan.handles.push(Shared {
            handle,
            task,
            scope: Arc::clone(self.record),
        });
    }

    /// Gets the result of a future, drops its handle, or shares it.
    fn use_handle(self, handle: Handle<Counted>, task: Arc<Task>, plan: &mut Plan) {
        match plan.numbers.below(4) {
            0 => drop(handle),
            1 => self.keep(handle.share(), task, plan),
            _ => {
                let get = || handle.try_get().map(|value| value.key());
                self.check_result(catch(get), &task, self.record, plan);
            }
        }
    }

    /// Gets the result of a task.
    fn get(self, plan: &mut Plan) {
        if plan.handles.is_empty() {
            return;
        }
        let chosen = plan.numbers.below(plan.handles.len() as u64) as usize;
        let Shared {
            handle,
            task,
            scope,
        } = plan.handles[chosen].clone();
        let result = match plan.numbers.below(2) {
            0 => catch(|| handle.try_get().map(Counted::key)),
            _ => match catch(|| handle.get().key()) {
                Err(Payload::Cancelled) => Ok(Err(Cancelled)),
                result => result.map(Ok),
            },
        };
        self.check_result(result, &task, &scope, plan);
    }

    /// Lets a thread outside of the pool get the result of a task.
    fn get_outside(self, plan: &mut Plan) {
        let Some(Shared {
            handle,
            task,
            scope,
        }) = plan.handles.pop()
        else {
            return;
        };
        let result = thread::scope(|threads| {
            let thread = threads.spawn(|| catch(|| handle.try_get().map(Counted::key)));
            purloin::blocking(|| thread.join().unwrap())
        });
        self.check_result(result, &task, &scope, plan);
    }

    /// Checks the result of a task of some scope. Lets some panics and cancellations continue.
    fn check_result(
        self,
        result: Result<Result<u64, Cancelled>, Payload>,
        task: &Task,
        scope: &Arc<Record>,
        plan: &mut Plan,
    ) {
        let (number, program) = (task.number, self.program);
        match result {
            Ok(Ok(key)) => {
                program.expect(key == number, || {
                    format!("{number} has the result of {key}")
                });
                let has_ended = task.has_ended.load(SeqCst);
                program.expect(has_ended, || {
                    format!("{number} has a result before its end")
                });
            }
            Ok(Err(Cancelled)) => {
                let is_cancelled = scope.is_cancelled.load(SeqCst);
                program.expect(is_cancelled, || {
                    format!("{number} is cancelled, but its scope is not")
                });
                if Arc::ptr_eq(scope, self.record) && plan.chance(4) {
                    program.end_panics();
                    Payload::Cancelled.resume();
                }
            }
            Err(payload) => {
                let panics = scope.panics.lock().unwrap();
                let is_known = match payload {
                    Payload::Shared => !panics.is_empty(),
                    _ => panics.contains(&payload),
                };
                drop(panics);
                program.expect(is_known, || format!("{number} ends with {payload:?}"));
                match plan.chance(3) {
                    true => program.end_panics(),
                    false => payload.resume(),
                }
            }
        }
    }

    /// Runs a loop, which may end its scope, panic, and spawn.
    fn run_loop<W: Worker>(self, w: &mut W, plan: &mut Plan) {
        let program = self.program;
        let count = plan.numbers.below(ITERATIONS);
        let special = plan.numbers.below(ITERATIONS);
        let (work_each, effect) = (plan.numbers.below(WORK / 4), plan.numbers.below(6));
        let part = Mutex::new(Some(plan.part()));
        let seen: Vec<_> = (0..count).map(|_| AtomicUsize::new(0)).collect();
        let was_cancelled = self.scope.is_cancelled();
        let body = |w: W::Token<'_>, i: u64| {
            seen[i as usize].fetch_add(1, SeqCst);
            work(work_each);
            if i == special {
                match effect {
                    0 if program.has_cancels => self.cancel(),
                    1 if program.has_panics => Payload::Failed(Failed(program.number())).resume(),
                    2 => {
                        let part = part.lock().unwrap().take();
                        self.steps(w, part.unwrap());
                    }
                    _ => (),
                }
            }
        };
        let result = catch(|| w.par(0..count).for_each_with_token(body));
        let is_cancelled = self.scope.is_cancelled();
        for (i, seen) in seen.iter().enumerate() {
            let seen = seen.load(SeqCst);
            program.expect(seen <= 1, || format!("iteration {i} of a loop runs twice"));
            program.expect(seen == 1 || is_cancelled || result.is_err(), || {
                format!("iteration {i} of a loop does not run")
            });
            program.expect(seen == 0 || !was_cancelled, || {
                format!("iteration {i} of a loop in a cancelled scope runs")
            });
        }
        let sum: u64 = w.par(0..count).sum();
        program.expect(sum == count * count.saturating_sub(1) / 2, || {
            "a sum is wrong".to_string()
        });
        if let Err(payload) = result {
            payload.resume();
        }
    }

    /// Makes a future that belongs to no scope of the program, and in which scopes nest.
    fn future_of_no_scope<W: Worker>(self, w: &mut W, plan: &mut Plan) {
        let (part, program) = (plan.part(), Arc::clone(self.program));
        let value = Counted::new(0);
        let future = w.future(move |mut w| {
            let result = catch(|| finish(&mut w, &program, &|| (), part));
            if let Err(payload) = result {
                program.panics.lock().unwrap().push(payload);
                program.panics_of_no_scope.lock().unwrap().push(payload);
                payload.resume();
            }
            value
        });
        if plan.chance(2) {
            w.get(future);
        }
    }
}

fn work(steps: u64) {
    (0..steps).fold(0, |x, i| std::hint::black_box(x ^ i));
}
