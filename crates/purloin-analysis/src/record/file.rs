//! Recordings in files: writing, reading and checking them.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use super::{OnAllCores, Recording};
use crate::strands::{EncodedStrands, Mark};

const MAGIC: &[u8; 8] = b"PURLOIN\0";
const VERSION: u32 = 3;

/// The error of a recording that cannot be read.
#[non_exhaustive]
pub enum RecordingError {
    /// The file cannot be read.
    Unreadable(io::Error),
    /// The file is not a recording.
    NotARecording,
    /// The file has another version of the format.
    Version(u32),
    /// The recording ends too early.
    Truncated,
    /// The recording was changed since it was written.
    Damaged,
}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordingError::Unreadable(error) => write!(f, "cannot be read: {error}"),
            RecordingError::NotARecording => {
                f.write_str("not a recording; `purloin record` makes one")
            }
            RecordingError::Version(version) => write!(
                f,
                "the recording has version {version} of the format, and this program reads \
                 version {VERSION}; record the program again"
            ),
            RecordingError::Truncated => {
                f.write_str("the recording ends too early; record the program again")
            }
            RecordingError::Damaged => {
                f.write_str("the recording is damaged; record the program again")
            }
        }
    }
}

/// The text of the error: `main` and `unwrap` print errors in this form.
impl fmt::Debug for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for RecordingError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RecordingError::Unreadable(error) => Some(error),
            _ => None,
        }
    }
}

