//! Recorded programs with fewer tasks: [`CutOff`].

use super::{Kind, Profile, Recorded, Strand};
use crate::Time;

/// Selects which tasks of a recorded program are created. The code of every other task runs inline,
/// as part of its spawner.
///
/// The depth of a task is the number of joins and spawns around it. Both closures of a join are one
/// deeper than the join. Futures are always created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CutOff {
    /// Tasks of at most this depth.
    Depth(u32),
    /// Tasks at each depth where the mean time of a task, including its descendants, is at least
    /// `least`. A worker does not start to steal early while its ready tasks take more than `coarse`
    /// in all, by the mean times of their depths.
    ///
    /// Source: AsynchWS, sections III and IV.B, without errors of the estimates.
    Adaptive {
        /// The mean time from which tasks are created.
        least: Time,
        /// The longest time of ready tasks during which a worker may start to steal.
        coarse: Time,
    },
}

/// The tasks of one depth.
#[derive(Clone, Copy, Default)]
struct Depth {
    count: u64,
    work: Time,
}

impl Depth {
    fn mean(&self) -> Time {
        self.work.scaled(1.0 / self.count.max(1) as f64)
    }
}

/// The greatest depth whose tasks have an expected time of their own. Deeper tasks count as tasks of
/// this depth.
const MAX_DEPTH: usize = u16::MAX as usize;

/// Results of pass one.
struct Survey {
    /// Positions of spawned tasks that their spawner joins separately, like a future.
    awaited: Vec<u32>,
    depths: Vec<Depth>,
}

/// A frame that has begun and not ended.
struct Open {
    /// The depth of the task that the frame belongs to.
    depth: usize,
    /// Where the frame begins, in the new list. `None` for the whole program.
    begin: Option<usize>,
    /// Whether another worker may run the frame.
    is_task: bool,
    /// Whether a task is made in the frame.
    has_tasks: bool,
}

impl Recorded {
    /// Returns the program with this cut-off.
    pub fn with_cut_off(&self, cut_off: CutOff) -> Recorded {
        let Survey { awaited, depths } = self.survey();
        let is_made = |depth: usize| match cut_off {
            CutOff::Depth(limit) => depth <= limit as usize,
            CutOff::Adaptive { least, .. } => {
                let Depth { count, work } = depths[depth];
                work >= least.scaled(count as f64)
            }
        };
        let profile = match cut_off {
            CutOff::Depth(_) => None,
            CutOff::Adaptive { coarse, .. } => Some(Profile {
                means: depths.iter().take(MAX_DEPTH + 1).map(Depth::mean).collect(),
                coarse,
            }),
        };
        let mut builder = Builder::default();
        for (place, strand) in self.strands.iter().enumerate() {
            let below = builder.depth() + 1;
            match strand.kind {
                Kind::Join if is_made(below) => builder.begin(strand, below, false),
                Kind::Join => builder.call(strand, below),
                Kind::Second => {
                    let depth = builder.depth();
                    match is_made(depth) {
                        true => builder.begin_second(strand, depth),
                        false => {
                            builder.end(strand);
                            // The strand has run at the end of the first closure.
                            let nothing = Strand { time: 0, ..*strand };
                            builder.call(&nothing, depth);
                        }
                    }
                }
                Kind::Spawn if is_made(below) || awaited.binary_search(&(place as u32)).is_ok() => {
                    builder.begin(strand, below, true);
                }
                Kind::Spawn => builder.call(strand, below),
                Kind::Future => builder.begin(strand, below, true),
                Kind::Finish => builder.call(strand, below - 1),
                Kind::Newest | Kind::Get => builder.push_step(strand),
                Kind::End => builder.end(strand),
            }
        }
        Recorded {
            strands: builder.strands,
            tasks: builder.tasks,
            profile,
            ..*self
        }
    }

    /// Returns the number of tasks at each depth. The whole program has depth 0, and is no task.
    pub fn tasks_by_depth(&self) -> Vec<u64> {
        let depths = self.survey().depths;
        depths.into_iter().map(|depth| depth.count).collect()
    }

