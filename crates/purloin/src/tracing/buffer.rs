//! The buffer of one thread, in which new events overwrite the oldest ones.
//!
//! Only its own thread writes to a buffer. Other threads may read it at any time, and the writer does not wait for them. An
//! event is three words. The writer stores the words and then the number of events. A reader copies the words and then
//! loads the number again: events that may have been overwritten meanwhile, it drops.
//!
//! The race: a reader copies event *n* − *c*, where *c* is the capacity, while the writer stores the words of event *n* in
//! the same place. The reader must see afterwards that *n* events exist, so that it knows that event *n* − *c* may be torn. The writer's
//! fence, between the store of the number *n* and the words of event *n*, and the reader's fence, between the words and
//! the number, make sure of that.

use purloin_trace::{Activity, Event, ProcessorTime, What};

use super::processor_time;
use crate::stats::clock::ticks;
use crate::stats::counters::Count;
use crate::sync::plain::{AtomicU64, Mutex, lock};
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
    /// When the attempt began that got the next stolen task, in ticks; 0 if it is unknown.
    stealing_since: AtomicU64,
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

/// What a thread records. A time is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    Begins(Activity),
    TaskEnd,
    Asleep,
    Awake,
    HandoffEnd,
    Wake {
        pool: u64,
        worker: usize,
    },
    SpanBegin(&'static str),
    SpanEnd,
    Counted(Count),
    /// `since` is in ticks.
    Steal {
        victim: usize,
        depth: usize,
        since: u64,
    },
}

// The second word of an event: its kind in the lowest byte, then a number of 24 bits, then one of 32 bits.
const KIND_BITS: u32 = 8;
const NUMBER_BITS: u32 = 24;

impl Record {
    /// Returns the second and the third word.
    fn encode(self) -> [usize; 2] {
        let (kind, number, half, word) = match self {
            Record::Begins(activity) => (0, activity as usize, 0, 0),
            Record::TaskEnd => (1, 0, 0, 0),
            Record::Asleep => (2, 0, 0, 0),
            Record::Awake => (3, 0, 0, 0),
            Record::HandoffEnd => (4, 0, 0, 0),
            Record::Wake { pool, worker } => (5, worker, 0, pool as usize),
            Record::SpanBegin(name) => (6, 0, name.len(), name.as_ptr().expose_provenance()),
            Record::SpanEnd => (7, 0, 0, 0),
            Record::Counted(count) => (8, count as usize, 0, 0),
            Record::Steal {
                victim,
                depth,
                since,
            } => (9, victim, depth & u32::MAX as usize, since as usize),
        };
        let half = half << (KIND_BITS + NUMBER_BITS);
        [kind | number << KIND_BITS | half, word]
    }

    /// Returns the record with these words.
    ///
    /// # Safety
    ///
    /// The words are those of one record, from [`encode`](Self::encode).
    unsafe fn decode([first, word]: [usize; 2]) -> Record {
        let number = first >> KIND_BITS & ((1 << NUMBER_BITS) - 1);
        let half = first >> (KIND_BITS + NUMBER_BITS);
        match first & ((1 << KIND_BITS) - 1) {
            0 => Record::Begins(Activity::ALL[number]),
            1 => Record::TaskEnd,
            2 => Record::Asleep,
            3 => Record::Awake,
            4 => Record::HandoffEnd,
            5 => Record::Wake {
                pool: word as u64,
                worker: number,
            },
            6 => {
                let start = std::ptr::with_exposed_provenance(word);
                // SAFETY: `encode` took the address and the length from a string that lives for ever, by the caller's
                // promise.
                let name = unsafe {
                    std::str::from_utf8_unchecked(std::slice::from_raw_parts(start, half))
                };
                Record::SpanBegin(name)
            }
            7 => Record::SpanEnd,
            8 => Record::Counted(Count::ALL[number]),
            9 => Record::Steal {
                victim: number,
                depth: half,
                since: word as u64,
            },
            kind => unreachable!("no record has kind {kind}"),
        }
    }

