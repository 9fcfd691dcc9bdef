//! Sub-string finder: where in a string does the longest copy of each place's
//! beginning start?
//!
//! A task is one place, and takes as long as the matches there are. Source:
//! Wool, section 5.1, after the example of that name in Intel's TBB.

use purloin::Worker;

use crate::kernel::{Answer, Description, Input, Inputs, Kernel, REPETITIONS, Range};

/// The longest match of one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Match {
    /// Where the copy starts.
    pub start: u32,
    /// How long it is.
    pub len: u32,
}

/// Finds for each place in `text` the other place from which the longest
/// identical sub-string starts; of several, the first.
///
/// # Panics
///
/// If `text` and `matches` differ in length.
pub fn find<W: Worker>(mut w: W, text: &[u8], matches: &mut [Match]) {
    assert_eq!(text.len(), matches.len());
    find_from(&mut w, text, 0, matches);
}

/// The matches from place `first` on. Inlined, so that the token stays in
/// registers.
#[inline(always)]
fn find_from<W: Worker>(w: &mut W, text: &[u8], first: usize, matches: &mut [Match]) {
    if let [only] = matches {
        *only = longest(text, first);
        return;
    }
    let (low, high) = matches.split_at_mut(matches.len() / 2);
    let middle = first + low.len();
    w.join(
        move |w| find_part(w, text, first, low),
        move |w| find_part(w, text, middle, high),
    );
}

fn find_part<W: Worker>(mut w: W, text: &[u8], first: usize, matches: &mut [Match]) {
    find_from(&mut w, text, first, matches);
}

fn longest(text: &[u8], place: usize) -> Match {
    let mut best = Match::default();
    for start in (0..text.len()).filter(|&start| start != place) {
        let pairs = text[place..].iter().zip(&text[start..]);
        let len = pairs.take_while(|(a, b)| a == b).count() as u32;
        if len > best.len {
            best = Match {
                start: start as u32,
                len,
            };
        }
    }
    best
}

/// The `n`-th Fibonacci string: "a", "b", and from there on the two before, the
/// later one first.
fn fibonacci_string(n: u32) -> Vec<u8> {
    let (mut before, mut last) = (b"a".to_vec(), b"b".to_vec());
    for _ in 0..n {
        let next = [&*last, &*before].concat();
        before = std::mem::replace(&mut last, next);
    }
    before
}

/// The kernel `ssf`.
#[derive(Debug)]
pub struct Ssf {
    text: Vec<u8>,
    matches: Vec<Match>,
    repetitions: u32,
}

impl Kernel for Ssf {
    const DESCRIPTION: Description = Description {
        name: "ssf",
        about: "for each place in a Fibonacci string, the longest copy of what starts there",
        inputs: Inputs::Numbers(&[
            Range {
                what: "concatenations",
                least: 2,
                most: 22,
                usual: None,
            },
            REPETITIONS,
        ]),
        default: "16",
    };

    fn prepare(input: Input) -> Self {
        let text = fibonacci_string(input[0]);
        Ssf {
            matches: vec![Match::default(); text.len()],
            text,
            repetitions: input[1],
        }
    }

    /// Answers with the sum of all lengths.
    fn run<W: Worker>(&mut self, mut w: W) -> Answer {
        for _ in 0..self.repetitions {
            // Not to be taken for what the last repetition found.
            let text = std::hint::black_box(&*self.text);
            find_from(&mut w, text, 0, &mut self.matches);
        }
        Answer::Number(self.matches.iter().map(|found| u64::from(found.len)).sum())
    }

    /// By another way: how long two places match follows from the two after.
    fn verify(&self, answer: &Answer) -> bool {
        let len = self.text.len();
        let mut below = vec![0_u32; len + 1];
        let mut sum = 0;
        for place in (0..len).rev() {
            let row: Vec<u32> = (0..=len)
                .map(|start| match self.text.get(start) {
                    Some(&letter) if letter == self.text[place] => below[start + 1] + 1,
                    _ => 0,
                })
                .collect();
            let others = (0..len).filter(|&start| start != place);
            let longest = others.map(|start| row[start]).max().unwrap_or(0);
            let found = self.matches[place];
            let start = found.start as usize;
            if found.len != longest || longest > 0 && (start == place || row[start] != longest) {
                return false;
            }
            sum += u64::from(longest);
            below = row;
        }
        *answer == Answer::Number(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_fibonacci_strings() {
        assert_eq!(fibonacci_string(0), b"a");
        assert_eq!(fibonacci_string(1), b"b");
        assert_eq!(fibonacci_string(5), b"babbabab");
        assert_eq!(fibonacci_string(12).len(), 233);
    }

    #[test]
    fn the_longest_copy_is_found() {
        let mut matches = [Match::default(); 7];
        find(purloin::Serial, b"abcabca", &mut matches);
        assert_eq!(matches[0], Match { start: 3, len: 4 });
        assert_eq!(matches[6], Match { start: 0, len: 1 });
    }
}
