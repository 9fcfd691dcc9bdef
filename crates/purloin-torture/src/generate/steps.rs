//! Chooses the details of joins, futures, loops and calls.

use super::{Generator, Kind, Place};
use crate::program::*;

impl Generator<'_> {
    /// Returns a pool that this code may call. Tasks of two pools call each other only if both have spare workers.
    pub(super) fn called(&mut self, place: Place) -> Option<PoolName> {
        let both = self.has_spares(PoolName::Main) && self.has_spares(PoolName::Other);
        match place.pool {
            PoolName::Main if self.random.one_in(3) => Some(PoolName::Main),
            PoolName::Main => self.has(Kind::Call).then_some(PoolName::Other),
            PoolName::Other if both && self.random.one_in(2) => Some(PoolName::Main),
            PoolName::Other => Some(PoolName::Other),
        }
    }

    pub(super) fn join(&mut self, place: Place) -> Step {
        if self.random.one_in(5) {
            return Step::Fib(self.random.pick(&[3, 5, 7, 9]));
        }
        let kind = match self.random.below(8) {
            0 => JoinKind::Big,
            1 if self.is_default(place.pool) => JoinKind::Free,
            2 if place.scopes > 0 => JoinKind::Scope,
            3..=5 if self.has_locks && !place.is_locked => JoinKind::Locked(self.random.below(2)),
            _ => JoinKind::Token,
        };
        let place = match kind {
            // Their spawns into outer scopes would run under the lock, too.
            JoinKind::Locked(_) => Place {
                is_locked: true,
                scopes: 0,
                ..place
            },
            _ => place,
        };
        Step::Join(kind, Box::new([self.task(place), self.task(place)]))
    }

    pub(super) fn how(&mut self, place: Place) -> How {
        match self.random.below(8) {
            0 => How::Try,
            1 => How::InJoin,
            2 if self.has_spares(place.pool) => How::Thread,
            3 if self.has_spares(place.pool) => How::Await,
            4 | 5 => How::Plain,
            _ => How::Token,
        }
    }

    pub(super) fn future(&mut self, place: Place, up: usize, of_scope: Place) -> Step {
        let kind = match self.random.below(6) {
            0 if self.is_default(place.pool) => FutureKind::Free,
            1 | 2 if place.scopes > 0 => FutureKind::Scoped { up },
            3 | 4 if place.scopes > 0 => FutureKind::After {
                up,
                inputs: 1 + self.random.below(3),
            },
            _ => FutureKind::Token,
        };
        let then = match self.random.below(8) {
            0 => Then::Drop,
            1 | 2 => Then::Get(self.how(place)),
            3 => Then::Give,
            _ => Then::Keep,
        };
        let place = match kind {
            FutureKind::Token | FutureKind::Free => Place { scopes: 0, ..place },
            FutureKind::Scoped { .. } | FutureKind::After { .. } => of_scope,
        };
        Step::Future {
            kind,
            is_shared: self.random.one_in(2),
            then,
            task: self.boxed(place),
        }
    }

    pub(super) fn loop_of(&mut self, place: Place) -> Step {
        use LoopKind::*;
        let kind = self.random.pick(&[
            ForEach,
            ForEach,
            MapReduce,
            Collect,
            FindFirst,
            Any,
            TryForEach,
            Until,
            Sort,
            SortUnstable,
            Bridge,
            PerWorker,
            Free,
        ]);
        if kind == Free && !self.is_default(place.pool) {
            return Step::Work(1);
        }
        let len = self.random.pick(&[0, 1, 2, 3, 8, 30, 100]);
        let has_special = len > 0 && kind == ForEach && self.random.one_in(2);
        let special = has_special.then(|| (self.random.below(len), self.boxed(place)));
        Step::Loop { kind, len, special }
    }
}
