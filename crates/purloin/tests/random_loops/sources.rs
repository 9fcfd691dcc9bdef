//! Random sources of loops, with random adaptors.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::iter;
use std::sync::Arc;

use crate::common::Lcg;
use crate::common::counted::Counted;
use crate::items::{Any, Exact, Key};
use purloin::iter::ReversibleIterations;
use purloin::prelude::*;
use purloin::{IntoIterations, chars, lines, words};

/// Returns these items in the reverse order, as an argument of a loop.
fn rev<I>(items: I) -> impl IntoIterations<Item = I::Item>
where
    I: IntoIterations<Iterations: ReversibleIterations>,
{
    items.into_par().rev().into_iterations()
}

/// A function that gets the iterations of a loop.
type Run<'r> = dyn FnMut(Any<'_>) + 'r;

/// The items of a loop, and how to make them again.
pub struct Source {
    /// The description for the message of a test that fails.
    pub name: String,
    /// Makes the iterations, calls the function with them, and drops what they borrow.
    pub run_with: Box<dyn Fn(&mut Run<'_>) + Send + Sync>,
    /// Returns the keys of the items, from a standard iterator.
    pub keys: Box<dyn Fn() -> Box<dyn Iterator<Item = u64>> + Send + Sync>,
    /// The number of items, or `usize::MAX` if there are more.
    pub len: usize,
    /// Whether the loop knows the number.
    pub is_exact: bool,
}

impl Source {
    /// Returns a source whose standard iterator knows its length.
    fn new<I: Iterator<Item: Key> + 'static>(
        name: String,
        items: impl Fn() -> I + Send + Sync + 'static,
        run_with: impl Fn(&mut Run<'_>) + Send + Sync + 'static,
    ) -> Self {
        Source {
            name,
            len: items().size_hint().0,
            run_with: Box::new(run_with),
            keys: Box::new(move || Box::new(items().map(Key::into_key))),
            is_exact: true,
        }
    }

    /// Returns a source with these items.
    fn of<T: Key>(
        name: &str,
        items: impl IntoIterator<Item = T>,
        run_with: impl Fn(&mut Run<'_>) + Send + Sync + 'static,
    ) -> Self {
        let keys: Vec<_> = items.into_iter().map(Key::into_key).collect();
        let items = move || keys.clone().into_iter();
        Source::new(
            format!("{name} of {} items", items().len()),
            items,
            run_with,
        )
    }

    /// Returns a source that runs over two to four others in step.
    fn tuple(fields: Vec<Source>) -> Source {
        let names: Vec<_> = fields.iter().map(|field| &field.name[..]).collect();
        let name = format!("({})", names.join(", "));
        let len = fields.iter().map(|field| field.len).min().unwrap();
        let fields = Arc::new(fields);
        let same = Arc::clone(&fields);
        Source {
            name,
            run_with: Box::new(move |run| {
                run_with_all(&fields, Vec::new(), &mut |fields| {
                    let count = fields.len();
                    let mut fields = fields.into_iter();
                    let mut next = || fields.next().unwrap();
                    run(match count {
                        2 => Any::new((next(), next())),
                        3 => Any::new((next(), next(), next())),
                        _ => Any::new((next(), next(), next(), next())),
                    });
                });
            }),
            keys: Box::new(move || {
                let mut keys: Vec<_> = same.iter().map(|field| (field.keys)()).collect();
                Box::new(iter::from_fn(move || {
                    let keys: Option<Vec<_>> = keys.iter_mut().map(Iterator::next).collect();
                    Some(match keys?[..] {
                        [a, b] => (a, b).into_key(),
                        [a, b, c] => (a, b, c).into_key(),
                        [a, b, c, d] => (a, b, c, d).into_key(),
                        _ => unreachable!(),
                    })
                }))
            }),
            len,
            is_exact: true,
        }
    }
}

/// Gives the iterations of several sources to the function, one source after the other.
fn run_with_all(
    sources: &[Source],
    mut before: Vec<Exact<'_>>,
    run: &mut dyn FnMut(Vec<Exact<'_>>),
) {
    let Some((first, others)) = sources.split_first() else {
        return run(before);
    };
    (first.run_with)(&mut |any| {
        let mut before: Vec<Exact<'_>> = std::mem::take(&mut before);
        before.push(Exact(any));
        run_with_all(others, before, run);
    });
}

/// Makes random sources.
pub struct Sources<'n> {
    numbers: &'n mut Lcg,
    /// Maximum number of items.
    longest: u64,
    /// One owned value of about this number is a bomb, or none if it is 0.
    bombs: u64,
}

type Hasher = BuildHasherDefault<DefaultHasher>;

impl<'n> Sources<'n> {
    pub fn new(numbers: &'n mut Lcg, longest: u64, bombs: u64) -> Self {
        Sources {
            numbers,
            longest,
            bombs,
        }
    }