    /// Returns what has happened. `time` converts ticks.
    fn what(self, time: impl Fn(u64) -> u64) -> What {
        match self {
            Record::Begins(activity) => What::Begins(activity),
            Record::TaskEnd => What::TaskEnd,
            Record::Asleep => What::Asleep,
            Record::Awake => What::Awake,
            Record::HandoffEnd => What::HandoffEnd,
            Record::Wake { pool, worker } => What::Wake {
                pool: pool as u32,
                worker: worker as u32,
            },
            Record::SpanBegin(name) => What::SpanBegin(name),
            Record::SpanEnd => What::SpanEnd,
            Record::Counted(count) => What::Counted(count.name()),
            Record::Steal {
                victim,
                depth,
                since,
            } => What::Steal {
                victim: victim as u32,
                depth: depth as u32,
                since: time(since),
            },
        }
    }
}

impl Buffer {
    /// Returns a buffer with room for at least `events` events. It takes memory only as events are written.
    pub(crate) fn new(events: usize) -> Buffer {
        Buffer {
            written: AtomicUsize::new(0),
            words: zeros(WORDS * events.next_power_of_two()),
            thread: Mutex::new(Thread::None),
            stealing_since: AtomicU64::new(0),
        }
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
        let [first, second] = record.encode();
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

    /// Notes when the attempt began that got the next stolen task, in ticks. Called on the buffer's own thread.
    pub(crate) fn steals_since(&self, begin: u64) {
        self.stealing_since.store(begin, Ordering::Relaxed);
    }

    /// Records that a stolen task begins. Called on the buffer's own thread.
    pub(crate) fn task_begins(&self, victim: usize, depth: usize) {
        let now = ticks();
        let since = match self.stealing_since.swap(0, Ordering::Relaxed) {
            0 => now,
            since => since,
        };
        self.push_at(
            now,
            Record::Steal {
                victim,
                depth,
                since,
            },
        );
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
        let event = |[at, first, second]: [usize; WORDS]| {
            // SAFETY: `read` returns only events that the writer has written whole, and the writer has encoded them.
            let record = unsafe { Record::decode([first, second]) };
            Event {
                time: time(at as u64),
                what: record.what(&time),
            }
        };
        (events.into_iter().map(event).collect(), lost)
    }

    /// Records that the calling thread writes to this buffer from now on.
    pub(super) fn thread_begins(&self) {
        *lock(&self.thread) = Thread::Runs(processor_time::own_thread());
    }

    /// Records that the calling thread, which has written to this buffer, ends.
    pub(super) fn thread_ends(&self) {
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
fn zeros(count: usize) -> Box<[AtomicUsize]> {
    let zeros = Box::into_raw(vec![0_usize; count].into_boxed_slice());
    // SAFETY: an `AtomicUsize` has the size, the alignment and the bits of a `usize`.
    unsafe { Box::from_raw(zeros as *mut [AtomicUsize]) }
}

#[cfg(loom)]
fn zeros(count: usize) -> Box<[AtomicUsize]> {
    (0..count).map(|_| AtomicUsize::new(0)).collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_record_survives_its_encoding() {
        let records = [
            Record::Begins(Activity::SearchingInJoin),
            Record::TaskEnd,
            Record::Asleep,
            Record::Awake,
            Record::HandoffEnd,
            Record::Wake {
                pool: 1 << 40,
                worker: 4095,
            },
            Record::SpanBegin("sort the edges"),
            Record::SpanBegin(""),
            Record::SpanEnd,
            Record::Counted(Count::SpareTasks),
            Record::Steal {
                victim: 8191,
                depth: u32::MAX as usize,
                since: u64::MAX,
            },
        ];
        for record in records {
            // SAFETY: the words come from `encode`.
            let decoded = unsafe { Record::decode(record.encode()) };
            assert_eq!(decoded, record);
        }
    }

    #[test]
    fn the_newest_events_overwrite_the_oldest() {
        let buffer = Buffer::new(4);
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
            let buffer = Arc::new(Buffer::new(2));
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
