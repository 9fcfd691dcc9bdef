//! Sub-string finder: for each place in a string, finds the longest copy of the text that starts
//! there.
//!
//! A task handles one place. Its duration depends on the lengths of the matches.
//!
//! Source: Wool, section 5.1, after the example of the same name in Intel's TBB.

use purloin::Worker;

use crate::kernel::{Answer, Description, Input, Inputs, Kernel, REPETITIONS, Range};

/// The longest match of one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Match {
    /// The place where the copy starts.
    pub start: u32,
    /// The length of the copy.
    pub len: u32,
}

/// Finds, for each place in `text`, the other place where the longest copy of the text from there
/// starts. If several copies have the same length, it takes the first.
///
/// # Panics
///
/// Panics if `text` and `matches` differ in length.
pub fn find<W: Worker>(mut w: W, text: &[u8], matches: &mut [Match]) {
    assert_eq!(text.len(), matches.len());
    find_from(&mut w, text, 0, matches);
}

/// Finds the matches of the places from `first` on. Inlined, so that the token stays in registers.
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

/// Returns the `n`-th Fibonacci string. The first two are "a" and "b". Each later string is its
/// predecessor followed by the predecessor's predecessor.
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
        about: "for each position in a Fibonacci string, the longest match elsewhere in the text",
        inputs: Inputs::Numbers(&[
            Range {
                name: "concatenations",
                min: 2,
                max: 22,
                default: None,
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

    /// Finds all matches. The answer is the sum of their lengths.
    fn run<W: Worker>(&mut self, mut w: W) -> Answer {
        for _ in 0..self.repetitions {
            // Keeps the compiler from reusing the matches of the last repetition.
            let text = std::hint::black_box(&*self.text);
            find_from(&mut w, text, 0, &mut self.matches);
        }
        Answer::Number(self.matches.iter().map(|found| u64::from(found.len)).sum())
    }

    /// Computes all lengths by dynamic programming: the length of the match of two places follows
    /// from the length of the match of the two next places.
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
