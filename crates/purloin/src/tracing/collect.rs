//! The records of traced pools, and how they become a [`Trace`].

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use purloin_trace::{Baseline, PoolTrace, Trace, Track};

use super::buffer::Buffer;
use super::{processor_time, state};
use crate::stats::clock::{nanoseconds_per_tick, ticks};
use crate::sync::Instant;
use crate::sync::plain::{AtomicBool, AtomicU64, Mutex, OnceLock, Ordering, lock};
use crate::sync::thread;

/// Where all traces begin.
#[derive(Clone, Copy)]
struct Origin {
    time: Instant,
    ticks: u64,
    process: u32,
    /// Number of cores that the program could use.
    cores: usize,
    /// How long the program had been running before, if the traces cover it and the system tells.
    age: Duration,
}

static ORIGIN: OnceLock<Origin> = OnceLock::new();

/// Lets all traces cover the program from its start on.
pub(super) fn begin_with_program() {
    ORIGIN.get_or_init(|| Origin::new(processor_time::age_of_process().unwrap_or_default()));
}

/// Returns whether this process was forked from the one that records. Another thread may have held a lock at that
/// moment.
pub(crate) fn is_forked() -> bool {
    origin().process != std::process::id()
}

fn origin() -> Origin {
    *ORIGIN.get_or_init(|| Origin::new(Duration::ZERO))
}

impl Origin {
    fn new(age: Duration) -> Origin {
        let (time, ticks) = with_ticks(Instant::now);
        Origin {
            time,
            ticks,
            process: std::process::id(),
            cores: thread::available_parallelism().map_or(1, usize::from),
            age,
        }
    }
}

/// Returns what `read` reads, and the time in ticks. Tries again if the thread has lost its processor between the two.
fn with_ticks<T>(read: impl Fn() -> T) -> (T, u64) {
    for _ in 0..100 {
        let (before, value, after) = (ticks(), read(), ticks());
        if after - before < CLOSE {
            return (value, before);
        }
    }
    (read(), ticks())
}

/// Two readings of the clock with fewer ticks between them belong together: about a microsecond.
const CLOSE: u64 = 3_000;

/// From this time on, the length of a tick is known well enough.
const LONG: Duration = Duration::from_millis(100);

/// Returns a function that converts ticks to nanoseconds since the [`origin`], and the time, in ticks.
fn to_time() -> (impl Fn(u64) -> u64 + Copy, u64) {
    let origin = origin();
    let (elapsed, now) = with_ticks(|| origin.time.elapsed());
    let scale = match elapsed > LONG {
        true => elapsed.as_nanos() as f64 / now.saturating_sub(origin.ticks).max(1) as f64,
        false => nanoseconds_per_tick(),
    };
    let age = origin.age.as_nanos() as u64;
    let time = move |ticks: u64| age + (ticks.saturating_sub(origin.ticks) as f64 * scale) as u64;
    (time, now)
}

/// Why a pool records.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// The builder asked for a trace.
    Traced,
    /// The environment asks for a trace of the program.
    Kept,
    /// The watchdog or the monitor looks at the pool.
    Watched,
}

/// What a pool has recorded.
pub(crate) struct PoolRecord {
    id: u64,
    workers: usize,
    /// Number of events for each worker.
    events: usize,
    purpose: Use,
    /// In ticks.
    begin: u64,
    /// In ticks; 0 while the pool lives.
    end: AtomicU64,
    buffers: Mutex<Vec<Arc<Buffer>>>,
}

impl PoolRecord {
    /// Returns the record of a pool, with buffers for this number of events. A record that is [kept](Use::Kept) stays
    /// until the process ends.
    pub(super) fn new(id: u64, workers: usize, events: usize, purpose: Use) -> Arc<PoolRecord> {
        origin();
        let record = Arc::new(PoolRecord {
            id,
            workers,
            events,
            purpose,
            begin: ticks(),
            end: AtomicU64::new(0),
            buffers: Mutex::default(),
        });
        if purpose != Use::Watched {
            IS_ANY_TRACED.store(true, Ordering::Relaxed);
        }
        if purpose == Use::Kept {
            lock(&KEPT).pools.push(Arc::clone(&record));
        }
        state::begin();
        record
    }