    /// Returns a random source with up to `depth` adaptors around each other.
    pub fn any(&mut self, depth: u64) -> Source {
        match self.numbers.below(12) {
            0 => self.text(),
            _ => self.exact(depth),
        }
    }

    /// Returns a source whose number of items is exact.
    fn exact(&mut self, depth: u64) -> Source {
        let adaptor = if depth == 0 { 5 } else { self.numbers.below(6) };
        match adaptor {
            2..=4 => {
                let fields = (0..adaptor).map(|_| self.exact(depth - 1)).collect();
                Source::tuple(fields)
            }
            _ => match self.numbers.below(5) {
                0 | 1 => self.range(),
                2 => self.slice(),
                _ => self.collection(),
            },
        }
    }

    /// Returns a range of some type, possibly of too many numbers to count them.
    fn range(&mut self) -> Source {
        macro_rules! range_of_some_type {
            ($($number:literal: $Int:ident),*) => {
                match self.numbers.below(13) {
                    $($number => range!($Int),)*
                    _ => {
                        let start = self.numbers.below(100) as usize;
                        Source::new(
                            format!("{start}.."),
                            move || start..,
                            move |run| run(Any::new(start..)),
                        )
                    }
                }
            };
        }
        macro_rules! range {
            ($Int:ident) => {{
                let len = self.numbers.below(self.longest + 1);
                let len = len.min($Int::MAX as u64 / 2) as $Int;
                let (start, end) = match self.numbers.below(8) {
                    0 => ($Int::MIN, $Int::MAX),
                    1 => ($Int::MIN, $Int::MIN + len),
                    2 => ($Int::MAX - len, $Int::MAX),
                    3 => (len, 0),
                    _ => (2, 2 + len),
                };
                let range = |dots: &str| format!("{start}{dots}{end}_{}", stringify!($Int));
                match self.numbers.below(4) {
                    0 => Source::new(
                        range(".."),
                        move || start..end,
                        move |run| run(Any::new(start..end)),
                    ),
                    1 => Source::new(
                        range("..="),
                        move || start..=end,
                        move |run| run(Any::new(start..=end)),
                    ),
                    2 => Source::new(
                        format!("rev({})", range("..")),
                        move || (start..end).rev(),
                        move |run| run(Any::new(rev(start..end))),
                    ),
                    _ => Source::new(
                        format!("rev({})", range("..=")),
                        move || (start..=end).rev(),
                        move |run| run(Any::new(rev(start..=end))),
                    ),
                }
            }};
        }
        range_of_some_type!(
            0: u8, 1: u16, 2: u32, 3: u64, 4: u128, 5: usize,
            6: i8, 7: i16, 8: i32, 9: i64, 10: i128, 11: isize
        )
    }

    /// Returns a borrowed slice, or a part of one.
    fn slice(&mut self) -> Source {
        let numbers = self.some_numbers();
        let size = 1 + self.numbers.below(6) as usize;
        macro_rules! slices {
            ($choice:expr; $($number:tt: $data:ident => $iterations:expr, $items:expr;)*) => {
                match $choice {
                    $($number => {
                        let keys: Vec<_> = $items.map(Key::into_key).collect();
                        Source::of(stringify!($iterations), keys, move |run| {
                            #[allow(unused_mut)]
                            let mut $data = owned(&numbers, 0);
                            run(Any::new($iterations));
                        })
                    })*
                }
            };
        }
        slices! {
            self.numbers.below(13);
            0: data => &data, numbers.iter();
            1: data => &mut data, numbers.iter();
            2: data => rev(&data[..]), numbers.iter().rev();
            3: data => rev(&mut data[..]), numbers.iter().rev();
            4: data => data[..].par().chunks(size).into_iterations(), numbers.chunks(size);
            5: data => data[..].par_mut().chunks(size).into_iterations(), numbers.chunks(size);
            6: data => data[..].par().chunks(size).rev().into_iterations(), numbers.chunks(size).rev();
            7: data => data[..].par_mut().chunks(size).rev().into_iterations(), numbers.chunks(size).rev();
            8: data => data[..].par().chunks_exact(size).into_iterations(), numbers.chunks_exact(size);
            9: data => data[..].par_mut().chunks_exact(size).into_iterations(), numbers.chunks_exact(size);
            10: data => data[..].par().chunks_exact(size).rev().into_iterations(), numbers.chunks_exact(size).rev();
            11: data => data[..].par_mut().chunks_exact(size).rev().into_iterations(), numbers.chunks_exact(size).rev();
            _: data => data[..].par().windows(size).into_iterations(), numbers.windows(size);
        }
    }

