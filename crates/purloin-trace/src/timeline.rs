//! What one worker did and when, from its events.

use crate::event::{Activity, Event, What};
use crate::{PoolTrace, Track};

/// The state of a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum State {
    /// Runs the program.
    Running,
    /// Is blocked, and runs descendants of the awaited task.
    RunningWhileBlocked,
    /// Steals a task.
    Stealing,
    /// Is awake, and looks for work.
    Searching,
    /// Is blocked, and waits with its processor.
    Blocked,
    /// Has nothing to do, and sleeps.
    Asleep,
    /// Is blocked, and another worker may use its processor.
    HandedOff,
}

impl State {
    /// All states, in the order of their numbers.
    pub const ALL: [State; 7] = [
        State::Running,
        State::RunningWhileBlocked,
        State::Stealing,
        State::Searching,
        State::Blocked,
        State::Asleep,
        State::HandedOff,
    ];

    /// Returns the state in words.
    pub fn name(self) -> &'static str {
        match self {
            State::Running => "running",
            State::RunningWhileBlocked => "running while blocked",
            State::Stealing => "stealing",
            State::Searching => "searching",
            State::Blocked => "blocked",
            State::Asleep => "asleep",
            State::HandedOff => "processor handed off",
        }
    }
}

/// A time in which a worker is in one state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interval {
    /// The begin, in nanoseconds.
    pub begin: u64,
    /// The end, in nanoseconds.
    pub end: u64,
    /// The state.
    pub state: State,
}

/// How a thief got a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum StealKind {
    /// The victim had made the task public.
    Public,
    /// The victim did not answer, so the thief took a private task.
    Forced,
    /// The thief was blocked, and took a descendant of the task for which it waits.
    Leapfrog,
}

/// A steal, and what it led to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Steal {
    /// When the thief had the task.
    pub time: u64,
    /// The worker that had the task before.
    pub victim: u32,
    /// The depth of the task in the program's tree.
    pub depth: u32,
    /// How long the steal took the thief.
    pub cost: u64,
    /// The time from the begin of the task to its end, with everything that the thief did meanwhile.
    pub run: u64,
    /// How the thief got the task.
    pub kind: StealKind,
}

/// A time that the program has named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The begin, in nanoseconds.
    pub begin: u64,
    /// The end, in nanoseconds.
    pub end: u64,
    /// The number of spans around it on its thread.
    pub depth: usize,
    /// The name.
    pub name: &'static str,
}

/// A wake-up by this thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wake {
    /// When the thread woke the worker.
    pub time: u64,
    /// The number of the pool, modulo 2³².
    pub pool: u32,
    /// The worker.
    pub worker: u32,
}

/// What one worker did and when.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// The states, without gaps from the first one that is known to the last. The state is known from the first
    /// [`What::Begins`] on, with which a worker's thread begins.
    pub intervals: Vec<Interval>,
    /// The steals, in the order of their times.
    pub steals: Vec<Steal>,
    /// The spans, in the order of their ends.
    pub spans: Vec<Span>,
    /// The wake-ups by this worker.
    pub wakes: Vec<Wake>,
    /// The times at which the worker woke up.
    pub awakenings: Vec<u64>,
    /// The times at which the idle worker has begun calls and jobs from outside.
    pub calls: Vec<u64>,
    /// The times at which the worker has made tasks public.
    pub publications: Vec<u64>,
}

impl Timeline {
    /// Returns what a worker of `pool` did.
    pub fn of(pool: &PoolTrace, track: &Track) -> Timeline {
        Reader::default().read(&track.events, pool.end)
    }

    /// Returns what a thread outside of all pools has recorded.
    pub fn of_thread(track: &Track, end: u64) -> Timeline {
        Reader::default().read(&track.events, end)
    }

    /// Drops what was before `begin`.
    pub(crate) fn cut(&mut self, begin: u64) {
        self.intervals.retain(|interval| interval.end > begin);
        if let Some(first) = self.intervals.first_mut() {
            first.begin = first.begin.max(begin);
        }
        self.steals.retain(|steal| steal.time >= begin);
        self.spans.retain(|span| span.end > begin);
        self.wakes.retain(|wake| wake.time >= begin);
        for times in [
            &mut self.calls,
            &mut self.publications,
            &mut self.awakenings,
        ] {
            times.retain(|&time| time >= begin);
        }
    }

    /// Returns the name of the innermost span around `time`, if there is one.
    pub fn span_at(&self, time: u64) -> Option<&'static str> {
        let is_around = |span: &&Span| span.begin <= time && time < span.end;
        let spans = self.spans.iter().filter(is_around);
        spans.max_by_key(|span| span.depth).map(|span| span.name)
    }

    /// Returns the time in each state, in nanoseconds.
    pub fn totals(&self) -> [u64; State::ALL.len()] {
        let mut totals = [0; State::ALL.len()];
        for interval in &self.intervals {
            totals[interval.state as usize] += interval.end - interval.begin;
        }
        totals
    }
}

