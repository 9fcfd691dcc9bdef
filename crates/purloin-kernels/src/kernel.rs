//! What a kernel is: [`Kernel`], its [`Description`] and its [`Answer`].

use std::fmt;

use purloin::Worker;

use crate::uts;

/// A kernel with its input, ready to run.
pub trait Kernel: Send + Sync + Sized {
    /// What the kernel is called, does and takes.
    const DESCRIPTION: Description;

    /// Does the part that is not timed, such as making the data.
    ///
    /// # Panics
    ///
    /// May panic if `input` is none that [`Inputs::parse`] returns.
    fn prepare(input: Input) -> Self;

    /// Does the part that is timed, and returns what it has computed.
    ///
    /// A kernel that works in place, as a sort does, is to be prepared anew for
    /// each run: the second would find its work done.
    fn run<W: Worker>(&mut self, w: W) -> Answer;

    /// Whether `answer`, of the last run, is right.
    fn verify(&self, answer: &Answer) -> bool;
}

/// What a kernel is called, does and takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    /// Its name, in lower case.
    pub name: &'static str,
    /// What it does and what its input means, in one sentence.
    pub about: &'static str,
    /// The inputs that it takes.
    pub inputs: Inputs,
    /// The input that it has if none is given.
    pub default: &'static str,
}

/// The inputs that a kernel takes. Displayed as they would be listed: "a number
/// from 0 to 60".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inputs {
    /// Numbers, separated by commas.
    Numbers(&'static [Range]),
    /// One of some names.
    Name(&'static [&'static str]),
    /// One of some names, and numbers that may be left out.
    NameAndNumbers(&'static [&'static str], &'static [Range]),
}

/// One of the numbers that make up an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// What it means, in the plural.
    pub what: &'static str,
    /// The least number.
    pub least: u32,
    /// The greatest number.
    pub most: u32,
    /// What it is if it and all that follow are left out; they may not be if
    /// there is nothing.
    pub usual: Option<u32>,
}

/// How often a kernel repeats its work, where the user may say so.
pub(crate) const REPETITIONS: Range = Range {
    what: "repetitions",
    least: 1,
    most: 1_000_000,
    usual: Some(1),
};

/// An input: the position of the name, or the numbers, or both in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    values: [u32; Input::MOST],
    len: usize,
}

impl Input {
    /// The most numbers that an input may have.
    const MOST: usize = 4;

    fn new(values: &[u32]) -> Input {
        let mut input = Input {
            values: [0; Input::MOST],
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
    /// Reads an input. `None` if it is not among these.
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
                None => range.usual?,
            };
            if !(range.least..=range.most).contains(&value) {
                return None;
            }
            values.push(value);
        }
        parts.next().is_none().then(|| Input::new(&values))
    }

    /// The names of which there must be one, and the numbers.
    fn parts(&self) -> (&'static [&'static str], &'static [Range]) {
        match *self {
            Inputs::Numbers(ranges) => (&[], ranges),
            Inputs::Name(names) => (names, &[]),
            Inputs::NameAndNumbers(names, ranges) => (names, ranges),
        }
    }

    /// The text of an input, such that [`Inputs::parse`] reads it back.
    pub fn text(&self, input: Input) -> String {
        let (names, ranges) = self.parts();
        let name = (!names.is_empty()).then(|| names[input[0] as usize].to_owned());
        let numbers = &input[usize::from(name.is_some())..];
        // Numbers at the end are left out where they are as usual.
        let unusual = |(range, value): (&Range, &u32)| range.usual != Some(*value);
        let told = ranges.iter().zip(numbers).rposition(unusual);
        let numbers = numbers.iter().take(told.map_or(0, |last| last + 1));
        let parts = name.into_iter().chain(numbers.map(u32::to_string));
        parts.collect::<Vec<_>>().join(",")
    }
}

impl fmt::Display for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Inputs::Numbers([Range { least, most, .. }]) => {
                write!(f, "a number from {least} to {most}")
            }
            Inputs::Numbers(ranges) => numbers(f, ranges),
            Inputs::Name([]) => Ok(()),
            Inputs::Name([only]) => f.write_str(only),
            Inputs::Name([first @ .., last]) => write!(f, "{} or {last}", first.join(", ")),
            Inputs::NameAndNumbers(names, ranges) => {
                write!(f, "{},", Inputs::Name(names))?;
                numbers(f, ranges)
            }
        }
    }
}

fn numbers(f: &mut fmt::Formatter<'_>, ranges: &[Range]) -> fmt::Result {
    for (place, range) in ranges.iter().enumerate() {
        let Range {
            what, least, most, ..
        } = range;
        f.write_str(if place > 0 { "," } else { "" })?;
        match range.usual {
            None => write!(f, "<{what}: {least} to {most}>")?,
            Some(usual) => write!(f, "<{what}: {least} to {most}, usually {usual}>")?,
        }
    }
    Ok(())
}

/// What a kernel has computed. Displayed as a report would show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A number.
    Number(u64),
    /// The size of a tree.
    Tree(uts::Size),
    /// A sorted array, which stays in the instance.
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
