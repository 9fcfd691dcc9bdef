//! Work and span of a program, computed from its strands.

use std::collections::HashMap;

use super::mark::Mark;
use super::path::{Order, Path};
use super::places::Place;

/// Number of costs of a steal that are evaluated side by side.
pub(crate) const COSTS: usize = 2;

/// Ticks since the program's beginning, for each cost of a steal.
type Times = [f64; COSTS];

/// The cost for which the evaluator follows the critical path: the last one.
const FOLLOWED: usize = COSTS - 1;

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
    /// The critical path until now.
    path: Path,
    /// The work of each place.
    work_of_places: Vec<f64>,
    /// For each open join, the time when it began and, after its first closure, the time when that
    /// closure ended. For each open finish or task, the time when it began. Each with the path until then.
    enclosing: Vec<(Times, Path)>,
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
    /// The path until its beginning.
    before: Path,
    ended: Times,
    /// The path since then.
    path: Path,
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
            path: Path::default(),
            work_of_places: Vec::new(),
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

    /// Adds a strand of this many ticks in this place. Without a mark, the strand goes on in another place.
    pub(crate) fn push(&mut self, ticks: f64, mark: Option<Mark>, place: Place) {
        self.work += ticks;
        for now in &mut self.now {
            *now += ticks;
        }
        self.path.add(place, ticks);
        place.add_to(&mut self.work_of_places, ticks);
        let Some(mark) = mark else {
            return;
        };
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
                let (begun, before) = self.enclosing.last().expect("an end has a beginning");
                let (begun, before) = (*begun, before.clone());
                self.begin();
                (self.now, self.path) = (begun, before);
            }
            Mark::Joined => {
                self.end_frame();
                let (ended, first) = self.end();
                let (begun, before) = self.end();
                let order = self.both(begun, ended);
                self.path.join(&before, &first.since(&before), order);
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

    /// Returns the time of the critical path in each place, with the last cost of a steal.
    pub(crate) fn times_on_path(&self) -> &[(Place, f64)] {
        self.path.times()
    }

    /// Returns the work in a place.
    pub(crate) fn work_of(&self, place: Place) -> f64 {
        place.get_from(&self.work_of_places)
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
        self.enclosing.push((self.now, self.path.clone()));
        self.frames.push(Frame {
            first: self.children.len(),
            left_behind: Vec::new(),
        });
    }

    /// Returns when the innermost join, finish or task began, and the path until then.
    fn end(&mut self) -> (Times, Path) {
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
            let costs = match child.is_got {
                true => [0.0; COSTS],
                false => self.costs,
            };
            let before = self.now;
            let serially = |place: usize| before[place] + (child.ended[place] - child.begun[place]);
            self.now = std::array::from_fn(|place| {
                let in_parallel = before[place].max(child.ended[place] + costs[place]);
                in_parallel.min(serially(place).max(before[place]))
            });
            if self.now[FOLLOWED] > before[FOLLOWED] {
                let order = match self.now[FOLLOWED] < serially(FOLLOWED) {
                    true => Order::FirstLast(costs[FOLLOWED]),
                    false => Order::Serial,
                };
                self.path.join(&child.before, &child.path, order);
            }
        }
    }

    /// Ends a task, and goes on with its parent at the time at which the task began.
    fn end_child(&mut self, future: Option<u32>) {
        self.end_frame();
        let (begun, before) = self.end();
        let child = Child {
            begun,
            ended: self.now,
            path: std::mem::replace(&mut self.path, before.clone()).since(&before),
            before,
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
            self.join_last_child();
        }
    }

    /// Joins the current frame with its last child.
    fn join_last_child(&mut self) {
        let child = self.children.pop().expect("the frame has a child");
        let order = match child.is_got {
            true => self.wait(child.ended),
            false => self.both(child.begun, child.ended),
        };
        self.path.join(&child.before, &child.path, order);
    }

    /// Fetches the result of a future, possibly in a frame other than its own.
    fn get(&mut self, number: u32) {
        let child = if let Some(&(frame, place)) = self.left_behind.get(&number) {
            &mut self.frames[frame].left_behind[place]
        } else {
            let found = self.made.binary_search_by_key(&number, |made| made.0);
            // If the future's frame has ended, that frame has waited for the future.
            let Ok(index) = found else {
                return;
            };
            let place = self.made[index].1;
            let is_own = self.frames.last().is_some_and(|frame| place >= frame.first);
            if is_own && place + 1 == self.children.len() && !self.children[place].is_got {
                self.made.pop();
                return self.join_last_child();
            }
            &mut self.children[place]
        };
        let is_first = !std::mem::replace(&mut child.is_got, true);
        let (begun, ended) = (child.begun, child.ended);
        let (before, path) = (child.before.clone(), child.path.clone());
        let order = match is_first {
            true => self.both(begun, ended),
            false => self.wait(ended),
        };
        self.path.join(&before, &path, order);
    }

    /// Waits for a task that ends at this time, and whose steal was paid for.
    fn wait(&mut self, ended: Times) -> Order {
        let is_later = ended[FOLLOWED] > self.now[FOLLOWED];
        for (now, ended) in self.now.iter_mut().zip(ended) {
            *now = now.max(ended);
        }
        match is_later {
            true => Order::FirstLast(0.0),
            false => Order::SecondLast(0.0),
        }
    }

    /// Advances to the time when both of two parallel parts have ended. They began together; the first one ended
    /// at `ended`, the second one ends now.
    fn both(&mut self, begun: Times, ended: Times) -> Order {
        let mut order = Order::Serial;
        self.now = std::array::from_fn(|place| {
            let (a, b) = (ended[place] - begun[place], self.now[place] - begun[place]);
            let (serial, parallel) = (a + b.max(0.0), a.max(b) + self.costs[place]);
            if place == FOLLOWED && (parallel < serial || b <= 0.0) {
                order = match a > b {
                    true => Order::FirstLast(parallel.min(serial) - a),
                    false => Order::SecondLast(parallel.min(serial) - b),
                };
            }
            begun[place] + serial.min(parallel)
        });
        order
    }
}

#[cfg(test)]
mod tests;