impl Recording {
    /// Writes the recording.
    ///
    /// # Errors
    ///
    /// Returns the error of the writer.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        let mut head = Vec::new();
        head.extend(MAGIC);
        head.extend(VERSION.to_le_bytes());
        head.extend((self.name.len() as u32).to_le_bytes());
        head.extend(self.name.as_bytes());
        head.extend(self.strands.tick.to_le_bytes());
        head.extend(self.slowdown.to_le_bytes());
        head.extend(self.task_nanoseconds.to_le_bytes());
        head.extend(self.on_all_cores.workers.to_le_bytes());
        head.extend(self.on_all_cores.runs.to_le_bytes());
        for time in self.on_all_cores.times() {
            head.extend(time.to_le_bytes());
        }
        for number in [
            self.strands.tasks,
            self.strands.splits,
            self.strands.strands,
            self.strands.bytes.len() as u64,
        ] {
            head.extend(number.to_le_bytes());
        }
        let hash = hash(hash(BASIS, &head), &self.strands.bytes);
        to.write_all(&head)?;
        to.write_all(&self.strands.bytes)?;
        to.write_all(&hash.to_le_bytes())?;
        to.flush()
    }

    /// Reads a recording from a file.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read or is not a complete recording.
    pub fn load(path: &Path) -> Result<Recording, RecordingError> {
        let bytes = fs::read(path).map_err(RecordingError::Unreadable)?;
        Recording::from_bytes(&bytes)
    }

    /// Reads a recording from the bytes that [`write`](Recording::write) has written.
    ///
    /// # Errors
    ///
    /// Returns an error if these are not the bytes of a complete recording.
    pub fn from_bytes(bytes: &[u8]) -> Result<Recording, RecordingError> {
        let mut reader = Reader(bytes);
        match reader.bytes(MAGIC.len()) {
            Ok(magic) if magic == MAGIC => {}
            _ => return Err(RecordingError::NotARecording),
        }
        let version = u32::from_le_bytes(reader.array()?);
        if version != VERSION {
            return Err(RecordingError::Version(version));
        }
        let len = u32::from_le_bytes(reader.array()?);
        let name = reader.bytes(len as usize)?;
        let tick = f64::from_le_bytes(reader.array()?);
        let slowdown = f64::from_le_bytes(reader.array()?);
        let task_nanoseconds = f64::from_le_bytes(reader.array()?);
        let workers = u32::from_le_bytes(reader.array()?);
        let runs = u32::from_le_bytes(reader.array()?);
        let mut times = [0.0; 5];
        for time in &mut times {
            *time = f64::from_le_bytes(reader.array()?);
        }
        let [tasks, splits] = [reader.number()?, reader.number()?];
        let [strands, len] = [reader.number()?, reader.number()?];
        let len = usize::try_from(len).map_err(|_| RecordingError::Truncated)?;
        let encoded = reader.bytes(len)?;
        let end = bytes.len() - reader.0.len();
        let expected = reader.number()?;
        let name = std::str::from_utf8(name);
        if hash(BASIS, &bytes[..end]) != expected || !reader.0.is_empty() {
            return Err(RecordingError::Damaged);
        }
        let on_all_cores = OnAllCores::from_file(workers, runs, times);
        let mut recording = Recording {
            on_all_cores: on_all_cores.ok_or(RecordingError::Damaged)?,
            name: name.map_err(|_| RecordingError::Damaged)?.to_owned(),
            slowdown,
            task_nanoseconds,
            strands: EncodedStrands {
                bytes: encoded.to_vec(),
                tasks,
                splits,
                strands,
                tick,
                ..EncodedStrands::default()
            },
        };
        recording.strands.ticks = recording.check().ok_or(RecordingError::Damaged)?;
        Ok(recording)
    }

    /// Returns the ticks of all strands, or `None` if the strands are not a whole program from
    /// beginning to end.
    fn check(&self) -> Option<u64> {
        let (mut strands, mut tasks, mut splits, mut nanoseconds) = (0, 0, 0, 0.0);
        let mut open = Vec::new();
        let mut futures = Futures::default();
        let mut is_over = false;
        let mut all = self.strands.strands();
        for strand in all.by_ref() {
            strands += 1;
            nanoseconds += strand.nanoseconds;
            let begun = match strand.mark {
                Mark::Second | Mark::Joined | Mark::Finished => open.pop(),
                Mark::Spawned | Mark::FutureDone => open.pop(),
                _ => None,
            };
            let is_right = match strand.mark {
                _ if is_over => false,
                Mark::Second => matches!(begun, Some(Mark::Join | Mark::Split)),
                Mark::Joined => begun == Some(Mark::Second),
                Mark::Finished => begun == Some(Mark::Finish),
                Mark::Spawned => begun.is_some_and(Mark::is_spawn),
                Mark::FutureDone => begun.is_some_and(Mark::is_future) && futures.end(),
                Mark::OuterSpawn(skipped) => has_scope(&open, skipped),
                Mark::OuterFuture(skipped) => has_scope(&open, skipped) && futures.make(),
                Mark::Future => futures.make(),
                Mark::Got(number) => futures.get(number),
                Mark::End => open.is_empty(),
                _ => true,
            };
            if !is_right {
                return None;
            }
            tasks += u64::from(strand.mark.is_task());
            splits += u64::from(strand.mark == Mark::Split);
            match strand.mark {
                Mark::Second | Mark::Split | Mark::Finish => open.push(strand.mark),
                mark if mark.is_task() => open.push(mark),
                Mark::End => is_over = true,
                _ => {}
            }
        }
        let is_slowdown = self.slowdown >= 0.0 && self.slowdown.is_finite();
        let is_time = self.strands.tick > 0.0 && nanoseconds < MAX_WORK;
        let is_cost = (0.0..=MAX_WORK).contains(&self.task_nanoseconds);
        let counted = &self.strands;
        let is_counted =
            (tasks, splits, strands) == (counted.tasks, counted.splits, counted.strands);
        let is_whole = is_over && all.is_at_end() && is_counted;
        (is_whole && is_time && is_slowdown && is_cost)
            .then(|| (nanoseconds / self.strands.tick).round() as u64)
    }
}

/// Returns whether the frame around this many of the innermost frames is the body of a finish, or a spawned task.
fn has_scope(open: &[Mark], skipped: u32) -> bool {
    let place = open.len().checked_sub(1 + skipped as usize);
    let frame = place.map(|place| open[place]);
    skipped > 0 && frame.is_some_and(|frame| frame == Mark::Finish || frame.is_spawn())
}

/// Maximum work of a program, in nanoseconds: a year.
const MAX_WORK: f64 = 3.2e16;

/// The futures so far. A result is not fetched before its task has ended.
#[derive(Default)]
struct Futures {
    /// Whether the result of each future may be fetched.
    made: Vec<bool>,
    /// The futures whose tasks have not ended.
    open: Vec<usize>,
}

impl Futures {
    fn make(&mut self) -> bool {
        self.open.push(self.made.len());
        self.made.push(false);
        true
    }

    fn end(&mut self) -> bool {
        let ended = self.open.pop();
        ended.is_some_and(|number| !std::mem::replace(&mut self.made[number], true))
    }

    fn get(&mut self, number: u32) -> bool {
        let made = self.made.get_mut(number as usize);
        made.is_some_and(|is_made| *is_made)
    }
}

