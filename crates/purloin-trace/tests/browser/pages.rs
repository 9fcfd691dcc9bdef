//! Writes the pages that `report.mjs` opens in a browser.
//!
//! Each page is the report of a made-up trace. The traces are the same in every run, because all random numbers come
//! from [`Random`] with a fixed seed. The only argument is the folder for the pages.

use std::ops::Range;
use std::path::Path;
use std::{fs, io};

use purloin_trace::{
    Activity, CriticalPath, Event, PathPlace, PoolTrace, SpeedUp, Trace, Track, What,
};

fn main() -> io::Result<()> {
    let folder = std::env::args_os().nth(1).expect("no folder for the pages");
    fs::create_dir_all(&folder)?;
    let write = |name: &str, trace: Trace| {
        let mut page = Vec::new();
        trace.write_report(&mut page)?;
        fs::write(Path::new(&folder).join(name).with_extension("html"), page)
    };
    // More intervals, steals and spans than a page may have.
    let million = Plan::new(1, 256, 0..9_100 * MS, 1_000_000);
    write("two", trace("knapsack", vec![two_workers().pool()]))?;
    write("names", names())?;
    write("sixtyfour", sixty_four_workers())?;
    write("four", four_pools())?;
    write("big", trace("knapsack", vec![million.pool()]))?;
    write("empty", trace("knapsack", vec![idle_pool()]))?;
    write("nopool", trace("knapsack", vec![]))
}

const MS: u64 = 1_000_000;

/// Two workers with every kind of event.
fn two_workers() -> Plan {
    Plan::new(1, 2, 0..123_456_700, 200)
}

/// Texts that would break the page if it took them for HTML, and texts that are wider than a screen.
fn names() -> Trace {
    let plan = Plan {
        names: [
            LONG,
            "\"double\" and 'single' quotes, `back` quotes & \\ backslashes",
            "<img src=x onerror=\"document.title = 'broken'\">",
            "</script><script>document.title = 'broken'</script>",
            "<!-- a comment that does not end",
            "line\nbreak, tab\t, null \0 and \u{2028}",
        ],
        ..two_workers()
    };
    let place = |name: &str, parent, time, work| PathPlace {
        name: name.into(),
        parent,
        time,
        work,
    };
    Trace {
        speed_up: Some(SpeedUp {
            work: 0.24,
            span: 0.06,
            measured: vec![(1, 0.98), (2, 1.7)],
            predicted: vec![(4, 2.9), (8, 3.6), (16, 3.8)],
        }),
        critical_path: Some(CriticalPath {
            places: vec![
                place("the program", None, 0.01, 0.01),
                place("steals", Some(0), 0.001, 0.0),
                place(LONG, Some(0), 0.04, 0.13),
                place("tasks forked at src/main.rs:7", Some(2), 0.009, 0.1),
            ],
        }),
        ..trace(LONG, vec![plan.pool()])
    }
}

const LONG: &str = "</script><b>\"a'program\"&amp;_whose_name_is_one_word_that_is_longer_than_any_screen_is_wide_and_\
                    then_goes_on_for_another_line_as_generated_names_with_all_their_type_parameters_do_that_too</b>";

/// 64 workers, of which worker 5 has lost its oldest events.
fn sixty_four_workers() -> Trace {
    let mut pool = Plan::new(1, 64, 0..2_500 * MS, 10_000).pool();
    let track = &mut pool.tracks[5];
    track.lost = track.events.len() as u64 / 5;
    track.events.drain(..track.lost as usize);
    trace("knapsack", vec![pool])
}

/// Four pools, of which the third is the largest and has a spare worker.
fn four_pools() -> Trace {
    let pools = [(1, 4), (2, 4), (3, 8), (4, 4)].map(|(id, workers)| {
        let plan = Plan::new(id, workers, id * 100 * MS..(id + 4) * 100 * MS, 200);
        let mut pool = plan.pool();
        if workers == 8 {
            let mut spare = Recorder::new(plan.time.start + 100 * MS, workers as u64);
            spare.record(0, What::Begins(Activity::Searching));
            spare.run_tasks(plan.time.start + 150 * MS, 20, &plan);
            pool.tracks.push(Track {
                is_spare: true,
                ..spare.into_track("spare worker 8")
            });
        }
        pool
    });
    trace("knapsack", pools.into())
}

