//! Strands one after the other, in few bytes: [`Tape`].

use crate::profile::{Evaluator, Event};

/// What ends a strand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Mark {
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
    /// A future is got: the one of this number, from 0 on.
    Got(u32),
    /// The body of a finish ends, and with it the finish.
    Finished,
    /// The program ends.
    End,
}

impl Mark {
    fn event(self) -> Event {
        match self {
            Mark::Join => Event::Join,
            Mark::Second => Event::Second,
            Mark::Joined => Event::Joined,
            Mark::Finish => Event::Finish,
            Mark::Spawn => Event::Spawn,
            Mark::Spawned => Event::Spawned,
            Mark::Future => Event::Future,
            Mark::FutureDone => Event::FutureDone,
            Mark::Got(_) => Event::Got,
            Mark::Finished => Event::Finished,
            Mark::End => Event::End,
        }
    }
}

/// A stretch of a program without parallelism in it.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Strand {
    /// How long it takes, in nanoseconds.
    pub nanoseconds: f64,
    /// What ends it.
    pub mark: Mark,
}

/// How many marks there may be.
const MARKS: u64 = 16;

/// Strands in the making, and made.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Tape {
    pub bytes: Vec<u8>,
    pub tasks: u64,
    pub strands: u64,
    /// The sum of all strands, in ticks.
    pub ticks: u64,
    /// How long a tick is, in nanoseconds.
    pub tick: f64,
}

/// Writes strands down.
#[derive(Default)]
pub(crate) struct Scribe {
    pub tape: Tape,
    /// What was rounded off, in ticks.
    rest: f64,
    /// The future that is got next.
    got: u32,
}

impl Scribe {
    /// With an empty tape.
    pub fn new(tick: f64) -> Scribe {
        Scribe {
            tape: Tape {
                tick,
                ..Tape::default()
            },
            ..Scribe::default()
        }
    }

    /// The next [`Event::Got`] is of this future.
    pub fn got(&mut self, number: u32) {
        self.got = number;
    }

    /// A strand of so many ticks, which this event has ended.
    pub fn event(&mut self, event: Event, ticks: f64) {
        // What is left of a strand besides whole ticks, or lacking if it seemed to take less than
        // nothing, the next one has.
        let exact = ticks + self.rest;
        let ticks = exact.max(0.0).round() as u64;
        self.rest = exact - ticks as f64;
        let tape = &mut self.tape;
        tape.strands += 1;
        tape.ticks += ticks;
        tape.tasks += u64::from(matches!(event, Event::Join | Event::Spawn | Event::Future));
        tape.push(ticks * MARKS + event as u64);
        if event == Event::Got {
            tape.push(self.got.into());
        }
    }
}

impl Tape {
    /// What all strands take together, in nanoseconds.
    pub fn work(&self) -> f64 {
        self.ticks as f64 * self.tick
    }

    /// Appends a number in LEB128.
    fn push(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// The longest chain of strands that have to be run one after the other, in nanoseconds.
    pub fn span(&self) -> f64 {
        let mut evaluator = Evaluator::new([0.0; 2]);
        for Strand { nanoseconds, mark } in self.strands() {
            if let Mark::Got(number) = mark {
                evaluator.got(number);
            }
            evaluator.event(mark.event(), nanoseconds);
        }
        evaluator.result().0.spans[0]
    }

    /// All strands. It ends where what follows is no strand.
    pub fn strands(&self) -> impl Iterator<Item = Strand> {
        let mut bytes = self.bytes.iter();
        std::iter::from_fn(move || {
            let number = next(&mut bytes)?;
            let mark = match number % MARKS {
                0 => Mark::Join,
                1 => Mark::Second,
                2 => Mark::Joined,
                3 => Mark::Finish,
                4 => Mark::Spawn,
                5 => Mark::Spawned,
                6 => Mark::Future,
                7 => Mark::FutureDone,
                8 => Mark::Got(u32::try_from(next(&mut bytes)?).ok()?),
                9 => Mark::Finished,
                10 => Mark::End,
                _ => return None,
            };
            Some(Strand {
                nanoseconds: (number / MARKS) as f64 * self.tick,
                mark,
            })
        })
    }
}

/// Reads a number in LEB128, if there is one.
fn next<'b>(bytes: &mut impl Iterator<Item = &'b u8>) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.next()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strands_come_back_as_they_were_taken() {
        let mut scribe = Scribe::new(0.5);
        scribe.event(Event::Future, 2.0);
        scribe.event(Event::FutureDone, -0.7);
        scribe.got(70_000);
        scribe.event(Event::Got, 1e9);
        scribe.event(Event::End, 1.3);
        let tape = scribe.tape;
        let strands: Vec<_> = tape.strands().collect();
        let expected = [
            (1.0, Mark::Future),
            (0.0, Mark::FutureDone),
            (499_999_999.5, Mark::Got(70_000)),
            (1.0, Mark::End),
        ];
        let expected = expected.map(|(nanoseconds, mark)| Strand { nanoseconds, mark });
        assert_eq!(strands, expected);
        assert_eq!(
            (tape.tasks, tape.strands, tape.ticks),
            (1, 4, 1_000_000_003)
        );
    }
}
