//! Work and span of a program, computed from its strands.

use super::mark::Mark;
use std::collections::HashMap;

/// Number of costs of a steal that are evaluated side by side.
pub(crate) const COSTS: usize = 2;

/// Ticks since the program's beginning, for each cost of a steal.
type Times = [f64; COSTS];

/// Work and spans, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Size {
    pub work: f64,
    /// The span for each cost of a steal.
    pub spans: Times,
}

/// Computes the work and the span of a program from its strands, in the order of its serial
/// elision. It follows the time at which each strand would end if there were a worker for each
/// task.
///
/// A join of *a* and *b* spans min(*a* + *b*, max(*a*, *b*) + cost), because no thief should steal
/// *b* if running it costs less than the steal. A spawned task is joined in the same way with the
/// rest of the frame that has spawned it. The task of a future is joined with the strands between
/// its beginning and the fetch of its result; if the result is never fetched, with the rest of the
/// frame.
///
/// A task of a scope further out belongs to a frame there. That frame ends after the task. If the task is the last to
/// end, and no frame has fetched its result, the frame also pays for a steal.
///
/// Source: Wool, section 5.1 (Table 1).
pub(crate) struct Evaluator {
    costs: Times,
    work: f64,
    now: Times,
    /// For each open join, the time when it began and, after its first closure, the time when that
    /// closure ended. For each open finish or task, the time when it began.
    enclosing: Vec<Times>,
    /// The spawns and futures so far of each open frame.
    children: Vec<Child>,
    /// The open frames, outermost first.
    frames: Vec<Frame>,
    /// The futures among `children`: their numbers, in ascending order, and their indices.
    made: Vec<(u32, usize)>,
    /// The places of the futures that frames further out wait for: the index of the frame, and that in
    /// [`Frame::left_behind`].
    left_behind: HashMap<u32, (usize, usize)>,
    /// Number of futures so far. Futures are numbered in the order in which they are made.
    futures: u32,
    /// The numbers of the futures whose tasks have not ended.
    open: Vec<u32>,
    /// How many frames do not wait for each task of a scope further out that has not ended, and 0 for all other tasks.
    skipped: Vec<u32>,
    tasks: u64,
    splits: u64,
}

/// A closure of a join, the body of a finish, or a task.
#[derive(Default)]
struct Frame {
    /// The index in `children` of its first child.
    first: usize,
    /// The tasks that it waits for, and that frames within it have made.
    left_behind: Vec<Child>,
}

/// A spawned task, or the task of a future.
struct Child {
    begun: Times,
    ended: Times,
    /// The number of the future, if it is one.
    number: Option<u32>,
    /// Whether a frame has fetched the result, and has paid for the steal.
    is_got: bool,
}

impl Evaluator {
    /// Returns an evaluator for these costs of a steal, in ticks.
    pub(crate) fn new(costs: [f64; COSTS]) -> Evaluator {
        Evaluator {
            costs,
            work: 0.0,
            now: [0.0; COSTS],
            enclosing: Vec::new(),
            children: Vec::new(),
            frames: vec![Frame::default()],
            made: Vec::new(),
            left_behind: HashMap::new(),
            futures: 0,
            open: Vec::new(),
            skipped: Vec::new(),
            tasks: 0,
            splits: 0,
        }
    }

    /// Adds a strand of this many ticks.
    pub(crate) fn push(&mut self, ticks: f64, mark: Mark) {
        self.work += ticks;
        for now in &mut self.now {
            *now += ticks;
        }
        self.tasks += u64::from(mark.is_task());
        self.splits += u64::from(mark == Mark::Split);
        if mark.is_spawn() || mark.is_future() {
            self.skipped.push(match mark {
                Mark::OuterSpawn(skipped) | Mark::OuterFuture(skipped) => skipped,
                _ => 0,
            });
        }
        match mark {
            Mark::Join | Mark::Split | Mark::Finish | Mark::Spawn | Mark::OuterSpawn(_) => {
                self.begin();
            }
            Mark::Second => {
                self.end_frame();
                let begun = *self.enclosing.last().expect("an end has a beginning");
                self.begin();
                self.now = begun;
            }
            Mark::Joined => {
                self.end_frame();
                let first = self.end();
                let begun = self.end();
                self.now = self.both(begun, first);
            }
            Mark::Future | Mark::OuterFuture(_) => {
                self.open.push(self.futures);
                self.futures += 1;
                self.begin();
            }
            Mark::Spawned => self.end_child(None),
            Mark::FutureDone => {
                let number = self.open.pop();
                self.end_child(number);
            }
            Mark::Got(number) => self.get(number),
            Mark::Finished => {
                self.end_frame();
                self.end();
            }
            Mark::End => self.end_frame(),
        }
    }

    /// Returns how often loops and sorts are divided.
    pub(crate) fn splits(&self) -> u64 {
        self.splits
    }

