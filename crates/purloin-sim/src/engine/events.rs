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
    /// The number of the entry: of two at the same time, the older one comes first.
    number: u64,
    worker: u32,
    event: Event,
}

impl Entry {
    fn is_before(&self, other: &Entry) -> bool {
        (self.time, self.number) < (other.time, other.number)
    }
}

/// All that is going to happen, earliest first.
///
/// A heap in which each entry has four below it: half as deep as one with two, and the
/// four are neighbours in memory, which is where its time goes with a million entries.
#[derive(Debug, Default)]
pub struct Events {
    heap: Vec<Entry>,
    entries: u64,
}

const CHILDREN: usize = 4;

impl Events {
    /// How many there have been.
    pub fn count(&self) -> u64 {
        self.entries
    }

    /// When the next is to happen.
    pub fn first(&self) -> Option<Time> {
        self.heap.first().map(|entry| entry.time)
    }

    /// This is to happen to a worker at that time.
    pub fn add(&mut self, time: Time, worker: u32, event: Event) {
        let entry = Entry {
            time,
            number: self.entries,
            worker,
            event,
        };
        self.entries += 1;
        let mut place = self.heap.len();
        self.heap.push(entry);
        while place > 0 {
            let parent = (place - 1) / CHILDREN;
            if !entry.is_before(&self.heap[parent]) {
                break;
            }
            self.heap[place] = self.heap[parent];
            place = parent;
        }
        self.heap[place] = entry;
    }

    /// Takes the earliest: when, and what happens to whom.
    pub fn next(&mut self) -> Option<(Time, u32, Event)> {
        let first = *self.heap.first()?;
        let last = self.heap.pop()?;
        if !self.heap.is_empty() {
            self.sink(last);
        }
        Some((first.time, first.worker, first.event))
    }

    /// Puts this where the first was, or further down.
    fn sink(&mut self, entry: Entry) {
        let mut place = 0;
        loop {
            let first = CHILDREN * place + 1;
            let last = (first + CHILDREN).min(self.heap.len());
            let mut least = place;
            let mut before = entry;
            for child in first..last {
                if self.heap[child].is_before(&before) {
                    least = child;
                    before = self.heap[child];
                }
            }
            if least == place {
                break;
            }
            self.heap[place] = before;
            place = least;
        }
        self.heap[place] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn events_come_in_the_order_of_their_times_and_of_their_numbers() {
        let mut random = Random::new(3);
        let mut events = Events::default();
        let mut expected = Vec::new();
        for number in 0..1000 {
            let time = Time::from_picoseconds(random.below(100).into());
            events.add(time, number, Event::Worked);
            expected.push((time, number));
            if number % 3 == 2 {
                expected.sort();
                let (time, worker, _) = events.next().expect("just added");
                assert_eq!((time, worker), expected.remove(0));
            }
        }
        expected.sort();
        let rest = std::iter::from_fn(|| events.next());
        assert!(rest.map(|(time, worker, _)| (time, worker)).eq(expected));
    }
}
