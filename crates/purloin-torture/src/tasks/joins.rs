//! Joins, and meetings of workers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};

use purloin::{Token, Worker};

use super::{Code, Subject, run};
use crate::program::*;
use crate::sync::{AtomicU64, lock, pause};
use crate::world::{Guard, World, catch};

/// Computes a Fibonacci number, and checks that each closure has run once.
pub(super) fn compute_fib<S: Subject>(w: &mut Token<'_, S>, world: &World, n: u64) {
    let leaves = AtomicUsize::new(0);
    let answer = w.lend(|w| fib(w, n, &leaves));
    let serial = |n| (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0;
    world.expect(answer == serial(n), || {
        format!("the Fibonacci number {n} is {answer}")
    });
    let leaves = leaves.into_inner() as u64;
    world.expect(leaves == serial(n + 1), || {
        format!("the Fibonacci number {n} has run {leaves} leaves")
    });
}

fn fib<S: Subject>(mut w: Token<'_, S>, n: u64, leaves: &AtomicUsize) -> u64 {
    if n < 2 {
        leaves.fetch_add(1, Relaxed);
        return n;
    }
    let (a, b) = w.join(
        move |w| fib(w, n - 1, leaves),
        move |w| fib(w, n - 2, leaves),
    );
    a + b
}

/// Makes a task, and spins until another worker has run it: it must be woken, and must find the task.
pub(super) fn meet<S: Subject>(
    w: &mut Token<'_, S>,
    code: &mut Code<S>,
    kind: MeetKind,
    serves: bool,
) {
    let met = Arc::new(AtomicU64::new(0));
    let other = Arc::clone(&met);
    match kind {
        MeetKind::Join => {
            let a = |mut w: Token<'_, S>| spin_until_met(&mut w, &met, serves);
            w.join(a, move |_| other.store(1, Release));
        }
        MeetKind::Spawn => w.finish(|scope| {
            scope.spawn(move |_| other.store(1, Release));
            scope.join(|mut w| spin_until_met(&mut w, &met, serves), |_| ());
        }),
        MeetKind::Future => {
            let future = w.future(move |_| other.store(1, Release));
            spin_until_met(w, &met, serves);
            w.get(future);
        }
        MeetKind::Job => code.call.meet_job(w, &met, serves),
        MeetKind::Chain => {
            let second = AtomicU64::new(0);
            let a = |mut w: Token<'_, S>| spin_until_met(&mut w, &met, serves);
            w.join(a, |mut w| {
                let a = |mut w: Token<'_, S>| spin_until_met(&mut w, &second, serves);
                w.join(a, |_| second.store(1, Release));
                other.store(1, Release);
            });
        }
    }
}

/// Spins until another worker has set this flag.
pub fn spin_until_met<S: Subject>(w: &mut Token<'_, S>, met: &AtomicU64, serves: bool) {
    while met.load(Acquire) == 0 {
        pause();
        if serves {
            w.join(|_| (), |_| ());
        }
    }
}

pub(super) fn join<S: Subject>(
    w: &mut Token<'_, S>,
    code: &mut Code<S>,
    kind: JoinKind,
    both: &'static [Task; 2],
) {
    let world = code.world();
    let [a, b] = both;
    let (mut of_a, mut of_b) = (code.inner(), code.inner());
    let _held = match kind {
        JoinKind::Locked(number) => {
            for code in [&mut of_a, &mut of_b] {
                code.handles.clear();
                code.scopes.clear();
            }
            Some(lock(&world.locks[number]))
        }
        _ => None,
    };
    let (for_a, for_b) = (Guard::new(world, a.id), Guard::new(world, b.id));
    let result = catch(|| match kind {
        JoinKind::Token | JoinKind::Locked(_) => w.join(
            move |w| run(w, of_a, a, for_a),
            move |w| run(w, of_b, b, for_b),
        ),
        JoinKind::Big => {
            let ballast = [a.id; 30];
            let (a, b) = w.join(
                move |w| (run(w, of_a, a, for_a), ballast),
                move |w| (run(w, of_b, b, for_b), ballast),
            );
            world.expect(a.1 == ballast && b.1 == ballast, || {
                "a large result of a join is wrong".to_string()
            });
            (a.0, b.0)
        }
        JoinKind::Free => purloin::join(
            move || S::with_token(|w| run(w, of_a, a, for_a)),
            move || S::with_token(|w| run(w, of_b, b, for_b)),
        ),
        JoinKind::Scope => {
            let a = move |w: Token<'_, S>| run(w, of_a, a, for_a);
            let b = move |w: Token<'_, S>| run(w, of_b, b, for_b);
            match code.scope(0) {
                Some((scope, _)) => scope.scope.join(a, b),
                None => w.join(a, b),
            }
        }
    });
    drop(_held);
    for task in both {
        world.expect_ended(task.id, "after its join");
    }
    let expected = world.panic_of(a.id).or(world.panic_of(b.id));
    match result {
        Ok((of_a, of_b)) => {
            world.expect(expected.is_none(), || {
                format!(
                    "the join of {} and {} ends without the panic {expected:?}",
                    a.id, b.id
                )
            });
            world.expect((of_a.id, of_b.id) == (a.id, b.id), || {
                format!("the join of {} and {} has other results", a.id, b.id)
            });
        }
        Err(payload) => {
            world.expect(Some(&payload) == expected.as_ref(), || {
                format!(
                    "the join of {} and {} ends with the panic {payload:?} instead of {expected:?}",
                    a.id, b.id
                )
            });
            payload.resume();
        }
    }
}