    /// Returns the work and the spans of the program, and its number of tasks.
    pub(crate) fn result(&self) -> (Size, u64) {
        let size = Size {
            work: self.work,
            spans: self.now,
        };
        (size, self.tasks)
    }

    /// Begins a frame inside the current one.
    fn begin(&mut self) {
        self.enclosing.push(self.now);
        self.frames.push(Frame {
            first: self.children.len(),
            left_behind: Vec::new(),
        });
    }

    /// Returns when the innermost join, finish or task began.
    fn end(&mut self) -> Times {
        self.enclosing.pop().expect("an end has a beginning")
    }

    /// Ends the innermost frame, which waits for its children.
    fn end_frame(&mut self) {
        let frame = self.frames.pop().expect("an end has a beginning");
        self.join_children(frame.first);
        for child in frame.left_behind {
            if let Some(number) = child.number {
                self.left_behind.remove(&number);
            }
            let cost = |cost: usize| match child.is_got {
                true => 0.0,
                false => self.costs[cost],
            };
            self.now = std::array::from_fn(|place| {
                let (now, ended) = (self.now[place], child.ended[place]);
                let serially = now + (ended - child.begun[place]);
                now.max(ended + cost(place)).min(serially.max(now))
            });
        }
    }

    /// Ends a task, and goes on with its parent at the time at which the task began.
    fn end_child(&mut self, future: Option<u32>) {
        self.end_frame();
        let begun = self.end();
        let child = Child {
            begun,
            ended: self.now,
            number: future,
            is_got: false,
        };
        self.now = begun;
        match self.skipped.pop().expect("an end has a beginning") {
            0 => {
                self.made
                    .extend(future.map(|number| (number, self.children.len())));
                self.children.push(child);
            }
            skipped => {
                let place = self.frames.len() - 1 - skipped as usize;
                let left_behind = &mut self.frames[place].left_behind;
                if let Some(number) = future {
                    self.left_behind.insert(number, (place, left_behind.len()));
                }
                left_behind.push(child);
            }
        }
    }

    /// Joins the current frame with its children. `first` is the index of its first child.
    fn join_children(&mut self, first: usize) {
        let kept = self.made.partition_point(|&(_, place)| place < first);
        self.made.truncate(kept);
        while self.children.len() > first {
            let child = self.children.pop().expect("there are more than `first`");
            self.join_child(&child);
        }
    }

    fn join_child(&mut self, child: &Child) {
        match child.is_got {
            true => {
                for (now, ended) in self.now.iter_mut().zip(child.ended) {
                    *now = now.max(ended);
                }
            }
            false => self.now = self.both(child.begun, child.ended),
        }
    }

    /// Fetches the result of a future, possibly in a frame other than its own.
    fn get(&mut self, number: u32) {
        if let Some(&(frame, place)) = self.left_behind.get(&number) {
            let child = &mut self.frames[frame].left_behind[place];
            child.is_got = true;
            let (begun, ended) = (child.begun, child.ended);
            self.now = self.both(begun, ended);
            return;
        }
        let found = self.made.binary_search_by_key(&number, |made| made.0);
        // If the future's frame has ended, that frame has waited for the future.
        let Ok(index) = found else {
            return;
        };
        let place = self.made[index].1;
        let child = &mut self.children[place];
        let (begun, ended) = (child.begun, child.ended);
        child.is_got = true;
        self.now = self.both(begun, ended);
        let is_own = self.frames.last().is_some_and(|frame| place >= frame.first);
        if is_own && place + 1 == self.children.len() {
            self.children.pop();
            self.made.pop();
        }
    }

