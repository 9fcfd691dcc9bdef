//! Indices of running workers, including spare workers: `Token::thread_index`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::thread;
use std::time::Duration;

use crate::common::{busy, fib, must_end, wait_for};
use purloin::{Pool, Token, Worker};

/// One flag for each index, set while a worker with that index runs a piece of code.
struct Flags(Vec<AtomicBool>);

impl Flags {
    fn of(pool: &Pool) -> Flags {
        Flags(
            (0..pool.workers())
                .map(|_| AtomicBool::new(false))
                .collect(),
        )
    }

    /// Runs `f` as the only worker with its index.
    fn alone(&self, w: &Token<'_>, f: impl FnOnce()) {
        let index = w.thread_index();
        assert!(!self.0[index].swap(true, Acquire), "index {index} is taken");
        f();
        assert_eq!(w.thread_index(), index);
        self.0[index].store(false, Release);
    }
}

#[test]
fn a_regular_worker_has_its_own_number() {
    let pool = Pool::builder().workers(3).build().unwrap();
    assert_eq!(pool.broadcast(|w| w.thread_index()), [0, 1, 2]);
    for _ in 0..100 {
        pool.run(|mut w| {
            let index = w.index();
            w.join(|_| (), |_| ());
            assert_eq!((w.index(), w.thread_index()), (index, index));
        });
    }
}

#[test]
fn spare_workers_have_indices_of_workers_that_do_not_run() {
    for workers in [1, 2] {
        let pool = Pool::builder()
            .workers(workers)
            .spare_workers(6)
            .build()
            .unwrap();
        let other = Pool::builder().workers(workers).build().unwrap();
        let gate = AtomicUsize::new(0);
        let indices = Mutex::new(Vec::new());
        thread::scope(|scope| {
            // These calls wait for the other pool, whose jobs wait for the calls below. For those, only
            // spare workers are left, or idle workers in whose place spare workers ran.
            for _ in 0..workers {
                scope.spawn(|| {
                    pool.run(|w| {
                        let own = w.thread_index();
                        other.run(|_| {
                            gate.fetch_add(1, Release);
                            while gate.load(Acquire) < 2 * workers {
                                thread::sleep(Duration::from_micros(100));
                            }
                        });
                        assert_eq!(w.thread_index(), own);
                    });
                });
            }
            while gate.load(Acquire) < workers {
                thread::yield_now();
            }
            for _ in 0..workers {
                scope.spawn(|| {
                    pool.run(|w| {
                        indices.lock().unwrap().push(w.thread_index());
                        gate.fetch_add(1, Release);
                    });
                });
            }
        });
        let indices = indices.into_inner().unwrap();
        assert!(indices.iter().all(|index| *index < workers), "{indices:?}");
    }
}

#[test]
fn no_two_running_workers_have_the_same_thread_index() {
    for workers in [1, 2, 4] {
        let pool = Pool::builder()
            .workers(workers)
            .spare_workers(12)
            .build()
            .unwrap();
        let flags = Flags::of(&pool);
        let ran = AtomicUsize::new(0);
        fn tree(w: &mut Token<'_>, depth: u32, flags: &Flags, ran: &AtomicUsize) {
            if depth == 0 {
                flags.alone(w, || busy(Duration::from_micros(20)));
                ran.fetch_add(1, Relaxed);
                return;
            }
            w.join(
                |mut w| tree(&mut w, depth - 1, flags, ran),
                |mut w| {
                    // Before and after a wait, without a wait between.
                    flags.alone(&w, || ());
                    tree(&mut w, depth - 1, flags, ran);
                    flags.alone(&w, || ());
                },
            );
        }
        for _ in 0..30 {
            pool.run(|mut w| tree(&mut w, 6, &flags, &ran));
            pool.finish(|scope| {
                for _ in 0..8 {
                    scope.spawn(|mut w| tree(&mut w, 3, &flags, &ran));
                }
            });
        }
        assert_eq!(ran.into_inner(), 30 * (64 + 64));
        assert!(
            pool.broadcast(|w| w.thread_index())
                .into_iter()
                .eq(0..workers)
        );
    }
}

#[test]
fn handlers_of_spare_workers_may_ask_for_an_index() {
    for _ in 0..20 {
        let number = |_| {
            purloin::with_token(|token| {
                let w = token.unwrap();
                assert!(w.thread_index() < w.workers());
            });
        };
        let pool = Pool::builder().workers(2).spare_workers(4);
        let pool = pool.start_handler(number).exit_handler(number);
        let pool = pool.build().unwrap();
        let other = Pool::builder().workers(1).build().unwrap();
        // Spare workers start.
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| pool.run(|_| other.run(|_| busy(Duration::from_micros(200)))));
            }
        });
        drop(pool);
    }
}

#[test]
fn a_blocked_worker_takes_no_task_while_a_spare_worker_uses_its_index() {
    static BLOCKED: AtomicBool = AtomicBool::new(false);
    static HAS_INDEX: AtomicBool = AtomicBool::new(false);
    static IS_OVER: AtomicBool = AtomicBool::new(false);
    must_end("a task that a blocked worker has taken", || {
        let pool = &Pool::builder().workers(3).build().unwrap();
        let (send, receive) = std::sync::mpsc::channel();
        // Busy until a spare worker has taken the job below, and a while longer.
        pool.spawn(|_| {
            wait_for(&HAS_INDEX);
            thread::sleep(Duration::from_millis(200));
        });
        // The second closure is stolen. Its owner waits, and its thief runs it.
        pool.run(move |mut w| {
            w.join(
                |_| wait_for(&BLOCKED),
                |mut w| {
                    BLOCKED.store(true, SeqCst);
                    // A spare worker takes this job, in place of the owner.
                    w.pool().spawn(move |w| {
                        w.thread_index();
                        HAS_INDEX.store(true, SeqCst);
                        receive.recv().unwrap();
                    });
                    wait_for(&HAS_INDEX);
                    // The owner must leave the second closure to an idle worker.
                    w.join(
                        |_| wait_for(&IS_OVER),
                        |_| {
                            send.send(()).unwrap();
                            IS_OVER.store(true, SeqCst);
                        },
                    );
                },
            )
        });
    });
}

/// Otherwise the regular worker would wait for its index, and the spare worker with the index for the
/// regular worker to run the broadcast.
#[test]
fn a_worker_runs_a_broadcast_of_a_spare_worker_with_its_index() {
    fn tree(mut w: Token<'_>, depth: u32) {
        if depth > 0 {
            w.join(|w| tree(w, depth - 1), |w| tree(w, depth - 1));
            return;
        }
        w.lend(|w| fib(w, 16));
        w.thread_index();
        w.pool().broadcast(|_| ());
    }
    must_end(
        "broadcasts by workers that have asked for their indices",
        || {
            let pool = Pool::builder().workers(2).build().unwrap();
            for _ in 0..if cfg!(miri) { 1 } else { 100 } {
                pool.run(|w| tree(w, 3));
            }
        },
    );
}
