//! A compact encoding of strands.

use super::mark::{CODES, Mark, Strand};

/// The strands of a program, encoded in bytes.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct EncodedStrands {
    pub bytes: Vec<u8>,
    /// Number of tasks.
    pub tasks: u64,
    /// Number of divisions of loops and sorts.
    pub splits: u64,
    /// Number of strands.
    pub strands: u64,
    /// The sum of all strands, in ticks.
    pub ticks: u64,
    /// The duration of a tick, in nanoseconds.
    pub tick: f64,
}

/// Encodes strands one after the other.
#[derive(Default)]
pub(crate) struct Encoder {
    pub encoded: EncodedStrands,
    /// The rounding error so far, and the parts of the next strand, in ticks.
    rest: f64,
}

impl Encoder {
    /// Returns an encoder without strands. A tick takes `tick` nanoseconds.
    pub fn new(tick: f64) -> Encoder {
        Encoder {
            encoded: EncodedStrands {
                tick,
                ..EncodedStrands::default()
            },
            ..Encoder::default()
        }
    }

    /// Appends a strand of this many ticks. Without a mark, it is a part of the next strand.
    pub fn push(&mut self, ticks: f64, mark: Option<Mark>) {
        let Some(mark) = mark else {
            self.rest += ticks;
            return;
        };
        // The rounding error goes to the next strand. So does the negative duration of a strand
        // that the correction has made too short.
        let exact = ticks + self.rest;
        let ticks = exact.max(0.0).round() as u64;
        self.rest = exact - ticks as f64;
        let encoded = &mut self.encoded;
        encoded.strands += 1;
        encoded.ticks += ticks;
        encoded.tasks += u64::from(mark.is_task());
        encoded.push(ticks * CODES + u64::from(mark.code()));
        encoded.splits += u64::from(mark == Mark::Split);
        if let Some(number) = mark.number() {
            encoded.push(number.into());
        }
    }
}

impl EncodedStrands {
    /// Returns the sum of all strands, in nanoseconds.
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

    /// Decodes the strands, up to the first invalid byte.
    pub fn strands(&self) -> Strands<'_> {
        Strands {
            bytes: &self.bytes,
            tick: self.tick,
        }
    }
}

/// Decodes strands.
pub(crate) struct Strands<'b> {
    bytes: &'b [u8],
    tick: f64,
}

impl Strands<'_> {
    /// Returns whether all bytes were decoded.
    pub fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }
}

impl Iterator for Strands<'_> {
    type Item = Strand;

    fn next(&mut self) -> Option<Strand> {
        let mut bytes = self.bytes;
        let number = number(&mut bytes)?;
        let number_of_mark = || u32::try_from(self::number(&mut bytes)?).ok();
        let mark = Mark::from_code((number % CODES) as u8, number_of_mark)?;
        self.bytes = bytes;
        Some(Strand {
            nanoseconds: (number / CODES) as f64 * self.tick,
            mark,
        })
    }
}

/// Reads a number in LEB128. Returns `None` if the bytes do not begin with one.
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
    fn encoded_strands_are_decoded_to_the_nearest_tick() {
        let mut encoder = Encoder::new(0.5);
        encoder.push(2.0, Some(Mark::Future));
        encoder.push(-0.7, Some(Mark::FutureDone));
        encoder.push(1e9, Some(Mark::Got(70_000)));
        encoder.push(0.8, None);
        encoder.push(0.5, Some(Mark::End));
        let encoded = encoder.encoded;
        let strands: Vec<_> = encoded.strands().collect();
        let expected = [
            (1.0, Mark::Future),
            (0.0, Mark::FutureDone),
            (499_999_999.5, Mark::Got(70_000)),
            (1.0, Mark::End),
        ];
        let expected = expected.map(|(nanoseconds, mark)| Strand { nanoseconds, mark });
        assert_eq!(strands, expected);
        assert_eq!(
            (encoded.tasks, encoded.strands, encoded.ticks),
            (1, 4, 1_000_000_003)
        );
    }
}
