//! Strands one after the other, in few bytes: [`Tape`].

use super::mark::{CODES, Mark};

/// A stretch of a program without parallelism in it.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Strand {
    /// How long it takes, in nanoseconds.
    pub nanoseconds: f64,
    /// What ends it.
    pub mark: Mark,
}

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

    /// A strand of so many ticks.
    pub fn strand(&mut self, ticks: f64, mark: Mark) {
        // What is left of a strand besides whole ticks, or lacking if it seemed to take less than
        // nothing, the next one has.
        let exact = ticks + self.rest;
        let ticks = exact.max(0.0).round() as u64;
        self.rest = exact - ticks as f64;
        let tape = &mut self.tape;
        tape.strands += 1;
        tape.ticks += ticks;
        tape.tasks += u64::from(mark.is_task());
        tape.push(ticks * CODES + u64::from(mark.code()));
        if let Mark::Got(number) = mark {
            tape.push(number.into());
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

    /// All strands.
    pub fn strands(&self) -> Strands<'_> {
        Strands {
            bytes: &self.bytes,
            tick: self.tick,
        }
    }
}

/// The strands of a tape. They end where what follows is no strand.
pub(crate) struct Strands<'t> {
    bytes: &'t [u8],
    tick: f64,
}

impl Strands<'_> {
    /// Whether nothing follows.
    pub fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }
}

impl Iterator for Strands<'_> {
    type Item = Strand;

    fn next(&mut self) -> Option<Strand> {
        let mut bytes = self.bytes;
        let number = number(&mut bytes)?;
        let got = || u32::try_from(self::number(&mut bytes)?).ok();
        let mark = Mark::of((number % CODES) as u8, got)?;
        self.bytes = bytes;
        Some(Strand {
            nanoseconds: (number / CODES) as f64 * self.tick,
            mark,
        })
    }
}

/// Reads a number in LEB128, if there is one.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
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
        scribe.strand(2.0, Mark::Future);
        scribe.strand(-0.7, Mark::FutureDone);
        scribe.strand(1e9, Mark::Got(70_000));
        scribe.strand(1.3, Mark::End);
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
