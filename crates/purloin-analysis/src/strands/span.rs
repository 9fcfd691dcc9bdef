//! Work and span of a program, from what happened in which order.

use super::mark::Mark;

/// How many costs of stealing are looked at side by side.
pub(crate) const COSTS: usize = 2;

/// Ticks from the program's beginning, for each cost of stealing.
type Times = [f64; COSTS];

/// Work and spans, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Size {
    pub work: f64,
    /// For each cost of stealing.
    pub spans: Times,
}

/// Works out the size of a program, strand by strand, in the order of its serial elision: when
/// each would end if there were a worker for each task.
///
/// A join of *a* and *b* spans min(*a* + *b*, max(*a*, *b*) + cost): nobody
/// would steal *b* where running it costs less. A spawned task is joined with
/// the rest of the frame that spawned it, in the same way. So is the task of a
/// future, unless it is got before: then with what was done from its making until
/// then.
///
/// Source: Wool, section 5.1 (Table 1).
pub(crate) struct Evaluator {
    costs: Times,
    work: f64,
    now: Times,
    /// For a join, when it began, and then when its first closure ended; for a finish or a task,
    /// when that began.
    enclosing: Vec<Times>,
    /// For each frame that is open, its spawns and futures so far.
    children: Vec<Child>,
    /// Where in `children` each of these frames begins.
    frames: Vec<usize>,
    /// Those of them that are futures: their numbers, which ascend, and places.
    made: Vec<(u32, usize)>,
    /// Futures so far; they are numbered as they are made.
    futures: u32,
    /// Those whose tasks are running.
    open: Vec<u32>,
    tasks: u64,
}

/// A spawned task, or that of a future.
struct Child {
    begun: Times,
    ended: Times,
    /// Whether what it costs to steal it has been paid.
    is_got: bool,
}

impl Evaluator {
    /// With costs of stealing in ticks.
    pub(crate) fn new(costs: [f64; COSTS]) -> Evaluator {
        Evaluator {
            costs,
            work: 0.0,
            now: [0.0; COSTS],
            enclosing: Vec::new(),
            children: Vec::new(),
            frames: vec![0],
            made: Vec::new(),
            futures: 0,
            open: Vec::new(),
            tasks: 0,
        }
    }

    /// A strand of so many ticks.
    pub(crate) fn strand(&mut self, ticks: f64, mark: Mark) {
        self.work += ticks;
        for now in &mut self.now {
            *now += ticks;
        }
        self.tasks += u64::from(mark.is_task());
        match mark {
            Mark::Join | Mark::Finish | Mark::Spawn => self.begin(),
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
            Mark::Future => {
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
            Mark::End => self.join_children(0),
        }
    }

    /// The size of the program, and how many tasks it has.
    pub(crate) fn result(&self) -> (Size, u64) {
        let size = Size {
            work: self.work,
            spans: self.now,
        };
        (size, self.tasks)
    }

    /// Begins a frame inside the current.
    fn begin(&mut self) {
        self.enclosing.push(self.now);
        self.frames.push(self.children.len());
    }

    fn end(&mut self) -> Times {
        self.enclosing.pop().expect("an end has a beginning")
    }

    /// The innermost frame ends, with its children.
    fn end_frame(&mut self) {
        let first = self.frames.pop().expect("an end has a beginning");
        self.join_children(first);
    }

    fn end_child(&mut self, future: Option<u32>) {
        self.end_frame();
        let begun = self.end();
        self.made
            .extend(future.map(|number| (number, self.children.len())));
        self.children.push(Child {
            begun,
            ended: self.now,
            is_got: false,
        });
        self.now = begun;
    }

    /// Joins the current frame with its children from this one on.
    fn join_children(&mut self, first: usize) {
        let kept = self.made.partition_point(|&(_, place)| place < first);
        self.made.truncate(kept);
        while self.children.len() > first {
            let child = self.children.pop().expect("just counted");
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

    /// A future is got, perhaps by another frame than its own.
    fn get(&mut self, number: u32) {
        let found = self.made.binary_search_by_key(&number, |made| made.0);
        // If its frame has ended, then so has it.
        let Ok(index) = found else {
            return;
        };
        let place = self.made[index].1;
        let child = &mut self.children[place];
        let (begun, ended) = (child.begun, child.ended);
        child.is_got = true;
        self.now = self.both(begun, ended);
        let is_own = self.frames.last().is_some_and(|&first| place >= first);
        if is_own && place + 1 == self.children.len() {
            self.children.pop();
            self.made.pop();
        }
    }

    /// When both have ended of what began together: one at this time, the other now.
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
            evaluator.strand(ticks, mark);
        }
        evaluator.strand(last, Mark::End);
        evaluator.result()
    }

    #[test]
    fn a_join_spans_the_longer_and_the_cost_unless_serial_is_less() {
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
    fn spawned_tasks_run_beside_the_rest_of_the_frame() {
        use Mark::*;
        let finish = [
            (Finish, 1.0),
            (Spawn, 2.0),
            (Spawned, 10.0),
            (Spawn, 3.0),
            // Which spawns in turn.
            (Spawn, 1.0),
            (Spawned, 9.0),
            (Spawned, 1.0),
            (Finished, 4.0),
        ];
        let (size, tasks) = size([0.0, 0.0], &finish, 1.0);
        assert_eq!((size.work, tasks), (32.0, 3));
        // 1, then 2, then 10 beside (3, then 1 and 9 beside 4), then 1.
        assert_eq!(size.spans[0], 1.0 + 2.0 + 13.0 + 1.0);
    }

    #[test]
    fn the_task_of_a_future_runs_beside_the_frame_until_it_is_got() {
        use Mark::*;
        let futures = [
            (Future, 1.0),
            (FutureDone, 10.0),
            (Future, 2.0),
            (FutureDone, 30.0),
            // The first, while the second is on its way.
            (Got(0), 4.0),
            (Join, 5.0),
            (Second, 1.0),
            (Joined, 1.0),
            (Got(1), 1.0),
        ];
        let (size, tasks) = size([0.0, 100.0], &futures, 2.0);
        assert_eq!((size.work, tasks), (57.0, 3));
        // The second begins at 3.
        assert_eq!(size.spans, [3.0 + 30.0 + 2.0, 57.0]);
        // The first at 1; then 5 and 1 and 1, and the second is there already.
        let fast = futures.map(|(mark, ticks)| (mark, ticks.min(10.0)));
        let (size, _) = self::size([0.0, 3.0], &fast, 2.0);
        assert_eq!(size.spans[0], 1.0 + 10.0 + 5.0 + 1.0 + 1.0 + 2.0);
        // To steal the first costs 3; the second closure is not stolen; from 3 on there are 10
        // of the second and 19 of the others.
        assert_eq!(size.spans[1], 3.0 + 19.0 + 3.0 + 2.0);
    }

    #[test]
    fn another_frame_waits_for_a_future() {
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
        // Its frame waits for it also if nobody else does, and pays for it once.
        let (size, _) = self::size([0.0, 1.0], &futures[..2], 5.0);
        assert_eq!(size.spans, [10.0, 11.0]);
    }
}
