//! Runs the loops of a program, and compares their results with those of a serial loop.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::*};

use purloin::{Cancel, Cancelled, PerWorker, Token, Worker, bridge};

use crate::program::{LoopKind, Task};
use crate::sync::record;
use crate::tasks::{Code, Subject, run as run_task, work};
use crate::world::{Guard, World, catch};

pub fn run<S: Subject>(
    w: &mut Token<'_, S>,
    code: &mut Code<S>,
    kind: LoopKind,
    len: usize,
    special: Option<&'static (usize, Box<Task>)>,
) {
    let world = code.call.world;
    let value = |i: usize| {
        work(world, 1);
        i * 7 % 31
    };
    let sum: usize = (0..len).map(|i| i * 7 % 31).sum();
    let wanted = len.saturating_sub(3);
    let expect = |holds: bool| world.expect(holds, || format!("the result of {kind:?} is wrong"));
    match kind {
        LoopKind::ForEach => for_each(w, code, len, special),
        LoopKind::MapReduce => {
            let result = w.map_reduce(0..len, value, |a, b| a + b);
            expect(result.unwrap_or(0) == sum && result.is_some() == (len > 0));
        }
        LoopKind::Collect => {
            let guards: Vec<Guard> = w.par(0..len).map(|i| Guard::new(world, i)).collect();
            expect(guards.iter().map(|guard| guard.id).eq(0..len));
        }
        LoopKind::FindFirst => {
            let found = w.par(0..len).find_first(|i| value(*i) > 0 && *i >= wanted);
            expect(found == (wanted..len).find(|i| i * 7 % 31 > 0));
        }
        LoopKind::Any => {
            let found = w.par(0..len).any(|i| value(i) == 30);
            expect(found == (0..len).any(|i| i * 7 % 31 == 30));
        }
        LoopKind::TryForEach => {
            let result = w.par(0..len).try_for_each(|i| {
                value(i);
                match i == wanted {
                    true => ControlFlow::Break(i),
                    false => ControlFlow::Continue(()),
                }
            });
            let is_right = match result {
                ControlFlow::Break(i) => i == wanted,
                ControlFlow::Continue(()) => len == 0,
            };
            expect(is_right);
        }
        LoopKind::Until => {
            let cancel = Cancel::new();
            let body = |i| {
                if i == wanted && len.is_multiple_of(3) {
                    cancel.cancel();
                }
                value(i)
            };
            let result: Result<usize, Cancelled> = w.par(0..len).map(body).until(&cancel).sum();
            expect(result == Ok(sum) || cancel.is_cancelled());
        }
        LoopKind::Sort | LoopKind::SortUnstable => {
            let values = |len: usize| (0..len).map(|i| (i * 7919 % 101) as u32);
            let mut sorted: Vec<u32> = values(len * 40).collect();
            match kind {
                LoopKind::Sort => w.sort(&mut sorted),
                _ => w.sort_unstable(&mut sorted),
            }
            let mut expected: Vec<u32> = values(len * 40).collect();
            expected.sort_unstable();
            expect(sorted == expected);
        }
        LoopKind::Bridge => {
            let result: usize = w.par(bridge(0..len)).map(value).sum();
            expect(result == sum);
        }
        LoopKind::PerWorker => {
            let sums = PerWorker::new(|| 0);
            w.par(0..len).for_each(|i| {
                let value = value(i);
                sums.with(|sum| *sum += value);
            });
            let is_complete = sums.into_iter().sum::<usize>() == sum;
            expect(is_complete || code.call.tree.is_cancelled.load(SeqCst));
        }
        LoopKind::Free => {
            let result = purloin::map_reduce(0..len, value, |a, b| a + b);
            expect(result.unwrap_or(0) == sum);
        }
    }
}

/// Runs a loop one of whose iterations may run a task.
fn for_each<S: Subject>(
    w: &mut Token<'_, S>,
    code: &mut Code<S>,
    len: usize,
    special: Option<&'static (usize, Box<Task>)>,
) {
    let world: &World = code.call.world;
    let tree = code.call.tree.clone();
    let seen: Vec<_> = (0..len).map(|_| AtomicU32::new(0)).collect();
    let part = special.map(|(_, task)| (code.inner(), Guard::new(code.call.world, task.id)));
    let part = Mutex::new(part);
    let body = |w: Token<'_, S>, i: usize| {
        seen[i].fetch_add(1, SeqCst);
        work(world, 1);
        if let Some((special, task)) = special
            && *special == i
        {
            let part = record(&part).take();
            if let Some((code, capture)) = part {
                drop(run_task(w, code, task, capture));
            }
        }
    };
    let result = catch(|| w.par(0..len).for_each_with_token(body));
    let is_cancelled = tree.is_cancelled.load(SeqCst);
    for (i, seen) in seen.iter().enumerate() {
        let seen = seen.load(SeqCst);
        world.expect(seen <= 1, || format!("iteration {i} of a loop runs twice"));
        world.expect(seen == 1 || is_cancelled || result.is_err(), || {
            format!("iteration {i} of a loop does not run")
        });
    }
    let panic = match special {
        Some((_, task)) if world.has_begun(task.id) => {
            world.expect_ended(task.id, "after its loop");
            world.panic_of(task.id)
        }
        _ => None,
    };
    match result {
        Ok(()) => world.expect(panic.is_none(), || {
            format!("a loop ends without the panic {panic:?}")
        }),
        Err(payload) => {
            world.expect(panic.as_ref() == Some(&payload), || {
                format!("a loop ends with {payload:?}, its iteration with {panic:?}")
            });
            payload.resume();
        }
    }
}
