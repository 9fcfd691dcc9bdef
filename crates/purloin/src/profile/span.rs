//! Work and span of a program, from what happened in which order.

use std::ops::AddAssign;

/// What ends a strand: a stretch of the program without parallelism in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Event {
    /// A join begins, with its first closure.
    Join,
    /// The first closure of a join ends, the second begins.
    Second,
    /// The second closure ends, and with it the join.
    Joined,
    /// A finish begins.
    Finish,
    /// A task is spawned, and begins.
    Spawn,
    /// A spawned task ends; the spawner goes on.
    Spawned,
    /// A future is made, and its task begins.
    Future,
    /// The task of a future ends; who made it goes on.
    FutureDone,
    /// A future is got, which one [`Evaluator::got`] has said before.
    Got,
    /// The body of a finish ends, and with it the finish.
    Finished,
    /// The program ends.
    End,
}

/// How many costs of stealing are looked at side by side.
pub(crate) const COSTS: usize = 2;

/// Work and spans, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Size {
    pub work: f64,
    /// For each cost of stealing.
    pub spans: [f64; COSTS],
}

impl AddAssign<f64> for Size {
    fn add_assign(&mut self, strand: f64) {
        self.work += strand;
        for span in &mut self.spans {
            *span += strand;
        }
    }
}

/// In sequence.
impl AddAssign<Size> for Size {
    fn add_assign(&mut self, other: Size) {
        self.work += other.work;
        for (span, other) in self.spans.iter_mut().zip(other.spans) {
            *span += other;
        }
    }
}

/// Works out the size of a program, event by event, in the order of its serial
/// elision.
///
/// A join of *a* and *b* spans min(*a* + *b*, max(*a*, *b*) + cost): nobody
/// would steal *b* where running it costs less. A spawned task is joined with
/// the rest of the frame that spawned it, in the same way; and the task of a
/// future, with what its frame did until it was got. If that happened elsewhere,
/// or not at all, then with the rest of the frame; and of several futures of one
/// frame those made later count as got with it.
///
/// Source: Wool, section 5.1 (Table 1).
pub(crate) struct Evaluator {
    costs: [f64; COSTS],
    /// What goes on now, from its beginning.
    current: Size,
    /// What encloses that: for a join its beginning, then its first closure;
    /// for a finish or a task the frame around it.
    enclosing: Vec<Size>,
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
    /// The future that is got next.
    got: u32,
    tasks: u64,
}

/// A spawned task, or that of a future.
struct Child {
    /// What the frame did before, since the last child.
    before: Size,
    task: Size,
}

impl Evaluator {
    /// With costs of stealing in ticks.
    pub(crate) fn new(costs: [f64; COSTS]) -> Evaluator {
        Evaluator {
            costs,
            current: Size::default(),
            enclosing: Vec::new(),
            children: Vec::new(),
            frames: vec![0],
            made: Vec::new(),
            futures: 0,
            open: Vec::new(),
            got: u32::MAX,
            tasks: 0,
        }
    }

    /// A strand of so many ticks, which this event has ended.
    pub(crate) fn event(&mut self, event: Event, strand: f64) {
        self.current += strand;
        match event {
            Event::Join => {
                self.tasks += 1;
                self.begin();
            }
            Event::Second => {
                self.current = self.end_frame();
                self.begin();
            }
            Event::Joined => {
                let second = self.end_frame();
                let first = self.end();
                let both = self.parallel(first, second);
                self.current = self.end();
                self.current += both;
            }
            Event::Finish => self.begin(),
            Event::Spawn => {
                self.tasks += 1;
                self.begin();
            }
            Event::Future => {
                self.open.push(self.futures);
                self.futures += 1;
                self.tasks += 1;
                self.begin();
            }
            Event::Spawned => self.end_child(None),
            Event::FutureDone => {
                let number = self.open.pop();
                self.end_child(number);
            }
            Event::Got => {
                let first = *self.frames.last().expect("there is always one");
                let found = self.made.binary_search_by_key(&self.got, |made| made.0);
                let place = found.map(|index| self.made[index].1);
                if let Ok(place) = place
                    && place >= first
                {
                    self.join_children(place);
                }
            }
            Event::Finished => {
                let finish = self.end_frame();
                self.current = self.end();
                self.current += finish;
            }
            Event::End => self.join_children(0),
        }
    }

