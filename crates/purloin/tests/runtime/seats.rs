//! Numbers of running workers, also of spare ones: `Token::seat`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::thread;
use std::time::Duration;

use crate::common::busy;
use purloin::{Pool, Token, Worker};

/// One flag for each seat, set while its holder runs a piece of code.
struct Seats(Vec<AtomicBool>);

impl Seats {
    fn of(pool: &Pool) -> Seats {
        Seats(
            (0..pool.workers())
                .map(|_| AtomicBool::new(false))
                .collect(),
        )
    }

    /// Runs `f` with the seat of this worker, alone.
    fn alone(&self, w: &Token<'_>, f: impl FnOnce()) {
        let seat = w.seat();
        assert!(!self.0[seat].swap(true, Acquire), "seat {seat} is taken");
        f();
        assert_eq!(w.seat(), seat);
        self.0[seat].store(false, Release);
    }
}

#[test]
fn a_regular_worker_has_the_seat_with_its_number() {
    let pool = Pool::builder().workers(3).build().unwrap();
    assert_eq!(pool.broadcast(|w| w.seat()), [0, 1, 2]);
    for _ in 0..100 {
        pool.run(|mut w| {
            let index = w.index();
            w.join(|_| (), |_| ());
            assert_eq!((w.index(), w.seat()), (index, index));
        });
    }
}

#[test]
fn spare_workers_have_seats_of_workers_that_do_not_run() {
    for workers in [1, 2] {
        let pool = Pool::builder()
            .workers(workers)
            .spare_workers(6)
            .build()
            .unwrap();
        let other = Pool::builder().workers(workers).build().unwrap();
        let gate = AtomicUsize::new(0);
        let seats = Mutex::new(Vec::new());
        thread::scope(|scope| {
            // These calls wait for the other pool, whose jobs wait for the calls below. For those, only
            // spare workers are left, or idle workers in whose place spare workers ran.
            for _ in 0..workers {
                scope.spawn(|| {
                    pool.run(|w| {
                        let own = w.seat();
                        other.run(|_| {
                            gate.fetch_add(1, Release);
                            while gate.load(Acquire) < 2 * workers {
                                thread::sleep(Duration::from_micros(100));
                            }
                        });
                        assert_eq!(w.seat(), own);
                    });
                });
            }
            while gate.load(Acquire) < workers {
                thread::yield_now();
            }
            for _ in 0..workers {
                scope.spawn(|| {
                    pool.run(|w| {
                        seats.lock().unwrap().push(w.seat());
                        gate.fetch_add(1, Release);
                    });
                });
            }
        });
        let seats = seats.into_inner().unwrap();
        assert!(seats.iter().all(|seat| *seat < workers), "{seats:?}");
    }
}

#[test]
fn no_two_running_workers_have_the_same_seat() {
    for workers in [1, 2, 4] {
        let pool = Pool::builder()
            .workers(workers)
            .spare_workers(12)
            .build()
            .unwrap();
        let seats = Seats::of(&pool);
        let ran = AtomicUsize::new(0);
        fn tree(w: &mut Token<'_>, depth: u32, seats: &Seats, ran: &AtomicUsize) {
            if depth == 0 {
                seats.alone(w, || busy(Duration::from_micros(20)));
                ran.fetch_add(1, Relaxed);
                return;
            }
            w.join(
                |mut w| tree(&mut w, depth - 1, seats, ran),
                |mut w| {
                    // Before and after a wait, without a wait between.
                    seats.alone(&w, || ());
                    tree(&mut w, depth - 1, seats, ran);
                    seats.alone(&w, || ());
                },
            );
        }
        for _ in 0..30 {
            pool.run(|mut w| tree(&mut w, 6, &seats, &ran));
            pool.finish(|scope| {
                for _ in 0..8 {
                    scope.spawn(|mut w| tree(&mut w, 3, &seats, &ran));
                }
            });
        }
        assert_eq!(ran.into_inner(), 30 * (64 + 64));
        assert!(pool.broadcast(|w| w.seat()).into_iter().eq(0..workers));
    }
}

#[test]
fn handlers_of_spare_workers_may_ask_for_a_number() {
    for _ in 0..20 {
        let number = |_| {
            purloin::with_token(|token| {
                let w = token.unwrap();
                assert!(w.seat() < w.workers());
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
