//! What happens when: [`Events`].

use crate::Time;

/// What happens to a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// It has done a stretch of work.
    Worked,
    /// It has looked at a possible victim.
    Sampled,
    /// It reaches into its victim.
    Reached,
    /// The request of this worker arrives.
    Asked(u32),
    /// The answer to its request arrives.
    Answered,
    /// It hears that the task that it waits for is done.
    Woken,
}

/// Something that is going to happen.
#[derive(Clone, Copy, Debug)]
struct Entry {
    time: Time,
    worker: u32,
    event: Event,
}

/// All that is going to happen, earliest first; of what happens at the same time, that first
/// which was added first.
///
/// A radix heap. Nothing is added that is to happen before what happened last; so entries need
/// not be in order, but only sorted by the highest bit in which their time is not that of what
/// happened last. When the lowest bucket is reached, what is in it moves to lower ones. With
/// a million entries that is five times as fast as a heap in one array, which it would go
/// through from end to end at random: here, entries are added at the ends of arrays, and taken
/// from their beginning. As nothing overtakes what has the same time, no entry needs a number.
///
/// Source: Ahuja, Mehlhorn, Orlin and Tarjan, *Faster algorithms for the shortest path problem*
/// (Journal of the ACM, 1990).
#[derive(Debug)]
pub struct Events {
    buckets: Vec<Bucket>,
    /// A bit for each bucket that is not empty.
    filled: u128,
    /// When what happened last has happened.
    last: Time,
    /// How much of the lowest bucket is taken.
    taken: usize,
    entries: u64,
}

#[derive(Clone, Debug, Default)]
struct Bucket {
    entries: Vec<Entry>,
    /// The earliest of their times, if there are any.
    first: Time,
}

/// With so many entries in the lowest bucket, they are what happens soon.
const SOON: std::ops::RangeInclusive<usize> = 16..=256;

/// One for times that are the same, and one for each bit.
const BUCKETS: usize = 65;

impl Events {
    pub fn new() -> Events {
        Events {
            buckets: vec![Bucket::default(); BUCKETS],
            filled: 0,
            last: Time::ZERO,
            taken: 0,
            entries: 0,
        }
    }

    /// How many there have been.
    pub fn count(&self) -> u64 {
        self.entries
    }

    /// When the next is to happen.
    pub fn first(&self) -> Option<Time> {
        let lowest = self.buckets.get(self.filled.trailing_zeros() as usize);
        lowest.map(|bucket| bucket.first)
    }

    /// This is to happen to a worker at that time, which is not before what happened last.
    pub fn add(&mut self, time: Time, worker: u32, event: Event) {
        debug_assert!(time >= self.last, "{time} after {}", self.last);
        self.entries += 1;
        self.put(Entry {
            time,
            worker,
            event,
        });
    }

    fn put(&mut self, entry: Entry) {
        let differing = entry.time.picoseconds() ^ self.last.picoseconds();
        let place = (u64::BITS - differing.leading_zeros()) as usize;
        let bucket = &mut self.buckets[place];
        if bucket.entries.is_empty() || entry.time < bucket.first {
            bucket.first = entry.time;
        }
        bucket.entries.push(entry);
        self.filled |= 1 << place;
    }

    /// Takes the earliest: when, and what happens to whom. Says now and then of some workers
    /// that something will happen to them soon.
    pub fn next(&mut self, mut soon: impl FnMut(u32)) -> Option<(Time, u32, Event)> {
        let place = self.filled.trailing_zeros() as usize;
        self.last = self.buckets.get(place)?.first;
        if place > 0 {
            self.filled &= !(1 << place);
            let mut entries = std::mem::take(&mut self.buckets[place].entries);
            if SOON.contains(&entries.len()) {
                entries.iter().for_each(|entry| soon(entry.worker));
            }
            entries.drain(..).for_each(|entry| self.put(entry));
            // Empty, but it has room.
            self.buckets[place].entries = entries;
        }
        let now = &mut self.buckets[0].entries;
        let entry = now[self.taken];
        self.taken += 1;
        if self.taken == now.len() {
            now.clear();
            self.taken = 0;
            self.filled &= !1;
        }
        Some((entry.time, entry.worker, entry.event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn events_come_in_the_order_of_their_times_and_in_which_they_were_added() {
        let mut random = Random::new(3);
        for longest in [1, 100, 1 << 20, u32::MAX] {
            let mut events = Events::new();
            let (mut expected, mut now) = (Vec::new(), 0);
            for number in 0..1000 {
                let time = now + u64::from(random.below(longest));
                events.add(Time::from_picoseconds(time), number, Event::Worked);
                expected.push((time, number));
                if number % 3 == 2 {
                    expected.sort();
                    assert_eq!(events.first().map(Time::picoseconds), Some(expected[0].0));
                    let (time, worker, _) = events.next(|_| ()).expect("just added");
                    now = time.picoseconds();
                    assert_eq!((now, worker), expected.remove(0));
                }
            }
            expected.sort();
            let rest = std::iter::from_fn(|| events.next(|_| ()));
            let rest = rest.map(|(time, worker, _)| (time.picoseconds(), worker));
            assert!(rest.eq(expected));
            assert_eq!((events.first(), events.count()), (None, 1000));
        }
    }
}
