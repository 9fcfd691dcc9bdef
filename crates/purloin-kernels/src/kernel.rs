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
    fn prepare(input: u32) -> Self;

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
    /// A number in a range, both ends included.
    Number {
        /// The least number.
        least: u32,
        /// The greatest number.
        most: u32,
    },
    /// One of some names.
    Name(&'static [&'static str]),
}

impl Inputs {
    /// Reads an input: the number itself, or the position of the name. `None`
    /// if it is not among these inputs.
    pub fn parse(&self, text: &str) -> Option<u32> {
        match *self {
            Inputs::Number { least, most } => {
                let number = text.parse().ok()?;
                (least..=most).contains(&number).then_some(number)
            }
            Inputs::Name(names) => {
                let position = names.iter().position(|&name| name == text)?;
                u32::try_from(position).ok()
            }
        }
    }

    /// The text of an input, such that [`Inputs::parse`] reads it back.
    pub(crate) fn text(&self, input: u32) -> String {
        match self {
            Inputs::Number { .. } => input.to_string(),
            Inputs::Name(names) => names[input as usize].to_owned(),
        }
    }
}

impl fmt::Display for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Inputs::Number { least, most } => write!(f, "a number from {least} to {most}"),
            Inputs::Name([]) => Ok(()),
            Inputs::Name([only]) => f.write_str(only),
            Inputs::Name([first @ .., last]) => write!(f, "{} or {last}", first.join(", ")),
        }
    }
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
