//! The buffer of one thread, in which new events overwrite the oldest ones.
//!
//! Only its own thread writes to a buffer. Other threads may read it at any time, and the writer does not wait for
//! them. An event is three words. The writer stores the words and then the number of events. A reader copies the
//! words and then loads the number again. It drops the events that may have been overwritten in the meantime.
//!
//! The race: a reader copies event *n* − *c*, where *c* is the capacity, while the writer stores the words of event
//! *n* in the same place. The reader must see afterwards that *n* events exist, so that it knows that event *n* − *c*
//! may be torn. The writer's fence, between the store of the number *n* and the words of event *n*, and the reader's
//! fence, between the words and the number, make sure of that.

#[cfg(not(loom))]
use std::alloc::Layout;
use std::collections::HashMap;
use std::io;
use std::time::Duration;

use purloin_trace::{Activity, Event, ProcessorTime, What};

use super::processor_time;
use crate::stats::clock::{ticks, to_time};
use crate::sync::plain::{Mutex, lock};
use crate::sync::{AtomicUsize, Ordering, fence};

/// Number of words of an event.
const WORDS: usize = 3;

/// The buffer of one thread.
pub(crate) struct Buffer {
    /// Number of events that were written.
    written: AtomicUsize,
    /// The newest events. The number of events that fit is a power of two.
    words: Box<[AtomicUsize]>,
    /// The thread.
    thread: Mutex<Thread>,
    /// The worker's activity, by its number.
    activity: AtomicUsize,
    /// The program's spans.
    spans: Mutex<Spans>,
    sleep: Mutex<Sleep>,
}

/// How long an idle worker has slept, in ticks. Only the thread itself and readers lock it.
#[derive(Default)]
struct Sleep {
    /// Without the sleep that has not ended.
    total: u64,
    /// When the sleep began that has not ended.
    since: Option<u64>,
}

/// How long an idle worker has slept, up to now.
#[derive(Clone, Copy, Default)]
pub(crate) struct IdleSleep {
    pub(crate) total: Duration,
    /// Whether it sleeps now.
    pub(crate) is_asleep: bool,
}

/// The spans of a thread. Only the thread itself and readers lock them, so the lock is nearly always free.
#[derive(Default)]
struct Spans {
    /// The names, in the order of their numbers.
    names: Vec<&'static str>,
    numbers: HashMap<&'static str, usize>,
    /// The spans that have not ended, by the numbers of their names.
    open: Vec<usize>,
}

/// The thread that writes to a buffer.
#[derive(Clone, Copy)]
enum Thread {
    /// It has not begun.
    None,
    /// The number by which the system knows it.
    Runs(u64),
    /// It has ended.
    Ended(Option<ProcessorTime>),
}

/// An event as a thread records it: `push` adds the time, a span has the number of its name, and other times are in ticks.
pub(crate) type Record = What<usize>;

// The second word of an event: its kind in the lowest byte, and a number above. The third word is another number.
const KIND_BITS: u32 = 8;

/// Returns the second and the third word of an event.
fn encode(record: Record) -> [usize; 2] {
    let (kind, first, second) = match record {
        What::Begins(activity) => (0, activity as usize, 0),
        What::ThreadEnd => (1, 0, 0),
        What::Stole { since } => (2, 0, since as usize),
        What::Forced => (3, 0, 0),
        What::Steal { victim, depth } => (4, victim as usize, depth as usize),
        What::TaskEnd => (5, 0, 0),
        What::Call => (6, 0, 0),
        What::Asleep => (7, 0, 0),
        What::Awake => (8, 0, 0),
        What::HandoffBegin => (9, 0, 0),
        What::HandoffEnd => (10, 0, 0),
        What::Published => (11, 0, 0),
        What::Wake { pool, worker } => (12, worker as usize, pool as usize),
        What::SpanBegin(name) => (13, name, 0),
        What::SpanEnd => (14, 0, 0),
        _ => unreachable!("the library records no other event"),
    };
    [kind | first << KIND_BITS, second]
}

/// Returns the event with these words, from [`encode`]. `time` converts ticks, and `names` has the names of spans.
fn decode<N: Copy>(
    [first, second]: [usize; 2],
    time: impl Fn(u64) -> u64,
    names: impl Fn(usize) -> N,
) -> What<N> {
    let number = first >> KIND_BITS;
    match first & ((1 << KIND_BITS) - 1) {
        0 => What::Begins(Activity::ALL[number]),
        1 => What::ThreadEnd,
        2 => What::Stole {
            since: time(second as u64),
        },
        3 => What::Forced,
        4 => What::Steal {
            victim: number as u32,
            depth: second as u32,
        },
        5 => What::TaskEnd,
        6 => What::Call,
        7 => What::Asleep,
        8 => What::Awake,
        9 => What::HandoffBegin,
        10 => What::HandoffEnd,
        11 => What::Published,
        12 => What::Wake {
            pool: second as u32,
            worker: number as u32,
        },
        13 => What::SpanBegin(names(number)),
        14 => What::SpanEnd,
        kind => unreachable!("no event has kind {kind}"),
    }
}