    /// Returns the buffer of a worker. Workers begin in the order of their numbers.
    ///
    /// # Errors
    ///
    /// Returns an error if the system has too little memory.
    pub(crate) fn buffer(&self, worker: usize) -> io::Result<Arc<Buffer>> {
        let mut buffers = lock(&self.buffers);
        if worker >= buffers.len() {
            buffers.push(Arc::new(Buffer::new(self.events)?));
        }
        Ok(Arc::clone(&buffers[worker]))
    }

    /// Returns the number of events for each worker.
    pub(crate) fn events(&self) -> usize {
        self.events
    }

    /// Returns the number of bytes that the events take.
    fn size(&self) -> usize {
        lock(&self.buffers).iter().map(|buffer| buffer.size()).sum()
    }

    /// Records the end of the pool. Drops the records of pools that have ended, the oldest first, if they take much
    /// memory.
    pub(crate) fn end(&self) {
        if is_forked() {
            return;
        }
        self.end.store(ticks(), Ordering::Relaxed);
        if self.purpose != Use::Kept {
            return state::end();
        }
        let mut kept = lock(&KEPT);
        let has_ended = |pool: &Arc<PoolRecord>| pool.end.load(Ordering::Relaxed) != 0;
        loop {
            let ended = || kept.pools.iter().filter(|pool| has_ended(pool));
            let size: usize = ended().map(|pool| pool.size()).sum();
            if ended().count() <= 1 || size <= MAX_ENDED_SIZE && ended().count() <= MAX_ENDED {
                return;
            }
            let ended = kept
                .pools
                .iter()
                .enumerate()
                .filter(|(_, pool)| has_ended(pool));
            let oldest = ended.min_by_key(|(_, pool)| pool.end.load(Ordering::Relaxed));
            let (oldest, _) = oldest.expect("several pools have ended");
            kept.pools.remove(oldest);
            kept.dropped += 1;
        }
    }

    /// Returns a trace of this pool, up to now, unless the pool is only watched.
    pub(crate) fn trace(&self) -> Option<Trace> {
        (self.purpose != Use::Watched).then(|| collect([self].into_iter()))
    }

    fn collect(&self, now: u64, time: impl Fn(u64) -> u64 + Copy) -> PoolTrace {
        let end = match self.end.load(Ordering::Relaxed) {
            0 => now,
            end => time(end),
        };
        let buffers = lock(&self.buffers).clone();
        let track = |(worker, buffer): (usize, &Arc<Buffer>)| {
            let is_spare = worker >= self.workers;
            let name = match is_spare {
                false => format!("worker {worker}"),
                true => format!("spare worker {worker}"),
            };
            track(name, is_spare, buffer, now, time)
        };
        PoolTrace {
            id: self.id,
            workers: self.workers,
            begin: time(self.begin),
            end,
            whole_program: None,
            tracks: buffers.iter().enumerate().map(track).collect(),
        }
    }
}

/// Returns the events of a thread up to `now`.
fn track(
    name: String,
    is_spare: bool,
    buffer: &Buffer,
    now: u64,
    time: impl Fn(u64) -> u64,
) -> Track {
    let processor = buffer.processor_time();
    let (mut events, lost) = buffer.events(time);
    events.truncate(events.partition_point(|event| event.time <= now));
    Track {
        name,
        is_spare,
        events,
        lost: lost as u64,
        processor,
    }
}

/// The pools whose records are kept until the process ends.
static KEPT: Mutex<Kept> = Mutex::new(Kept {
    pools: Vec::new(),
    dropped: 0,
});

struct Kept {
    pools: Vec<Arc<PoolRecord>>,
    /// Number of pools whose records were dropped.
    dropped: usize,
}

/// Maximum number of pools that have ended whose records are kept, and of bytes that their events take.
const MAX_ENDED: usize = 50;
const MAX_ENDED_SIZE: usize = 256 << 20;

/// Whether there has been a pool with a trace.
static IS_ANY_TRACED: AtomicBool = AtomicBool::new(false);

