//! Iterations of any kind as a trait object, whose items are all of one type.

use std::ops::ControlFlow;

use crate::common::counted::Counted;
use purloin::{ExactIterations, IntoIterations, Iterations};

/// The identity of an item. An item of a loop, and the same item of a standard iterator, have the
/// same key.
pub trait Key {
    fn into_key(self) -> u64;
}

/// Combines two keys so that their order matters.
pub fn mix(a: u64, b: u64) -> u64 {
    (a.rotate_left(7) ^ b).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

macro_rules! key {
    ($([$($generics:tt)*] $Type:ty, $item:ident => $key:expr;)*) => {
        $(
            impl<$($generics)*> Key for $Type {
                fn into_key(self) -> u64 {
                    let $item = self;
                    $key
                }
            }
        )*
    };
}

macro_rules! keys_of_integers {
    ($($Int:ty),*) => {
        key! { $([] $Int, n => n as u64;)* }
    };
}

keys_of_integers!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);

key! {
    [] u128, n => n as u64 ^ ((n >> 64) as u64).rotate_left(32);
    [] i128, n => (n as u128).into_key();
    [] &u64, n => *n;
    [] &mut u64, n => *n;
    [] &usize, n => *n as u64;
    [T: Key] Option<T>, item => item.map_or(1, Key::into_key);
    [] &Option<u64>, item => item.as_ref().into_key();
    [] &Option<Counted>, item => item.as_ref().into_key();
    [] char, c => u64::from(c);
    [] &str, text => text.bytes().fold(0, |key, byte| mix(key, byte.into()));
    [] &[u64], items => items.iter().fold(0, |key, item| mix(key, *item));
    // If the destructor panics, the key is not used.
    [] Counted, item => item.key();
    [] &Counted, item => item.key();
    [] &mut Counted, item => item.key();
    [] &[Counted], items => items.iter().fold(0, |key, item| mix(key, item.key()));
    [] &mut [Counted], items => (&*items).into_key();
    [A: Key, B: Key] (A, B), items => mix(items.0.into_key(), items.1.into_key());
    [A: Key, B: Key, C: Key] (A, B, C), items => ((items.0, items.1), items.2).into_key();
    [A: Key, B: Key, C: Key, D: Key] (A, B, C, D),
        items => ((items.0, items.1), (items.2, items.3)).into_key();
}

/// Methods of [`Iterations`] that a trait object can have.
trait Methods: Send {
    fn remaining(&self) -> usize;

    fn split_at<'a>(self: Box<Self>, index: usize) -> (Any<'a>, Any<'a>)
    where
        Self: 'a;

    fn strip(&mut self, len: usize) -> Box<dyn Iterator<Item = Counted> + '_>;

    fn fold_strip(&mut self, len: usize, step: &mut Step<'_>) -> ControlFlow<()>;
}

type Step<'s> = dyn FnMut(Counted) -> ControlFlow<()> + 's;

/// Iterations whose items become counted values.
struct Concrete<I>(I);

fn counted(item: impl Key) -> Counted {
    Counted::new(item.into_key())
}

impl<I: Iterations<Item: Key>> Methods for Concrete<I> {
    fn remaining(&self) -> usize {
        self.0.remaining()
    }

    fn split_at<'a>(self: Box<Self>, index: usize) -> (Any<'a>, Any<'a>)
    where
        Self: 'a,
    {
        let (front, back) = self.0.split_at(index);
        (
            Any(Box::new(Concrete(front))),
            Any(Box::new(Concrete(back))),
        )
    }

    fn strip(&mut self, len: usize) -> Box<dyn Iterator<Item = Counted> + '_> {
        Box::new(self.0.strip(len).map(counted))
    }

    fn fold_strip(&mut self, len: usize, step: &mut Step<'_>) -> ControlFlow<()> {
        self.0.fold_strip(len, (), |(), item| step(counted(item)))
    }
}

/// Iterations of any kind. Each item becomes a [`Counted`] value with the item's key.
pub struct Any<'a>(Box<dyn Methods + 'a>);

impl<'a> Any<'a> {
    pub fn new<I: IntoIterations<Item: Key, Iterations: 'a>>(iterations: I) -> Self {
        Any(Box::new(Concrete(iterations.into_iterations())))
    }
}

impl Iterations for Any<'_> {
    type Item = Counted;
    type Strip<'s>
        = Box<dyn Iterator<Item = Counted> + 's>
    where
        Self: 's;

    fn remaining(&self) -> usize {
        self.0.remaining()
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        self.0.split_at(index)
    }

    fn strip(&mut self, len: usize) -> Self::Strip<'_> {
        self.0.strip(len)
    }

    fn fold_strip<A>(
        &mut self,
        len: usize,
        sum: A,
        mut step: impl FnMut(A, Counted) -> ControlFlow<A, A>,
    ) -> ControlFlow<A, A> {
        let mut sum = Some(sum);
        let mut has_ended = false;
        let _ = self.0.fold_strip(len, &mut |item| {
            assert!(!has_ended, "a step runs after another one has broken");
            let result = step(sum.take().unwrap(), item);
            has_ended = result.is_break();
            let (ControlFlow::Continue(so_far) | ControlFlow::Break(so_far)) = result;
            sum = Some(so_far);
            match has_ended {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        let sum = sum.unwrap();
        match has_ended {
            true => ControlFlow::Break(sum),
            false => ControlFlow::Continue(sum),
        }
    }
}

impl IntoIterations for Any<'_> {
    type Iterations = Self;
    type Item = Counted;

    fn into_iterations(self) -> Self {
        self
    }
}

/// Iterations whose number is exact.
pub struct Exact<'a>(pub Any<'a>);

impl Iterations for Exact<'_> {
    type Item = Counted;
    type Strip<'s>
        = Box<dyn Iterator<Item = Counted> + 's>
    where
        Self: 's;

    fn remaining(&self) -> usize {
        self.0.remaining()
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let (front, back) = self.0.split_at(index);
        (Exact(front), Exact(back))
    }

    fn strip(&mut self, len: usize) -> Self::Strip<'_> {
        self.0.strip(len)
    }

    fn fold_strip<A>(
        &mut self,
        len: usize,
        sum: A,
        step: impl FnMut(A, Counted) -> ControlFlow<A, A>,
    ) -> ControlFlow<A, A> {
        self.0.fold_strip(len, sum, step)
    }
}

impl ExactIterations for Exact<'_> {}

impl IntoIterations for Exact<'_> {
    type Iterations = Self;
    type Item = Counted;

    fn into_iterations(self) -> Self {
        self
    }
}

/// Returns the keys of these values.
pub fn keys_of(values: Vec<Counted>) -> Vec<u64> {
    values.iter().map(Counted::key).collect()
}

/// Returns the key of an item after its destructor has run, which may panic.
pub fn into_key(item: Counted) -> u64 {
    let key = item.key();
    drop(item);
    key
}