/// A pool whose two workers sleep all the time.
fn idle_pool() -> PoolTrace {
    let mut pool = Plan::new(1, 2, 0..MS, 0).pool();
    for track in &mut pool.tracks {
        let mut worker = Recorder::new(0, 0);
        worker.record(0, What::Begins(Activity::Searching));
        worker.record(50_000, What::Asleep);
        track.events = worker.events;
    }
    pool
}

/// A run with these pools, and with a thread outside that wakes a worker of each.
fn trace(program: &str, pools: Vec<PoolTrace>) -> Trace {
    let end = pools.iter().map(|pool| pool.end).max().unwrap_or(MS);
    let mut outside = Recorder::new(0, 0);
    outside.record(100, What::SpanBegin("whole program"));
    for pool in &pools {
        outside.wake(pool.id, 0);
    }
    outside.now = end - 500;
    outside.record(0, What::SpanEnd);
    Trace {
        program: program.into(),
        command: format!("./target/release/{program} --items 40"),
        machine: "AMD EPYC 9554, Linux x86-64".into(),
        cores: 256,
        date: "2026-11-30 15:40:12 UTC".into(),
        end,
        pools,
        threads: vec![outside.into_track("thread main")],
        ..Trace::default()
    }
}

/// A pool. Worker 0 runs alone for 18 % of the time, then all workers run tasks; worker 0 runs alone for another
/// 5 %, and all workers run tasks again.
struct Plan {
    id: u64,
    workers: usize,
    time: Range<u64>,
    /// Number of steals of all workers.
    steals: usize,
    /// The names of two serial parts, of a parallel part, of two spans inside a serial part, and of every fifth task.
    names: [&'static str; 6],
}

impl Plan {
    #[rustfmt::skip]
    fn new(id: u64, workers: usize, time: Range<u64>, steals: usize) -> Plan {
        let names = ["read input", "merge", "search", "parse", "sort keys", "subtree"];
        Plan { id, workers, time, steals, names }
    }

    fn pool(&self) -> PoolTrace {
        PoolTrace {
            id: self.id,
            workers: self.workers,
            begin: self.time.start,
            end: self.time.end,
            tracks: (0..self.workers).map(|worker| self.track(worker)).collect(),
            ..PoolTrace::default()
        }
    }

    fn track(&self, number: usize) -> Track {
        let at = |percent| self.time.start + (self.time.end - self.time.start) / 100 * percent;
        let steals = self.steals / self.workers + usize::from(number < self.steals % self.workers);
        let mut worker = Recorder::new(self.time.start, number as u64);
        worker.record(0, What::Begins(Activity::Searching));
        let parts = [(0, 18, 66, steals / 2), (66, 71, 99, steals - steals / 2)];
        for (part, (begin, fork, end, steals)) in parts.into_iter().enumerate() {
            if number == 0 {
                self.run_alone(&mut worker, part, at(begin)..at(fork));
                worker.run_tasks(at(end), steals, self);
                worker.record(0, What::SpanEnd);
            } else {
                worker.record(1_000, What::Asleep);
                worker.now = at(fork) + 100 * number as u64 + worker.random.below(50_000);
                worker.record(0, What::Awake);
                worker.run_tasks(at(end), steals, self);
            }
        }
        worker.into_track(&format!("worker {number}"))
    }