    /// Returns a collection, by value or by reference.
    fn collection(&mut self) -> Source {
        let numbers = self.some_numbers();
        let middle = self.numbers.below(1 + numbers.len() as u64) as usize;
        let is_reversed = self.numbers.below(2) == 0;
        let choice = self.numbers.below(22);
        // The destructors of items that the loop only borrows run after it.
        let bombs = if choice < 10 { self.bombs } else { 0 };
        macro_rules! collections {
            ($($choice:tt: [$($reference:tt)*] $data:ident => $collection:expr;)*) => {
                match choice {
                    $($choice => {
                        // A collection of plain numbers has the same order.
                        let $data = numbers.clone();
                        #[allow(unused_mut)]
                        let mut collection = $collection;
                        let items = IntoIterator::into_iter($($reference)* collection);
                        let mut keys: Vec<_> = items.map(Key::into_key).collect();
                        if is_reversed {
                            keys.reverse();
                        }
                        let name = stringify!($($reference)* $collection);
                        let name = if is_reversed { format!("rev({name})") } else { name.to_string() };
                        Source::of(&name, keys, move |run| {
                            let $data = owned(&numbers, bombs);
                            #[allow(unused_mut)]
                            let mut collection = $collection;
                            let collection = $($reference)* collection;
                            run(match is_reversed {
                                true => Any::new(rev(collection)),
                                false => Any::new(collection),
                            });
                        })
                    })*
                }
            };
        }
        collections! {
            0: [] data => data;
            1: [] data => data.into_boxed_slice();
            2: [] data => array(data);
            3: [] data => deque(data, middle);
            4: [] data => BinaryHeap::from(data);
            5: [] data => LinkedList::from_iter(data);
            6: [] data => HashSet::<_, Hasher>::from_iter(data);
            7: [] data => BTreeSet::from_iter(data);
            8: [] data => HashMap::<_, _, Hasher>::from_iter(data.into_iter().enumerate());
            9: [] data => BTreeMap::from_iter(data.into_iter().enumerate());
            10: [&] data => BinaryHeap::from(data);
            11: [&] data => LinkedList::from_iter(data);
            12: [&mut] data => LinkedList::from_iter(data);
            13: [&] data => deque(data, middle);
            14: [&mut] data => deque(data, middle);
            15: [&] data => HashSet::<_, Hasher>::from_iter(data);
            16: [&] data => BTreeSet::from_iter(data);
            17: [&] data => HashMap::<_, _, Hasher>::from_iter(data.into_iter().enumerate());
            18: [&] data => BTreeMap::from_iter(data.into_iter().enumerate());
            19: [&mut] data => HashMap::<_, _, Hasher>::from_iter(data.into_iter().enumerate());
            20: [&mut] data => BTreeMap::from_iter(data.into_iter().enumerate());
            _: [&] data => array(data);
        }
    }

    /// Returns the pieces of a text.
    fn text(&mut self) -> Source {
        const PIECES: [&str; 12] = [
            "\n", "\r\n", "\r", " ", "  ", "\t", "\u{3000}", "a", "word", "ü", "日本", "🦀",
        ];
        let count = self.numbers.below(self.longest + 1);
        let text: String = (0..count)
            .map(|_| PIECES[self.numbers.below(PIECES.len() as u64) as usize])
            .collect();
        let copy = text.clone();
        let source = match self.numbers.below(3) {
            0 => Source::of("lines", copy.lines(), move |run| {
                run(Any::new(lines(&text)))
            }),
            1 => Source::of("words", copy.split_whitespace(), move |run| {
                run(Any::new(words(&text)))
            }),
            _ => Source::of("chars", copy.chars(), move |run| {
                run(Any::new(chars(&text)))
            }),
        };
        Source {
            is_exact: false,
            ..source
        }
    }

    /// Returns numbers that differ, in no order.
    fn some_numbers(&mut self) -> Vec<u64> {
        let len = self.numbers.below(self.longest + 1);
        (0..len)
            .map(|n| self.numbers.below(1 << 16) << 16 | n)
            .collect()
    }
}

/// Returns a counted value for each number, some of which may be bombs.
fn owned(numbers: &[u64], bombs: u64) -> Vec<Counted> {
    let value = |&number: &u64| match bombs > 0 && (number >> 16).is_multiple_of(bombs) {
        true => Counted::bomb(number),
        false => Counted::new(number),
    };
    numbers.iter().map(value).collect()
}

/// Returns a deque whose items are in two pieces.
fn deque<T>(mut items: Vec<T>, middle: usize) -> VecDeque<T> {
    let front = items.drain(..middle).collect::<Vec<_>>();
    let mut deque = VecDeque::with_capacity(middle + items.len());
    deque.extend(items);
    front
        .into_iter()
        .rev()
        .for_each(|item| deque.push_front(item));
    deque
}

/// Returns an array of the first items and of nothing for those that are missing.
fn array<T>(mut items: Vec<T>) -> [Option<T>; 7] {
    // Here: if a destructor panics, nothing drops a result that is in its place.
    items.truncate(7);
    let mut items = items.into_iter();
    std::array::from_fn(|_| items.next())
}
