//! Loops over text: its lines, words and characters.

use std::str::{Chars, Lines, SplitWhitespace};

use super::{IntoIterations, Iterations};

/// Defines iterations over the pieces of a text. Nobody knows how many there are, so they are
/// counted in bytes: a split or a strip ends with the piece to which the last of the bytes belongs.
macro_rules! pieces {
    ($($(#[$doc:meta])* $name:ident, $Type:ident, $Strip:ident, $Item:ty, $pieces:ident, $end:ident;)*) => {
        $(
            $(#[$doc])*
            pub fn $name(text: &str) -> $Type<'_> {
                $Type(text)
            }

            #[doc = concat!("Pieces of a text, from [`", stringify!($name), "`].")]
            #[derive(Clone, Debug)]
            pub struct $Type<'s>(&'s str);

            impl<'s> Iterations for $Type<'s> {
                type Item = $Item;
                type Strip<'p>
                    = $Strip<'s>
                where
                    Self: 'p;

                #[inline]
                fn remaining(&self) -> usize {
                    self.0.len()
                }

                #[inline]
                fn split_at(self, index: usize) -> (Self, Self) {
                    let end = match index.min(self.0.len()) {
                        0 => 0,
                        index => $end(self.0, index),
                    };
                    let (front, back) = self.0.split_at(end);
                    ($Type(front), $Type(back))
                }

                #[inline]
                fn strip(&mut self, len: usize) -> $Strip<'s> {
                    let (strip, rest) = self.clone().split_at(len);
                    *self = rest;
                    strip.0.$pieces()
                }
            }

            impl<'s> IntoIterations for &$Type<'s> {
                type Iterations = $Type<'s>;
                type Item = $Item;

                #[inline]
                fn into_iterations(self) -> $Type<'s> {
                    self.clone()
                }
            }

            into_iterations! {
                ['s] $Type<'s>,
            }
        )*
    };
}

pieces! {
    /// Returns the lines of a text as the iterations of a loop, without their ends: `"\n"` or
    /// `"\r\n"`.
    ///
    /// ```
    /// use purloin::{Serial, Worker, lines};
    ///
    /// let text = "7\n11\n\n13\n";
    /// let numbers = Serial.par(lines(text)).filter_map(|line| line.parse::<u32>().ok()).collect::<Vec<_>>();
    /// assert_eq!(numbers, [7, 11, 13]);
    /// ```
    lines, LinesOf, Lines, &'s str, lines, end_of_line;

    /// Returns the words of a text as the iterations of a loop: the pieces between white space.
    ///
    /// ```
    /// use purloin::{Serial, Worker, words};
    ///
    /// let longest = Serial.map_reduce(words("steal pilfer  purloin"), str::len, usize::max);
    /// assert_eq!(longest, Some(7));
    /// ```
    words, WordsOf, SplitWhitespace, &'s str, split_whitespace, end_of_word;

    /// Returns the characters of a text as the iterations of a loop. For its bytes, pass
    /// `text.as_bytes()`.
    ///
    /// ```
    /// use purloin::{Serial, Worker, chars};
    ///
    /// assert!(Serial.par(chars("naïve")).any(|c| !c.is_ascii()));
    /// ```
    chars, CharsOf, Chars, char, chars, end_of_char;
}

/// Returns the end of the line to which the byte before `index` belongs.
fn end_of_line(text: &str, index: usize) -> usize {
    // A line feed is a character of its own. So if that byte is inside a character, it is none.
    let last = end_of_char(text, index - 1);
    let feed = text[last..].find('\n');
    feed.map_or(text.len(), |feed| last + feed + 1)
}

/// Returns an index from `index` on that is not inside a word.
fn end_of_word(text: &str, index: usize) -> usize {
    let end = end_of_char(text, index);
    let space = text[end..].find(char::is_whitespace);
    space.map_or(text.len(), |space| end + space)
}

/// Returns the end of the character to which the byte before `index` belongs.
fn end_of_char(text: &str, index: usize) -> usize {
    let is_boundary = |index: &usize| text.is_char_boundary(*index);
    (index..text.len()).find(is_boundary).unwrap_or(text.len())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{Pool, Serial, Worker};

    /// Splits at each byte, and compares the pieces with those of the whole text.
    fn check<I: Iterations + Clone>(iterations: &I, expected: &[I::Item])
    where
        I::Item: PartialEq + std::fmt::Debug,
    {
        for index in 0..=iterations.remaining() {
            let (mut front, mut back) = iterations.clone().split_at(index);
            assert!(index == 0 || front.remaining() >= index);
            let mut all: Vec<_> = front.strip(usize::MAX).collect();
            all.extend(back.strip(usize::MAX));
            assert_eq!(all, expected);
            let mut rest = iterations.clone();
            let mut all: Vec<_> = rest.strip(index).collect();
            while rest.remaining() > 0 {
                all.extend(rest.strip(1));
            }
            assert_eq!(all, expected);
        }
    }

    const TEXTS: [&str; 8] = [
        "",
        "\n",
        "one",
        "one\n",
        "\n\none\r\ntwo\n\nthree",
        "naïve 日本\u{3000}語\n🦀 crab\r\n",
        "  two  spaces \t\n",
        "a\rb\n",
    ];

    #[test]
    fn a_text_has_the_same_pieces_wherever_it_is_split() {
        for text in TEXTS {
            check(&lines(text), &text.lines().collect::<Vec<_>>());
            check(&words(text), &text.split_whitespace().collect::<Vec<_>>());
            check(&chars(text), &text.chars().collect::<Vec<_>>());
        }
    }

    #[test]
    #[cfg(not(loom))]
    fn loops_over_a_text_have_each_piece_once_and_in_order() {
        let len = if cfg!(miri) { 20 } else { 20_000 };
        let number =
            |n: usize| (n % 7 * n).to_string() + if n.is_multiple_of(5) { "\r\n" } else { "\n" };
        let text: String = (0..len).map(number).collect();
        let expected: Vec<&str> = text.lines().collect();
        let pool = Pool::builder().workers(3).spare_workers(1).build().unwrap();
        for _ in 0..if cfg!(miri) { 1 } else { 20 } {
            let found = pool.run(|mut w| w.par(lines(&text)).collect::<Vec<_>>());
            assert_eq!(found, expected);
            let found = pool.run(|mut w| w.par(words(&text)).collect::<Vec<_>>());
            assert_eq!(found, expected);
        }
        let count = |_: usize, _: &str| 1;
        assert_eq!(
            Serial
                .par(lines("one long line"))
                .fold(|| 0, count, |a, b| a + b),
            1
        );
    }

    /// Then a thief finds nothing to take, however often it asks.
    #[test]
    #[cfg(not(loom))]
    fn a_text_of_one_line_is_one_iteration() {
        let text = "x".repeat(if cfg!(miri) { 100 } else { 1 << 20 });
        let pool = Pool::builder().workers(3).spare_workers(1).build().unwrap();
        let lens = pool.run(|mut w| {
            w.par(lines(&text))
                .filter_map(|line| Some(line.len()))
                .collect::<Vec<_>>()
        });
        assert_eq!(lens, [text.len()]);
        let pieces = crate::implement::in_pieces(
            &mut Serial,
            lines(&text),
            8,
            || 0,
            |_, sum, line| std::ops::ControlFlow::Continue(sum + line.len()),
            |a, b| a + b,
        );
        assert_eq!(pieces, text.len());
    }
}