/// Reads from the rest of the bytes.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn bytes(&mut self, len: usize) -> Result<&'b [u8], RecordingError> {
        let (bytes, rest) = self
            .0
            .split_at_checked(len)
            .ok_or(RecordingError::Truncated)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const LEN: usize>(&mut self) -> Result<[u8; LEN], RecordingError> {
        let bytes = self.bytes(LEN)?;
        Ok(bytes
            .try_into()
            .expect("`bytes` returns as many as it was asked for"))
    }

    fn number(&mut self) -> Result<u64, RecordingError> {
        Ok(u64::from_le_bytes(self.array()?))
    }
}

/// The FNV-1a hash of no bytes.
const BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// Returns the FNV-1a hash of `bytes` appended to earlier bytes, whose hash is `before`.
fn hash(before: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(before, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strands::Encoder;

    #[test]
    fn a_recording_must_be_a_program_from_beginning_to_end() {
        use Mark::*;
        for (marks, is_right) in [
            (&[End][..], true),
            (&[], false),
            (&[End, End], false),
            (&[Join, Second, Joined, End], true),
            (&[Join, Joined, End], false),
            (&[Join, Second, End], false),
            (&[Finish, Spawn, Finished, Spawned, End], false),
            (&[Split, Second, Joined, End], true),
            (
                &[
                    Finish,
                    Join,
                    OuterSpawn(1),
                    Spawned,
                    Second,
                    Joined,
                    Finished,
                    End,
                ],
                true,
            ),
            (&[Finish, OuterSpawn(0), Spawned, Finished, End], false),
            (&[Finish, OuterSpawn(1), Spawned, Finished, End], false),
            (
                &[
                    Finish,
                    Join,
                    Join,
                    OuterFuture(1),
                    FutureDone,
                    Second,
                    Joined,
                    Second,
                    Joined,
                    Finished,
                    End,
                ],
                false,
            ),
            (&[Future, FutureDone, Got(0), End], true),
            (&[Future, FutureDone, Got(1), End], false),
            (&[Future, FutureDone, Got(0), Got(0), End], true),
            (&[Future, Got(0), FutureDone, End], false),
            (
                &[Future, Future, FutureDone, Got(1), FutureDone, Got(0), End],
                true,
            ),
            (
                &[Future, Future, FutureDone, Got(0), FutureDone, End],
                false,
            ),
        ] {
            assert_eq!(is_read(&recording(marks)), is_right, "{marks:?}");
        }
    }

    fn recording(marks: &[Mark]) -> Recording {
        let mut encoder = Encoder::new(0.5);
        for &mark in marks {
            encoder.push(3.0, Some(mark));
        }
        Recording {
            name: String::new(),
            slowdown: 1.0,
            task_nanoseconds: 2.5,
            on_all_cores: OnAllCores::from_file(2, 5, [1.0, 1.5, 0.0, 0.5, 1.5]).unwrap(),
            strands: encoder.encoded,
        }
    }

    /// Returns whether a recording is read as it was written. Otherwise it must count as damaged.
    fn is_read(recording: &Recording) -> bool {
        let mut bytes = Vec::new();
        recording.write(&mut bytes).unwrap();
        match Recording::from_bytes(&bytes) {
            Ok(read) => {
                assert_eq!(&read, recording);
                true
            }
            Err(RecordingError::Damaged) => false,
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn invalid_strands_and_numbers_count_as_damage() {
        for (bytes, is_right) in [(&[][..], true), (&[0x0f], false), (&[0x80], false)] {
            let mut recording = recording(&[Mark::End]);
            recording.strands.bytes.extend(bytes);
            assert_eq!(is_read(&recording), is_right, "{bytes:?}");
        }
        for (slowdown, is_right) in [(0.5, true), (-1.0, false), (f64::NAN, false)] {
            let mut recording = recording(&[Mark::End]);
            recording.slowdown = slowdown;
            assert_eq!(is_read(&recording), is_right, "{slowdown}");
        }
        for (seconds, is_right) in [(0.0, true), (-1.0, false), (f64::NAN, false)] {
            let mut recording = recording(&[Mark::End]);
            recording.on_all_cores.seconds = seconds;
            assert_eq!(is_read(&recording), is_right, "{seconds}");
        }
        for (cost, is_right) in [
            (0.0, true),
            (-1.0, false),
            (f64::INFINITY, false),
            (f64::NAN, false),
        ] {
            let mut recording = recording(&[Mark::End]);
            recording.task_nanoseconds = cost;
            assert_eq!(is_read(&recording), is_right, "{cost}");
        }
    }
}