impl Buffer {
    /// Returns a buffer with room for at least `events` events. It takes memory only as events are written.
    ///
    /// # Errors
    ///
    /// Returns an error if the system has too little memory.
    pub(crate) fn new(events: usize) -> io::Result<Buffer> {
        Ok(Buffer {
            written: AtomicUsize::new(0),
            words: zeros(WORDS * events.next_power_of_two())?,
            thread: Mutex::new(Thread::None),
            activity: AtomicUsize::new(usize::MAX),
            spans: Mutex::default(),
            sleep: Mutex::default(),
        })
    }

    /// Returns the number of bytes that the events take.
    pub(super) fn size(&self) -> usize {
        let events = self.words.len() / WORDS;
        events.min(self.written.load(Ordering::Relaxed)) * WORDS * size_of::<usize>()
    }

    /// Returns the place of an event.
    fn place(&self, event: usize) -> &[AtomicUsize] {
        let capacity = self.words.len() / WORDS;
        let place = event & (capacity - 1);
        &self.words[WORDS * place..][..WORDS]
    }

    /// Records something that happens now. Called on the buffer's own thread.
    pub(crate) fn push(&self, record: Record) {
        self.push_at(ticks(), record);
    }

    /// Records something that has happened at this time, in ticks. Called on the buffer's own thread.
    pub(crate) fn push_at(&self, time: u64, record: Record) {
        // Relaxed: only this thread uses it.
        if let Record::Begins(activity) = record {
            self.activity.store(activity as usize, Ordering::Relaxed);
        }
        let written = self.written.load(Ordering::Relaxed);
        let activity = Activity::ALL.get(self.activity.load(Ordering::Relaxed));
        // So that the newest events always say what the worker does.
        if written.is_multiple_of(self.words.len() / WORDS / 4)
            && let Some(&activity) = activity
        {
            self.push_record(time, Record::Begins(activity));
        }
        self.push_record(time, record);
    }

    fn push_record(&self, time: u64, record: Record) {
        let [first, second] = encode(record);
        self.push_words([time as usize, first, second]);
    }

    fn push_words(&self, words: [usize; WORDS]) {
        let event = self.written.load(Ordering::Relaxed);
        // Release: a reader that sees any of the words below sees that `event` events were written.
        fence(Ordering::Release);
        for (place, word) in self.place(event).iter().zip(words) {
            place.store(word, Ordering::Relaxed);
        }
        // Release: a reader that sees the number sees the words.
        self.written.store(event + 1, Ordering::Release);
    }

    /// Records that the worker falls asleep. Called on the buffer's own thread.
    pub(super) fn begin_sleep(&self) {
        let now = ticks();
        // A blocked worker sleeps, too.
        if self.activity.load(Ordering::Relaxed) == Activity::Searching as usize {
            lock(&self.sleep).since = Some(now);
        }
        self.push_at(now, Record::Asleep);
    }

    /// Records that the worker is awake again. Called on the buffer's own thread.
    pub(super) fn end_sleep(&self) {
        let now = ticks();
        {
            let mut sleep = lock(&self.sleep);
            if let Some(since) = sleep.since.take() {
                sleep.total += now.saturating_sub(since);
            }
        }
        self.push_at(now, Record::Awake);
    }

    /// Returns how long the worker has slept while it was idle.
    pub(crate) fn idle_sleep(&self) -> IdleSleep {
        let sleep = lock(&self.sleep);
        let current = sleep.since.map_or(0, |since| ticks().saturating_sub(since));
        IdleSleep {
            total: to_time((sleep.total + current) as f64),
            is_asleep: sleep.since.is_some(),
        }
    }

    /// Records that a span of the program begins. Called on the buffer's own thread.
    pub(super) fn begin_span(&self, name: &'static str) {
        let number = {
            let Spans {
                names,
                numbers,
                open,
            } = &mut *lock(&self.spans);
            let number = *numbers.entry(name).or_insert_with(|| {
                names.push(name);
                names.len() - 1
            });
            open.push(number);
            number
        };
        self.push(Record::SpanBegin(number));
    }

    /// Records that the newest span has ended. Called on the buffer's own thread.
    pub(super) fn end_span(&self) {
        lock(&self.spans).open.pop();
        self.push(Record::SpanEnd);
    }