    /// Pass one: measures the tasks of each depth.
    fn survey(&self) -> Survey {
        struct Frame {
            depth: usize,
            is_task: bool,
            begin: Time,
            spawned: Vec<u32>,
        }
        let frame = |depth, is_task, begin| Frame {
            depth,
            is_task,
            begin,
            spawned: Vec::new(),
        };
        let (mut awaited, mut depths) = (Vec::new(), vec![Depth::default()]);
        let mut open = vec![frame(0, false, Time::ZERO)];
        let mut now = Time::ZERO;
        for (place, strand) in self.strands.iter().enumerate() {
            now += Time::from_picoseconds(strand.time);
            if matches!(strand.kind, Kind::Second | Kind::End) {
                let ended = open.pop().expect("frames of a recording are nested");
                if ended.is_task {
                    depths[ended.depth].count += 1;
                    depths[ended.depth].work += now - ended.begin;
                }
            }
            let Some(top) = open.last_mut() else { break };
            let is_task = match strand.kind {
                Kind::Join | Kind::Second | Kind::Future => true,
                Kind::Spawn => {
                    top.spawned.push(place as u32);
                    true
                }
                Kind::Finish => false,
                Kind::Newest => {
                    awaited.extend(top.spawned.pop());
                    continue;
                }
                Kind::Get | Kind::End => continue,
            };
            let depth = top.depth + usize::from(is_task);
            if depth == depths.len() {
                depths.push(Depth::default());
            }
            open.push(frame(depth, is_task, now));
        }
        awaited.sort_unstable();
        Survey { awaited, depths }
    }
}

/// Pass two: a new list of strands, as it grows.
struct Builder {
    strands: Vec<Strand>,
    tasks: u64,
    open: Vec<Open>,
    /// The time of strands that belongs to the next strand.
    carried: u64,
}

impl Default for Builder {
    fn default() -> Self {
        let program = Open {
            depth: 0,
            begin: None,
            is_task: false,
            has_tasks: false,
        };
        Builder {
            strands: Vec::new(),
            tasks: 0,
            open: vec![program],
            carried: 0,
        }
    }
}

impl Builder {
    /// Returns the depth of the current frame.
    fn depth(&self) -> usize {
        self.open.last().map_or(0, |frame| frame.depth)
    }

    /// Pushes a strand of a frame of this depth.
    fn push(&mut self, strand: &Strand, kind: Kind, depth: usize) -> usize {
        let time = strand.time + std::mem::take(&mut self.carried);
        self.strands.push(Strand {
            time,
            link: strand.link,
            kind,
            depth: depth.min(MAX_DEPTH) as u16,
        });
        self.strands.len() - 1
    }

    /// Pushes a step that belongs to the frames around it, and marks the frame so that it is kept.
    fn push_step(&mut self, strand: &Strand) {
        self.push(strand, strand.kind, self.depth());
        self.mark_frame();
    }

    fn mark_frame(&mut self) {
        if let Some(frame) = self.open.last_mut() {
            frame.has_tasks = true;
        }
    }

    /// Begins a task, or the first closure of a join whose second one is a task.
    fn begin(&mut self, strand: &Strand, depth: usize, is_task: bool) {
        self.tasks += 1;
        self.mark_frame();
        let begin = self.push(strand, strand.kind, self.depth());
        self.open.push(Open {
            depth,
            begin: Some(begin),
            is_task,
            has_tasks: true,
        });
    }

    /// Ends the first closure of a join, and begins the second one, which is a task.
    fn begin_second(&mut self, strand: &Strand, depth: usize) {
        let first = self.open.pop().expect("the first closure is open");
        let begin = self.push(strand, Kind::Second, depth);
        if let Some(place) = first.begin {
            self.strands[place].link = begin as u32;
        }
        self.open.push(Open {
            depth,
            begin: Some(begin),
            is_task: true,
            has_tasks: true,
        });
    }

    /// Begins a frame that its spawner runs itself.
    fn call(&mut self, strand: &Strand, depth: usize) {
        let begin = self.push(strand, Kind::Finish, self.depth());
        self.open.push(Open {
            depth,
            begin: Some(begin),
            is_task: false,
            has_tasks: false,
        });
    }

    /// Ends a frame. A called frame without tasks becomes a part of the strand after it.
    fn end(&mut self, strand: &Strand) {
        let frame = self.open.pop().expect("a frame is open");
        match frame.begin {
            Some(begin) if !frame.is_task && !frame.has_tasks => {
                let times = self.strands.drain(begin..).map(|strand| strand.time);
                self.carried += times.sum::<u64>() + strand.time;
            }
            begin => {
                self.mark_frame();
                let end = self.push(strand, Kind::End, frame.depth);
                if let Some(begin) = begin {
                    self.strands[begin].link = end as u32;
                }
            }
        }
    }
}