    /// Runs a serial part on worker 0, then wakes the other workers and opens the span of the parallel part.
    fn run_alone(&self, worker: &mut Recorder, part: usize, time: Range<u64>) {
        let [_, _, search, parse, sort, _] = self.names;
        let length = time.end - time.start;
        worker.now = time.start + 1_000;
        worker.record(0, What::Begins(Activity::Application));
        worker.record(0, What::SpanBegin(self.names[part]));
        worker.record(length / 9, What::SpanBegin(parse));
        worker.record(length / 9, What::SpanBegin(sort));
        worker.record(length / 9, What::SpanEnd);
        worker.record(length / 2, What::SpanEnd);
        worker.now = time.end;
        worker.record(0, What::SpanEnd);
        for woken in 1..self.workers {
            worker.wake(self.id, woken);
        }
        worker.record(100, What::SpanBegin(search));
        worker.record(0, What::Begins(Activity::Searching));
    }
}

/// Records the events of one thread.
struct Recorder {
    number: u64,
    now: u64,
    random: Random,
    events: Vec<Event>,
}

impl Recorder {
    fn new(now: u64, number: u64) -> Recorder {
        Recorder {
            number,
            now,
            random: Random(0x9e37_79b9_7f4a_7c15 ^ number),
            events: Vec::new(),
        }
    }

    /// Records `what` after this time.
    fn record(&mut self, time: u64, what: What) {
        self.now += time;
        let time = self.now;
        self.events.push(Event { time, what });
    }

    fn wake(&mut self, pool: u64, worker: usize) {
        let (pool, worker) = (pool as u32, worker as u32);
        self.record(100, What::Wake { pool, worker });
    }

    /// Steals this number of tasks until `end` and runs them.
    fn run_tasks(&mut self, end: u64, mut steals: usize, plan: &Plan) {
        use Activity::{Application, ApplicationInJoin, Searching, SearchingInJoin};
        while steals > 0 {
            let slot = end.saturating_sub(self.now) / steals as u64;
            let run = slot * (75 + self.random.below(21)) / 100;
            let run = run >> [0, 0, 0, 0, 1, 2, 4, 8][self.random.below(8) as usize];
            let cost = (400 + self.random.below(1_000)).min(slot / 20);
            self.now += slot - run - cost;
            if self.random.below(25) == 0 {
                self.record(0, What::Forced);
            }
            self.steal(cost, plan.workers);
            self.record(20, What::Begins(Application));
            let has_span = steals.is_multiple_of(5);
            if has_span {
                self.record(0, What::SpanBegin(plan.names[5]));
            }
            steals -= 1;
            match self.random.below(30) {
                0 if steals > 0 => {
                    self.record(run / 4, What::Begins(SearchingInJoin));
                    self.steal(run / 8, plan.workers);
                    self.record(0, What::Begins(ApplicationInJoin));
                    self.record(run / 4, What::TaskEnd);
                    self.record(0, What::Begins(SearchingInJoin));
                    self.record(run / 8, What::Begins(Application));
                    steals -= 1;
                }
                1 => {
                    self.record(run / 4, What::Begins(SearchingInJoin));
                    self.record(run / 4, What::HandoffBegin);
                    self.record(run / 4, What::HandoffEnd);
                    self.record(0, What::Begins(Application));
                }
                _ => self.now += run * 3 / 4,
            }
            self.now += run / 4;
            if has_span {
                self.record(0, What::SpanEnd);
            }
            self.record(0, What::TaskEnd);
            self.record(0, What::Begins(Searching));
        }
    }

    /// Steals a task from any other worker in this time.
    fn steal(&mut self, time: u64, workers: usize) {
        let since = self.now;
        self.record(time, What::Stole { since });
        let step = 1 + self.random.below(workers as u64 - 1);
        let what = What::Steal {
            victim: ((self.number + step) % workers as u64) as u32,
            depth: self.random.below(12) as u32,
        };
        self.record(0, what);
    }

    fn into_track(self, name: &str) -> Track {
        Track {
            name: name.into(),
            events: self.events,
            ..Track::default()
        }
    }
}

/// Random numbers: the xorshift generator of Marsaglia with 64 bits.
struct Random(u64);

impl Random {
    /// Returns a number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % end
    }
}