    /// The next [`Event::Got`] is of this future.
    pub(crate) fn got(&mut self, number: u32) {
        self.got = number;
    }

    /// The size of the program, and how many tasks it has.
    pub(crate) fn result(&self) -> (Size, u64) {
        (self.current, self.tasks)
    }

    /// Begins a frame inside the current.
    fn begin(&mut self) {
        self.enclosing.push(std::mem::take(&mut self.current));
        self.frames.push(self.children.len());
    }

    fn end(&mut self) -> Size {
        self.enclosing.pop().expect("an end has a beginning")
    }

    /// The size of the innermost frame with its children.
    fn end_frame(&mut self) -> Size {
        let first = self.frames.pop().expect("an end has a beginning");
        self.join_children(first);
        self.current
    }

    fn end_child(&mut self, future: Option<u32>) {
        let task = self.end_frame();
        let before = self.end();
        self.made
            .extend(future.map(|number| (number, self.children.len())));
        self.children.push(Child { before, task });
        self.current = Size::default();
    }

    /// Joins the current frame with its children from this one on.
    fn join_children(&mut self, first: usize) {
        let kept = self.made.partition_point(|&(_, place)| place < first);
        self.made.truncate(kept);
        while self.children.len() > first {
            let child = self.children.pop().expect("just counted");
            let mut all = child.before;
            all += self.parallel(child.task, self.current);
            self.current = all;
        }
    }

    fn parallel(&self, a: Size, b: Size) -> Size {
        let mut both = Size {
            work: a.work + b.work,
            ..Size::default()
        };
        for (cost, span) in both.spans.iter_mut().enumerate() {
            let (a, b) = (a.spans[cost], b.spans[cost]);
            *span = (a + b).min(a.max(b) + self.costs[cost]);
        }
        both
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(costs: [f64; COSTS], events: &[(Event, f64)], last: f64) -> (Size, u64) {
        let mut evaluator = Evaluator::new(costs);
        for &(event, strand) in events {
            evaluator.event(event, strand);
        }
        evaluator.event(Event::End, last);
        evaluator.result()
    }

    #[test]
    fn a_join_spans_the_longer_and_the_cost_unless_serial_is_less() {
        use Event::*;
        let join = [(Join, 1.0), (Second, 10.0), (Joined, 4.0)];
        let (size, tasks) = size([0.0, 3.0], &join, 2.0);
        assert_eq!((size.work, tasks), (17.0, 1));
        assert_eq!(size.spans, [13.0, 16.0]);
        let (dear, _) = self::size([0.0, 100.0], &join, 2.0);
        assert_eq!(dear.spans, [13.0, 17.0]);
    }

    #[test]
    fn joins_nest() {
        use Event::*;
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
        use Event::*;
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
        use Event::*;
        let costs = [0.0, 0.0];
        let mut evaluator = Evaluator::new(costs);
        for (event, strand) in [
            (Future, 1.0),
            (FutureDone, 10.0),
            (Future, 2.0),
            (FutureDone, 3.0),
        ] {
            evaluator.event(event, strand);
        }
        // The first, while the second is on its way.
        evaluator.got(0);
        evaluator.event(Got, 4.0);
        evaluator.event(Join, 5.0);
        evaluator.event(Second, 1.0);
        evaluator.event(Joined, 1.0);
        // It counts as got already.
        evaluator.got(1);
        evaluator.event(Got, 1.0);
        evaluator.event(End, 1.0);
        let (size, tasks) = evaluator.result();
        assert_eq!((size.work, tasks), (29.0, 3));
        assert_eq!(size.spans[0], 1.0 + 10.0 + 5.0 + 1.0 + 1.0 + 1.0);
    }
}
