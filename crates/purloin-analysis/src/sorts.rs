//! Sorts of a worker that wraps another worker.

/// Implements the sorts of a [`Worker`](purloin::Worker) by those of another worker, so that the joins of a sort do not
/// count as the program's own.
macro_rules! sorts_of {
    ($self:ident, $worker:expr) => {
        fn sort<T: Ord + Send>(&mut $self, slice: &mut [T]) {
            $worker.sort(slice);
        }

        fn sort_by<T, C>(&mut $self, slice: &mut [T], compare: C)
        where
            T: Send,
            C: Fn(&T, &T) -> std::cmp::Ordering + Sync,
        {
            $worker.sort_by(slice, compare);
        }

        fn sort_by_key<T, K, F>(&mut $self, slice: &mut [T], key: F)
        where
            T: Send,
            K: Ord,
            F: Fn(&T) -> K + Sync,
        {
            $worker.sort_by_key(slice, key);
        }

        fn sort_by_cached_key<T, K, F>(&mut $self, slice: &mut [T], key: F)
        where
            T: Send,
            K: Ord + Send,
            F: Fn(&T) -> K + Sync,
        {
            $worker.sort_by_cached_key(slice, key);
        }

        fn sort_unstable<T: Ord + Send>(&mut $self, slice: &mut [T]) {
            $worker.sort_unstable(slice);
        }

        fn sort_unstable_by<T, C>(&mut $self, slice: &mut [T], compare: C)
        where
            T: Send,
            C: Fn(&T, &T) -> std::cmp::Ordering + Sync,
        {
            $worker.sort_unstable_by(slice, compare);
        }

        fn sort_unstable_by_key<T, K, F>(&mut $self, slice: &mut [T], key: F)
        where
            T: Send,
            K: Ord,
            F: Fn(&T) -> K + Sync,
        {
            $worker.sort_unstable_by_key(slice, key);
        }
    };
}

pub(crate) use sorts_of;
