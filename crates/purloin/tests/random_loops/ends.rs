//! Every end of a loop.

use std::fmt::Debug;
use std::ops::ControlFlow::{self, Break, Continue};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;

use crate::common::Lcg;
use crate::common::counted::{Counted, Counting, Explosion};
use crate::items::{Any, Exact, into_key, keys_of, mix};
use crate::sources::Source;
use crate::{LIMIT, MOST_WORK};
use purloin::{Worker, implement::in_pieces};

/// The payload of the panic of an iteration: the key of its item.
struct AtItem(u64);

/// A loop with a random body.
pub struct Check<'c> {
    counting: &'c Counting,
    source: &'c Source,
    /// The keys of the items. Of a source with too many items, the first ones.
    keys: Vec<u64>,
    /// Whether these are all of them.
    is_whole: bool,
    /// One key of about this number is special.
    rarity: u64,
    /// Whether an iteration panics at a special item. Otherwise a loop may end there.
    panics: bool,
    /// Maximum number of steps that an iteration takes.
    work: u64,
    /// Number of pieces of a loop that is split beforehand.
    pieces: usize,
    /// Whether the first special item comes before any other one.
    is_in_order: bool,
}

impl<'c> Check<'c> {
    pub fn new(
        counting: &'c Counting,
        source: &'c Source,
        is_in_order: bool,
        numbers: &mut Lcg,
    ) -> Self {
        let is_whole = source.len <= LIMIT;
        Check {
            counting,
            source,
            keys: (source.keys)().take(LIMIT).collect(),
            is_whole,
            rarity: 1 + numbers.below(2 * source.len.min(LIMIT) as u64 + 20),
            // Without a panic, the loop would not end.
            panics: !is_whole || numbers.below(2) == 0,
            // Long loops take long enough for several thieves.
            work: [0, MOST_WORK / 20, MOST_WORK, MOST_WORK][numbers.below(4) as usize],
            pieces: numbers.below(20) as usize,
            is_in_order,
        }
    }

    /// Runs the loop to every end.
    pub fn run<W: Worker>(&self, w: &mut W) {
        self.ends_that_visit_all_items(w);
        self.ends_that_come_early(w);
        if self.source.is_exact {
            self.ends_with_positions(w);
        }
    }

    fn is_special(&self, key: u64) -> bool {
        (mix(key, 7) >> 8).is_multiple_of(self.rarity)
            || !self.is_whole && Some(&key) == self.keys.last()
    }

    /// Returns the position and the key of the first special item.
    fn first_special(&self) -> Option<(usize, u64)> {
        let mut keys = self.keys.iter().copied().enumerate();
        keys.find(|&(_, key)| self.is_special(key))
    }

    fn has_special(&self) -> bool {
        self.first_special().is_some()
    }

    /// Works for some time. Drops the item. Returns its key.
    fn look_at(&self, item: Counted) -> u64 {
        let key = item.key();
        if self.work > 0 {
            (0..mix(key, 3) % self.work).fold(0, |x, i| std::hint::black_box(x ^ i));
        }
        // It may panic. See `Counted::bomb`.
        drop(item);
        key
    }

    /// Runs an iteration, which may panic.
    fn visit(&self, item: Counted) -> Counted {
        let key = self.look_at(item);
        if self.panics && self.is_special(key) {
            resume_unwind(Box::new(AtItem(key)));
        }
        Counted::new(key)
    }

    /// Runs an iteration within a join.
    fn visit_in_join<W: Worker>(&self, mut w: W, item: Counted) -> Counted {
        w.join(|_| self.visit(item), |_| ()).0
    }

    /// Returns the item's key if the item is special.
    fn is_found(&self, item: Counted) -> ControlFlow<u64> {
        let key = self.look_at(item);
        match self.is_special(key) {
            true => Break(key),
            false => Continue(()),
        }
    }