/// Reads the events of a thread in their order.
#[derive(Default)]
struct Reader {
    timeline: Timeline,
    /// The end of the last interval.
    since: u64,
    /// The worker's activity, if it is known.
    activity: Option<Activity>,
    is_asleep: bool,
    /// Number of hand-offs that have not ended.
    handoffs: usize,
    /// Whether the next steal is a forced one.
    is_forced: bool,
    /// How long the next steal has taken.
    cost: u64,
    /// The stolen tasks that have not ended, by their places in the list of steals.
    tasks: Vec<usize>,
    /// The spans that have not ended.
    spans: Vec<(u64, &'static str)>,
}

impl Reader {
    fn read(mut self, events: &[Event], end: u64) -> Timeline {
        for event in events {
            self.event(event);
        }
        self.advance(end);
        while let Some(task) = self.tasks.pop() {
            self.end_task(task, end);
        }
        while !self.spans.is_empty() {
            self.end_span(end);
        }
        self.timeline
    }

    fn event(&mut self, event: &Event) {
        let time = event.time;
        match event.what {
            What::Begins(activity) => {
                self.advance(time);
                self.activity = Some(activity);
                // A worker that runs again is awake.
                self.is_asleep = false;
            }
            What::ThreadEnd => {
                self.advance(time);
                self.activity = None;
            }
            What::Stole { since } => {
                self.advance(since);
                self.add(time, State::Stealing);
                self.cost = time.saturating_sub(since);
            }
            What::Forced => self.is_forced = true,
            What::Steal { victim, depth } => {
                let kind = match self.activity {
                    _ if self.is_forced => StealKind::Forced,
                    Some(activity) if activity.is_blocked() => StealKind::Leapfrog,
                    _ => StealKind::Public,
                };
                self.is_forced = false;
                self.tasks.push(self.timeline.steals.len());
                self.timeline.steals.push(Steal {
                    time,
                    victim,
                    depth,
                    cost: std::mem::take(&mut self.cost),
                    run: 0,
                    kind,
                });
            }
            What::TaskEnd => {
                if let Some(task) = self.tasks.pop() {
                    self.end_task(task, time);
                }
            }
            What::Call => self.timeline.calls.push(time),
            What::Asleep => {
                self.advance(time);
                self.is_asleep = true;
            }
            What::Awake => {
                self.advance(time);
                self.is_asleep = false;
                self.timeline.awakenings.push(time);
            }
            What::HandoffBegin => {
                self.advance(time);
                self.handoffs += 1;
            }
            What::HandoffEnd => {
                self.advance(time);
                self.handoffs = self.handoffs.saturating_sub(1);
            }
            What::Published => self.timeline.publications.push(time),
            What::Wake { pool, worker } => self.timeline.wakes.push(Wake { time, pool, worker }),
            What::SpanBegin(name) => self.spans.push((time, name)),
            What::SpanEnd => self.end_span(time),
        }
    }

    fn end_task(&mut self, task: usize, time: u64) {
        let task = &mut self.timeline.steals[task];
        task.run = time.saturating_sub(task.time);
    }

    fn end_span(&mut self, end: u64) {
        if let Some((begin, name)) = self.spans.pop() {
            let depth = self.spans.len();
            self.timeline.spans.push(Span {
                begin,
                end: end.max(begin),
                depth,
                name,
            });
        }
    }

    fn state(&self) -> Option<State> {
        Some(match self.activity? {
            _ if self.handoffs > 0 => State::HandedOff,
            Activity::Application => State::Running,
            Activity::ApplicationInJoin => State::RunningWhileBlocked,
            Activity::SearchingInJoin => State::Blocked,
            Activity::Searching if self.is_asleep => State::Asleep,
            Activity::Searching => State::Searching,
            Activity::Stealing | Activity::StealingInJoin => State::Stealing,
        })
    }

    /// Ends the current interval at `time`. The clocks of two processors may differ a little, so `time` may lie before
    /// the last one.
    fn advance(&mut self, time: u64) {
        match self.state() {
            Some(state) => self.add(time, state),
            None => self.since = self.since.max(time),
        }
    }

    /// Adds the time up to `end`.
    fn add(&mut self, end: u64, state: State) {
        let begin = self.since;
        if end <= begin {
            return;
        }
        self.since = end;
        let intervals = &mut self.timeline.intervals;
        match intervals.last_mut() {
            Some(last) if last.state == state && last.end == begin => last.end = end,
            _ => intervals.push(Interval { begin, end, state }),
        }
    }
}