    /// Returns the time when both of two parallel parts have ended. They began together; one ended
    /// at `ended`, the other ends now.
    fn both(&self, begun: Times, ended: Times) -> Times {
        std::array::from_fn(|cost| {
            let (a, b) = (ended[cost] - begun[cost], self.now[cost] - begun[cost]);
            begun[cost] + (a + b.max(0.0)).min(a.max(b) + self.costs[cost])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(costs: [f64; COSTS], strands: &[(Mark, f64)], last: f64) -> (Size, u64) {
        let mut evaluator = Evaluator::new(costs);
        for &(mark, ticks) in strands {
            evaluator.push(ticks, mark);
        }
        evaluator.push(last, Mark::End);
        evaluator.result()
    }

    #[test]
    fn a_join_spans_the_longer_closure_and_a_steal_unless_serial_is_faster() {
        use Mark::*;
        let join = [(Join, 1.0), (Second, 10.0), (Joined, 4.0)];
        let (size, tasks) = size([0.0, 3.0], &join, 2.0);
        assert_eq!((size.work, tasks), (17.0, 1));
        assert_eq!(size.spans, [13.0, 16.0]);
        let (dear, _) = self::size([0.0, 100.0], &join, 2.0);
        assert_eq!(dear.spans, [13.0, 17.0]);
    }

    #[test]
    fn joins_nest() {
        use Mark::*;
        let nested = [
            (Join, 0.0),
            (Join, 1.0),
            (Second, 5.0),
            (Joined, 5.0),
            (Second, 1.0),
            (Joined, 20.0),
        ];
        let (size, tasks) = size([0.0, 1.0], &nested, 0.0);
        assert_eq!((size.work, tasks), (32.0, 2));
        assert_eq!(size.spans, [20.0, 21.0]);
    }

    #[test]
    fn spawned_tasks_run_in_parallel_with_the_rest_of_the_frame() {
        use Mark::*;
        let finish = [
            (Finish, 1.0),
            (Spawn, 2.0),
            (Spawned, 10.0),
            (Spawn, 3.0),
            // This task spawns another one.
            (Spawn, 1.0),
            (Spawned, 9.0),
            (Spawned, 1.0),
            (Finished, 4.0),
        ];
        let (size, tasks) = size([0.0, 0.0], &finish, 1.0);
        assert_eq!((size.work, tasks), (32.0, 3));
        // 1, then 2, then 10 in parallel with (3, then 1 + 9 in parallel with 4), then 1.
        assert_eq!(size.spans[0], 1.0 + 2.0 + 13.0 + 1.0);
    }

    #[test]
    fn the_task_of_a_future_runs_in_parallel_until_its_result_is_fetched() {
        use Mark::*;
        let futures = [
            (Future, 1.0),
            (FutureDone, 10.0),
            (Future, 2.0),
            (FutureDone, 30.0),
            // The frame fetches the first result while the second task runs.
            (Got(0), 4.0),
            (Join, 5.0),
            (Second, 1.0),
            (Joined, 1.0),
            (Got(1), 1.0),
        ];
        let (size, tasks) = size([0.0, 100.0], &futures, 2.0);
        assert_eq!((size.work, tasks), (57.0, 3));
        // The second task begins at 3.
        assert_eq!(size.spans, [3.0 + 30.0 + 2.0, 57.0]);
        // The first task begins at 1. Then come 5, 1 and 1, and the second task is done already.
        let fast = futures.map(|(mark, ticks)| (mark, ticks.min(10.0)));
        let (size, _) = self::size([0.0, 3.0], &fast, 2.0);
        assert_eq!(size.spans[0], 1.0 + 10.0 + 5.0 + 1.0 + 1.0 + 2.0);
        // The steal of the first task costs 3. The second closure is not stolen. From 3 on, the
        // second task takes 10 and the rest takes 19.
        assert_eq!(size.spans[1], 3.0 + 19.0 + 3.0 + 2.0);
    }

    #[test]
    fn a_task_of_a_scope_further_out_delays_only_that_scope() {
        use Mark::*;
        // The first closure of a join spawns a task in the finish around the join.
        let spawn = [
            (Finish, 1.0),
            (Join, 1.0),
            (OuterSpawn(1), 1.0),
            (Spawned, 10.0),
            (Second, 1.0),
            (Joined, 1.0),
            (Finished, 8.0),
        ];
        let (size, tasks) = size([0.0, 3.0], &spawn, 1.0);
        assert_eq!((size.work, tasks), (24.0, 2));
        // The task runs from 3 to 13, and the body until 12, or until 13 if the join runs serially.
        assert_eq!(size.spans, [14.0, 13.0 + 3.0 + 1.0]);
        // The body gets the result of a future of that scope after 8.
        let future = [
            (Finish, 1.0),
            (Join, 1.0),
            (OuterFuture(1), 1.0),
            (FutureDone, 10.0),
            (Second, 1.0),
            (Joined, 1.0),
            (Got(0), 8.0),
            (Finished, 5.0),
        ];
        let (size, _) = self::size([0.0, 0.0], &future, 1.0);
        assert_eq!(size.spans[0], 13.0 + 5.0 + 1.0);
    }

    #[test]
    fn a_loop_counts_as_no_task() {
        use Mark::*;
        let mut evaluator = Evaluator::new([0.0; COSTS]);
        for mark in [Split, Join, Second, Joined, Second, Joined, End] {
            evaluator.push(1.0, mark);
        }
        let (size, tasks) = evaluator.result();
        assert_eq!((tasks, evaluator.splits()), (1, 1));
        assert_eq!((size.work, size.spans[0]), (7.0, 5.0));
    }

    #[test]
    fn another_frame_may_wait_for_a_future() {
        use Mark::*;
        let futures = [
            (Future, 0.0),
            (FutureDone, 10.0),
            (Join, 0.0),
            (Got(0), 1.0),
            (Second, 10.0),
            (Joined, 0.0),
        ];
        let (size, _) = size([0.0, 1.0], &futures, 0.0);
        assert_eq!(size.spans, [20.0, 21.0]);
        // If no frame fetches the result, the future's own frame waits, and pays for the steal.
        let (size, _) = self::size([0.0, 1.0], &futures[..2], 5.0);
        assert_eq!(size.spans, [10.0, 11.0]);
    }
}