    /// Returns the name of the newest span that has not ended.
    pub(crate) fn open_span(&self) -> Option<&'static str> {
        let spans = lock(&self.spans);
        spans.open.last().map(|&name| spans.names[name])
    }

    /// Returns the newest events, oldest first, and the number of those that are lost.
    fn read(&self) -> (Vec<[usize; WORDS]>, usize) {
        let capacity = self.words.len() / WORDS;
        // Acquire: the words of these events.
        let end = self.written.load(Ordering::Acquire);
        let begin = end.saturating_sub(capacity);
        let copy = |event| {
            let place = self.place(event);
            std::array::from_fn(|word| place[word].load(Ordering::Relaxed))
        };
        let mut events: Vec<_> = (begin..end).map(copy).collect();
        // Acquire: if any of the words above belongs to event n, this thread sees that n events were written.
        fence(Ordering::Acquire);
        let now = self.written.load(Ordering::Relaxed);
        // The writer may be storing event `now`, over event `now - capacity`.
        let whole = (now + 1).saturating_sub(capacity).clamp(begin, end);
        events.drain(..whole - begin);
        (events, whole)
    }

    /// Returns the events, and the number of those that are lost. `time` converts ticks.
    pub(crate) fn events(&self, time: impl Fn(u64) -> u64) -> (Vec<Event>, usize) {
        let (events, lost) = self.read();
        // After the events, whose names are known by now.
        let names = lock(&self.spans).names.clone();
        let event = |[at, first, second]: [usize; WORDS]| Event {
            time: time(at as u64),
            what: decode([first, second], &time, |name| names[name]),
        };
        (events.into_iter().map(event).collect(), lost)
    }

    /// Records that the calling thread writes to this buffer from now on.
    pub(super) fn thread_begins(&self) {
        *lock(&self.thread) = Thread::Runs(processor_time::own_thread());
    }

    /// Records that the calling thread, which has written to this buffer, ends.
    pub(super) fn thread_ends(&self) {
        self.push(Record::ThreadEnd);
        let mut thread = lock(&self.thread);
        if let Thread::Runs(number) = *thread {
            *thread = Thread::Ended(processor_time::of(number));
        }
    }

    /// Returns what the system says about the thread.
    pub(crate) fn processor_time(&self) -> Option<ProcessorTime> {
        match *lock(&self.thread) {
            Thread::None => Some(ProcessorTime::default()),
            Thread::Runs(number) => processor_time::of(number),
            Thread::Ended(time) => time,
        }
    }
}

/// Returns this number of words, all 0, in pages that the system makes when they are used.
#[cfg(not(loom))]
fn zeros(count: usize) -> io::Result<Box<[AtomicUsize]>> {
    let no_memory = || io::Error::from(io::ErrorKind::OutOfMemory);
    let layout = Layout::array::<AtomicUsize>(count).map_err(|_| no_memory())?;
    // SAFETY: the callers need at least one event, so the size is not 0. All bytes 0 are a valid `AtomicUsize`, and a
    // box frees memory with the same layout.
    unsafe {
        let words = std::alloc::alloc_zeroed(layout).cast::<AtomicUsize>();
        if words.is_null() {
            return Err(no_memory());
        }
        Ok(Box::from_raw(std::ptr::slice_from_raw_parts_mut(
            words, count,
        )))
    }
}

#[cfg(loom)]
fn zeros(count: usize) -> io::Result<Box<[AtomicUsize]>> {
    Ok((0..count).map(|_| AtomicUsize::new(0)).collect())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_record_survives_its_encoding() {
        let records = [
            Record::Begins(Activity::SearchingInJoin),
            Record::ThreadEnd,
            Record::Stole { since: u64::MAX },
            Record::Forced,
            Record::Steal {
                victim: 8191,
                depth: u32::MAX,
            },
            Record::TaskEnd,
            Record::Call,
            Record::Asleep,
            Record::Awake,
            Record::HandoffBegin,
            Record::HandoffEnd,
            Record::Published,
            Record::Wake {
                pool: u32::MAX,
                worker: 4095,
            },
            Record::SpanBegin(70_000),
            Record::SpanEnd,
        ];
        for record in records {
            assert_eq!(decode(encode(record), |ticks| ticks, |name| name), record);
        }
    }

    #[test]
    fn the_newest_events_overwrite_the_oldest() {
        let buffer = Buffer::new(4).unwrap();
        (0..3).for_each(|time| buffer.push_at(time, Record::TaskEnd));
        let times = || {
            let (events, lost) = buffer.events(|ticks| ticks);
            let times: Vec<_> = events.iter().map(|event| event.time).collect();
            (times, lost)
        };
        assert_eq!(times(), (vec![0, 1, 2], 0));
        (3..10).for_each(|time| buffer.push_at(time, Record::TaskEnd));
        // The oldest of four events may be overwritten at this moment.
        assert_eq!(times(), (vec![7, 8, 9], 7));
    }
}

#[cfg(all(loom, test))]
mod models {
    use std::sync::Arc;

    use super::*;

    /// A reader never gets a torn event.
    #[test]
    fn a_reader_gets_whole_events_while_the_writer_overwrites_them() {
        loom::model(|| {
            let buffer = Arc::new(Buffer::new(2).unwrap());
            let writer = Arc::clone(&buffer);
            let thread = loom::thread::spawn(move || {
                (1..=3).for_each(|n| writer.push_words([n, n, n]));
            });
            let (events, lost) = buffer.read();
            for (at, words) in events.into_iter().enumerate() {
                assert_eq!(words, [lost + at + 1; WORDS]);
            }
            thread.join().unwrap();
            assert_eq!(buffer.read(), (vec![[3; WORDS]], 2));
        });
    }
}