/// Returns whether there has been a pool with a trace. Pools that are only watched have none.
pub(super) fn is_any_traced() -> bool {
    IS_ANY_TRACED.load(Ordering::Relaxed)
}

/// The threads outside of all pools that have a buffer, with their names.
static OUTSIDE: Mutex<Vec<(String, Arc<Buffer>)>> = Mutex::new(Vec::new());

/// Number of events of a thread outside of all pools.
const OUTSIDE_EVENTS: usize = 1 << 14;

/// Maximum number of threads outside of all pools whose events are kept. The buffers of threads that have ended go
/// first.
const MAX_OUTSIDE: usize = 100;

/// Returns a buffer for this thread, which is a worker of no pool, if there is room for one.
pub(super) fn outside_thread() -> Option<Arc<Buffer>> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let buffer = Arc::new(Buffer::new(OUTSIDE_EVENTS).ok()?);
    let name = own_name().unwrap_or_else(|| NUMBER.fetch_add(1, Ordering::Relaxed).to_string());
    let mut threads = lock(&OUTSIDE);
    if threads.len() >= MAX_OUTSIDE {
        // A thread that lives has its buffer, too.
        let ended = threads
            .iter()
            .position(|(_, buffer)| Arc::strong_count(buffer) == 1)?;
        threads.remove(ended);
    }
    threads.push((format!("thread {name}"), Arc::clone(&buffer)));
    Some(buffer)
}

#[cfg(not(loom))]
fn own_name() -> Option<String> {
    thread::current().name().map(str::to_owned)
}

#[cfg(loom)]
fn own_name() -> Option<String> {
    None
}

/// Returns a trace of all pools whose records are kept.
pub(super) fn collect_all(baseline: Option<Baseline>) -> Trace {
    let kept = lock(&KEPT);
    let (pools, dropped) = (kept.pools.clone(), kept.dropped);
    drop(kept);
    let mut trace = collect(pools.iter().map(|pool| &**pool));
    (trace.dropped_pools, trace.baseline) = (dropped, baseline);
    // Of several pools, another one may have run the program.
    if let ([pool], 0) = (&mut trace.pools[..], dropped) {
        pool.whole_program = Some((0, trace.end));
    }
    trace
}

fn collect<'p>(pools: impl Iterator<Item = &'p PoolRecord>) -> Trace {
    let (time, now) = to_time();
    let now = time(now);
    let pools: Vec<_> = pools.map(|pool| pool.collect(now, time)).collect();
    let threads = lock(&OUTSIDE).clone();
    let threads = threads
        .into_iter()
        .map(|(name, buffer)| track(name, false, &buffer, now, time));
    let arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    let command: Vec<_> = arguments.collect();
    let cores = origin().cores;
    Trace {
        program: program(),
        command: command.join(" "),
        machine: format!(
            "{cores} {}, {} {}",
            if cores == 1 { "core" } else { "cores" },
            std::env::consts::OS,
            std::env::consts::ARCH
        ),
        cores,
        date: date(),
        end: now,
        pools,
        threads: threads.collect(),
        dropped_pools: 0,
        baseline: None,
        speed_up: None,
        critical_path: None,
    }
}

/// Returns the name of the program.
pub(crate) fn program() -> String {
    let path = std::env::args_os().next().map(PathBuf::from);
    let name = path.as_deref().and_then(Path::file_name);
    name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Returns the date and the time, in Coordinated Universal Time.
fn date() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = now.map_or(0, |now| now.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Returns the year, the month and the day of this number of days after 1 January 1970.
fn civil(mut days: u64) -> (u64, usize, u64) {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let mut year = 1970;
    loop {
        let length = 365 + u64::from(is_leap(year));
        if days < length {
            break;
        }
        days -= length;
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    (year, month + 1, days + 1)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::civil;

    #[test]
    fn days_become_dates() {
        let dates = [0, 59, 11_016, 11_017, 20_787].map(civil);
        let expected = [
            (1970, 1, 1),
            (1970, 3, 1),
            (2000, 2, 29),
            (2000, 3, 1),
            (2026, 11, 30),
        ];
        assert_eq!(dates, expected);
    }
}
