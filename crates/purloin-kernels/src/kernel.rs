//! The trait [`Kernel`], with its [`Description`], [`Input`] and [`Answer`].

use std::fmt;

use purloin::Worker;

use crate::uts::size::Size;

/// A kernel with its input, ready to run.
pub trait Kernel: Send + Sync + Sized {
    /// The kernel's name, purpose and inputs.
    const DESCRIPTION: Description;

    /// Returns how many bytes the data of this input take at least, or 0 if no input has large data.
    fn memory(input: Input) -> u64 {
        let _ = input;
        0
    }

    /// Does the part of the kernel that is not timed, such as making the data.
    ///
    /// # Panics
    ///
    /// May panic if `input` does not come from [`Inputs::parse`] on this kernel's inputs.
    fn prepare(input: Input) -> Self;

    /// Does the part of the kernel that is timed, and returns its answer.
    ///
    /// Prepare a new kernel for each run. A kernel that works in place, such as a sort, would
    /// find its work already done in the second run.
    fn run<W: Worker>(&mut self, w: W) -> Answer;

    /// Returns whether `answer`, which the last run returned, is correct.
    fn verify(&self, answer: &Answer) -> bool;
}

/// A kernel's name, purpose and inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    /// The kernel's name, in lower case.
    pub name: &'static str,
    /// A phrase that describes the kernel's result.
    pub about: &'static str,
    /// The inputs that the kernel accepts.
    pub inputs: Inputs,
    /// The default input.
    pub default: &'static str,
}

/// The inputs that a kernel accepts. `Display` writes them as error messages and lists show them:
/// "a number from 0 to 60".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inputs {
    /// One or more numbers, separated by commas.
    Numbers(&'static [Range]),
    /// One of these names.
    Name(&'static [&'static str]),
    /// One of these names, then numbers.
    NameAndNumbers(&'static [&'static str], &'static [Range]),
}

/// The range of one of the numbers of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The noun for the things that the number counts, in the plural.
    pub name: &'static str,
    /// The smallest number.
    pub min: u32,
    /// The largest number.
    pub max: u32,
    /// The default, if the user may leave out this number and all numbers after it.
    pub default: Option<u32>,
}

/// The range of the number that says how often a kernel repeats its work.
pub(crate) const REPETITIONS: Range = Range {
    name: "repetitions",
    min: 1,
    max: 1_000_000,
    default: Some(1),
};

/// A parsed input: the position of the name in [`Inputs`] if there are names, then the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    values: [u32; Input::MAX_LEN],
    len: usize,
}

impl Input {
    /// The maximum number of values.
    const MAX_LEN: usize = 4;

    fn new(values: &[u32]) -> Input {
        let mut input = Input {
            values: [0; Input::MAX_LEN],
            len: values.len(),
        };
        input.values[..values.len()].copy_from_slice(values);
        input
    }
}

impl std::ops::Deref for Input {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.values[..self.len]
    }
}

impl Inputs {
    /// Parses an input. Returns `None` if the kernel does not accept it.
    pub fn parse(&self, text: &str) -> Option<Input> {
        let (names, ranges) = self.parts();
        let mut parts = text.split(',').fuse();
        let mut values = Vec::new();
        if !names.is_empty() {
            let name = parts.next()?;
            let position = names.iter().position(|&known| known == name)?;
            values.push(u32::try_from(position).ok()?);
        }
        for range in ranges {
            let value = match parts.next() {
                Some(part) => part.parse().ok()?,
                None => range.default?,
            };
            if !(range.min..=range.max).contains(&value) {
                return None;
            }
            values.push(value);
        }
        parts.next().is_none().then(|| Input::new(&values))
    }

    /// Returns the names to choose from, and the ranges of the numbers.
    fn parts(&self) -> (&'static [&'static str], &'static [Range]) {
        match *self {
            Inputs::Numbers(ranges) => (&[], ranges),
            Inputs::Name(names) => (names, &[]),
            Inputs::NameAndNumbers(names, ranges) => (names, ranges),
        }
    }

    /// Returns the shortest text that [`Inputs::parse`] turns into `input`.
    pub fn text(&self, input: Input) -> String {
        let (names, ranges) = self.parts();
        let name = (!names.is_empty()).then(|| names[input[0] as usize].to_owned());
        let numbers = &input[usize::from(name.is_some())..];
        // Leave out the numbers after the last one that differs from its default.
        let differs = |(range, value): (&Range, &u32)| range.default != Some(*value);
        let last = ranges.iter().zip(numbers).rposition(differs);
        let numbers = numbers.iter().take(last.map_or(0, |last| last + 1));
        let parts = name.into_iter().chain(numbers.map(u32::to_string));
        parts.collect::<Vec<_>>().join(",")
    }
}

impl fmt::Display for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Inputs::Numbers([Range { min, max, .. }]) => {
                write!(f, "a number from {min} to {max}")
            }
            Inputs::Numbers(ranges) => write_ranges(f, ranges),
            Inputs::Name([]) => Ok(()),
            Inputs::Name([only]) => f.write_str(only),
            Inputs::Name([first @ .., last]) => write!(f, "{} or {last}", first.join(", ")),
            Inputs::NameAndNumbers(names, ranges) => {
                write!(f, "{},", Inputs::Name(names))?;
                write_ranges(f, ranges)
            }
        }
    }
}

/// Writes each range as `<steps: 1 to 100, default 10>`, separated by commas.
fn write_ranges(f: &mut fmt::Formatter<'_>, ranges: &[Range]) -> fmt::Result {
    for (place, range) in ranges.iter().enumerate() {
        let Range { name, min, max, .. } = range;
        f.write_str(if place > 0 { "," } else { "" })?;
        match range.default {
            None => write!(f, "<{name}: {min} to {max}>")?,
            Some(default) => write!(f, "<{name}: {min} to {max}, default {default}>")?,
        }
    }
    Ok(())
}

/// The result of a kernel. `Display` writes it as reports show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A number.
    Number(u64),
    /// The size of a tree.
    Tree(Size),
    /// A sorted array. The instance keeps the array itself.
    Sorted,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Number(number) => number.fmt(f),
            Answer::Tree(size) => size.fmt(f),
            Answer::Sorted => f.pad("sorted"),
        }
    }
}
