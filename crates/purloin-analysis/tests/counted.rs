//! Counting tasks, on several workers.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use purloin::{Pool, Worker};
use purloin_analysis::Counted;

#[test]
fn tasks_of_all_kinds_are_counted_on_several_workers() {
    let pool = Pool::builder().workers(3).build().unwrap();
    let (tasks, runs) = (AtomicU64::new(0), AtomicU64::new(0));
    let run = || {
        runs.fetch_add(1, Relaxed);
    };
    pool.run(|w| {
        let mut w = Counted::new(w, &tasks);
        // A join: one task.
        w.join(|_| run(), |_| run());
        // A future: one task.
        let future = w.future(|_| 1);
        assert_eq!(w.get(future), 1);
        // 100 spawns, each with a spawn and a join of its own, then a future and a join.
        w.finish(|scope| {
            for _ in 0..100 {
                scope.spawn(|mut w| {
                    scope.spawn(|_| run());
                    w.join(|_| run(), |_| run());
                });
            }
            assert_eq!(scope.future(|_| 2).get(), 2);
            scope.join(|_| run(), |_| run());
        });
    });
    assert_eq!(tasks.into_inner(), 1 + 1 + 3 * 100 + 2);
    assert_eq!(runs.into_inner(), 2 + 3 * 100 + 2);
}