    /// Runs a loop, and returns its result, unless the loop has to panic: because a destructor does,
    /// or for another reason.
    fn expect<R>(
        &self,
        end: &str,
        must_panic: bool,
        mut run: impl FnMut(Any<'_>) -> R,
    ) -> Option<R> {
        let bombs = self.counting.bombs();
        let mut result = None;
        let ran = catch_unwind(AssertUnwindSafe(|| {
            (self.source.run_with)(&mut |iterations| result = Some(run(iterations)));
        }));
        let has_bombs = self.counting.bombs() > bombs;
        match ran {
            Ok(()) => assert!(!must_panic && !has_bombs, "{end} has not panicked"),
            Err(panic) if panic.is::<Explosion>() => {
                assert!(has_bombs, "{end}: a destructor has panicked");
                result = None;
            }
            Err(panic) => {
                let Ok(at) = panic.downcast::<AtItem>() else {
                    panic!("{end} has panicked");
                };
                assert!(must_panic && self.is_special(at.0), "{end} has panicked");
                if self.is_in_order {
                    assert_eq!(
                        Some(at.0),
                        self.first_special().map(|(_, key)| key),
                        "{end}"
                    );
                }
                result = None;
            }
        }
        result
    }

    /// Checks the result of a loop whose iterations are all visited, and may panic.
    fn check<R: PartialEq + Debug>(
        &self,
        end: &str,
        run: impl FnMut(Any<'_>) -> R,
        expected: impl FnOnce(&[u64]) -> R,
    ) {
        let must_panic = self.panics && self.has_special();
        if let Some(result) = self.expect(end, must_panic, run) {
            assert_eq!(result, expected(&self.keys), "{end}");
        }
        self.expect_none_left(end);
    }

    /// Checks the result of a loop that ends at a special item, whose key it returns.
    fn check_found(&self, end: &str, run: impl FnMut(Any<'_>) -> Option<u64>) {
        if let Some(found) = self.expect(end, false, run) {
            let first = self.first_special().map(|(_, key)| key);
            match found {
                None => assert_eq!(first, None, "{end}"),
                Some(_) if self.is_in_order => assert_eq!(found, first, "{end}"),
                Some(key) => {
                    assert!(self.is_special(key), "{end}");
                    assert!(!self.is_whole || self.keys.contains(&key), "{end}");
                }
            }
        }
        self.expect_none_left(end);
    }

    fn expect_none_left(&self, end: &str) {
        self.counting.expect_none_left(|| end.to_string());
    }

    fn ends_that_visit_all_items<W: Worker>(&self, w: &mut W) {
        let visited = || Mutex::new(Vec::new());
        let add = |to: &Mutex<Vec<u64>>, value: Counted| to.lock().unwrap().push(value.key());
        let sorted = |keys: &[u64]| {
            let mut keys = keys.to_vec();
            keys.sort_unstable();
            keys
        };
        self.check(
            "for_each",
            |items| {
                let seen = visited();
                w.for_each(items, |item| add(&seen, self.visit(item)));
                sorted(&seen.into_inner().unwrap())
            },
            sorted,
        );
        self.check(
            "for_each_with",
            |items| {
                let seen = visited();
                w.par(items)
                    .for_each_with_token(|w, item| add(&seen, self.visit_in_join(w, item)));
                sorted(&seen.into_inner().unwrap())
            },
            sorted,
        );
        self.check(
            "map_reduce",
            |items| {
                let all = w.map_reduce(items, |item| vec![self.visit(item)], append);
                all.map_or(Vec::new(), keys_of)
            },
            <[u64]>::to_vec,
        );
        self.check(
            "map_reduce_with",
            |items| {
                let visit = |w: W::Token<'_>, item| vec![self.visit_in_join(w, item)];
                let all = w.par(items).map_with_token(visit).reduce(append);
                all.map_or(Vec::new(), keys_of)
            },
            <[u64]>::to_vec,
        );
        self.check(
            "map_reduce_from",
            |items| {
                let visit = |item| self.visit(item).key();
                w.par(items)
                    .map(visit)
                    .fold(|| 0, u64::wrapping_add, u64::wrapping_add)
            },
            |keys| keys.iter().fold(0, |sum, key| key.wrapping_add(sum)),
        );
        self.check(
            "fold",
            |items| {
                let step = |all, item| push(all, self.visit(item));
                keys_of(w.par(items).fold(Vec::new, step, append))
            },
            <[u64]>::to_vec,
        );
        self.check(
            "map_with_token and fold",
            |items| {
                let visit = |w: W::Token<'_>, item| self.visit_in_join(w, item);
                keys_of(
                    w.par(items)
                        .map_with_token(visit)
                        .fold(Vec::new, push, append),
                )
            },
            <[u64]>::to_vec,
        );
        self.check(
            "in_pieces",
            |items| {
                let step =
                    |w: W::Token<'_>, all, item| Continue(push(all, self.visit_in_join(w, item)));
                keys_of(in_pieces(w, items, self.pieces, Vec::new, step, append))
            },
            <[u64]>::to_vec,
        );
        let is_kept = |key: &u64| !key.is_multiple_of(3);
        self.check(
            "filter_map_into_vec",
            |items| {
                let keep = |item| {
                    let key = self.visit(item).key();
                    is_kept(&key).then(|| Counted::new(key))
                };
                keys_of(w.par(items).filter_map(keep).collect::<Vec<_>>())
            },
            |keys| keys.iter().copied().filter(is_kept).collect(),
        );
        self.a_combination_that_panics(w);
    }

    /// Each item but the first one begins the right operand of one combination.
    fn a_combination_that_panics<W: Worker>(&self, w: &mut W) {
        let end = "map_reduce whose combination panics";
        let is_special = |key: &u64| self.is_special(*key);
        let must_panic = self.panics && self.keys.iter().skip(1).any(is_special);
        let combine = |left: Vec<Counted>, right: Vec<Counted>| {
            let key = right[0].key();
            if self.panics && self.is_special(key) {
                resume_unwind(Box::new(AtItem(key)));
            }
            append(left, right)
        };
        let map = |item| vec![Counted::new(self.look_at(item))];
        // The first item is no right operand.
        let check = Check {
            keys: self.keys.get(1..).unwrap_or_default().to_vec(),
            ..*self
        };
        let run = |items: Any<'_>| w.map_reduce(items, map, combine);
        if let Some(all) = check.expect(end, must_panic, run) {
            assert_eq!(all.map_or(Vec::new(), keys_of), self.keys, "{end}");
        }
        self.expect_none_left(end);
    }

    fn ends_that_come_early<W: Worker>(&self, w: &mut W) {
        self.check_found("try_for_each", |items| {
            let found = w.par(items).try_for_each(|item| self.is_found(item));
            found.break_value()
        });
        self.check_found("try_for_each_with", |items| {
            let look = |mut w: W::Token<'_>, item| {
                let found = w.join(|_| self.is_found(item), |_| ()).0;
                found
                    .break_value()
                    .map_or(Ok(()), |key| Err(Counted::new(key)))
            };
            let found = w
                .par(items)
                .map_with_token(look)
                .try_for_each(|result| result);
            found.err().map(|value| value.key())
        });
        self.check_found("try_fold", |items| {
            let step = |all, item| match self.is_found(item) {
                Break(key) => Err(Counted::new(key)),
                Continue(()) => Ok(push(all, Counted::new(0))),
            };
            match w
                .par(items)
                .try_fold(Vec::new, step, |a, b| Ok(append(a, b)))
            {
                Ok(all) => {
                    assert_eq!(all.len(), self.keys.len());
                    None
                }
                Err(value) => Some(value.key()),
            }
        });
        self.check_found("try_map_reduce", |items| {
            let map = |item| match self.is_found(item) {
                Break(key) => Break(Counted::new(key)),
                Continue(()) => Continue(vec![Counted::new(0)]),
            };
            match w
                .par(items)
                .map(map)
                .try_reduce(|a, b| Continue(append(a, b)))
            {
                None => {
                    assert!(self.keys.is_empty());
                    None
                }
                Some(Continue(all)) => {
                    assert_eq!(all.len(), self.keys.len());
                    None
                }
                Some(Break(value)) => Some(value.key()),
            }
        });
        let first = self.first_special().map(|(_, key)| key);
        self.check_found("any", |items| {
            let any = w.par(items).any(|item| self.is_found(item).is_break());
            any.then(|| first.unwrap_or_default())
        });
        self.check_found("all", |items| {
            let all = w.par(items).all(|item| self.is_found(item).is_continue());
            (!all).then(|| first.unwrap_or_default())
        });
        self.check_found("find_any", |items| {
            let found = w.par(items).find_any(|item| self.is_special(item.key()));
            found.map(into_key)
        });
        self.a_loop_that_is_cancelled(w);
    }

    /// The scope of the loop is cancelled at the first special item.
    fn a_loop_that_is_cancelled<W: Worker>(&self, w: &mut W) {
        let end = "for_each in a scope";
        let seen = self.expect(end, false, |items| {
            let seen = Mutex::new(Vec::new());
            w.finish(|scope| {
                let visit = |item| {
                    let key = self.look_at(item);
                    seen.lock().unwrap().push(key);
                    if self.is_special(key) {
                        scope.cancel();
                    }
                };
                scope.join(|mut w| w.for_each(items, visit), |_| ());
            });
            seen.into_inner().unwrap()
        });
        if let Some(mut seen) = seen.filter(|_| self.is_whole) {
            // Each of them was visited once.
            let mut others = self.keys.clone();
            others.sort_unstable();
            seen.sort_unstable();
            let mut not_visited = others.into_iter();
            assert!(
                seen.iter()
                    .all(|key| not_visited.by_ref().any(|other| other == *key)),
                "{end}"
            );
            assert!(self.has_special() || seen.len() == self.keys.len(), "{end}");
        }
        self.expect_none_left(end);
    }

    fn ends_with_positions<W: Worker>(&self, w: &mut W) {
        let first = self.first_special();
        let end = "find_first";
        let run = |items: Any<'_>| {
            let found = w
                .par(Exact(items))
                .find_first(|item| self.is_special(item.key()));
            found.map(into_key)
        };
        if let Some(found) = self.expect(end, false, run) {
            assert_eq!(found, first.map(|(_, key)| key), "{end}");
        }
        let end = "position";
        let run = |items: Any<'_>| {
            w.par(Exact(items))
                .position(|item| self.is_found(item).is_break())
        };
        if let Some(found) = self.expect(end, false, run) {
            assert_eq!(found, first.map(|(position, _)| position), "{end}");
        }
        self.expect_none_left(end);
        if !self.is_whole {
            return;
        }
        self.check(
            "map_into_vec",
            |items| {
                keys_of(
                    w.par(Exact(items))
                        .map(|item| self.visit(item))
                        .collect::<Vec<_>>(),
                )
            },
            <[u64]>::to_vec,
        );
        // These results need no drop.
        self.check(
            "map_into_vec_with",
            |items| {
                let visit = |w: W::Token<'_>, item| self.visit_in_join(w, item).key();
                w.par(Exact(items)).map_with_token(visit).collect_vec()
            },
            <[u64]>::to_vec,
        );
        self.check(
            "map_into_vec of numbered items",
            |items| {
                let visit = |(index, item)| (index, self.visit(item).key());
                w.par((0.., Exact(items))).map(visit).collect::<Vec<_>>()
            },
            |keys| keys.iter().copied().enumerate().collect(),
        );
        self.check(
            "map_into_vecs",
            |items| {
                let visit = |item| {
                    let value = self.visit(item);
                    (value.key(), value)
                };
                let (left, right) = w
                    .par(Exact(items))
                    .map(visit)
                    .unzip::<_, _, Vec<_>, Vec<_>>();
                (left, keys_of(right))
            },
            |keys| (keys.to_vec(), keys.to_vec()),
        );
    }
}

fn append<T>(left: Vec<T>, mut right: Vec<T>) -> Vec<T> {
    let mut all = left;
    all.append(&mut right);
    all
}

fn push<T>(mut all: Vec<T>, item: T) -> Vec<T> {
    all.push(item);
    all
}
