//! Scopes, and the tasks that are spawned into them.

use std::sync::Arc;
use std::sync::atomic::Ordering::*;

use purloin::{Scope, SharedHandle, Token, Worker};

use super::{AnyHandle, Code, InScope, Subject, run, run_here};
use crate::program::*;
use crate::sync::record;
use crate::world::{Guard, Payload, ScopeRecord, Tree, World, catch};

pub(super) fn finish<S: Subject>(w: &mut Token<'_, S>, code: &mut Code<S>, body: &'static Task) {
    let world = code.world();
    let seen = Arc::new(ScopeRecord::default());
    let depth = code.scopes.len();
    let result = catch(|| {
        w.finish(|scope| {
            // SAFETY: only the lifetimes change. The reference is used by the body and by tasks of this scope, for which the
            // finish waits, and by the code that these wait for: see `Code::scope`.
            let scope: &'static Scope<'static, 'static, S> = unsafe { std::mem::transmute(scope) };
            let record = Arc::clone(&seen);
            code.scopes.push(InScope { scope, record });
            run_here(None, code, body);
        })
    });
    code.scopes.truncate(depth);
    if let Err(payload) = check_finish(world, &code.call.tree, &seen, Some(body.id), result) {
        payload.resume();
    }
}

/// Checks how a scope has ended. Returns the panic with which it has.
pub fn check_finish(
    world: &World,
    tree: &Tree,
    seen: &ScopeRecord,
    body: Option<usize>,
    result: Result<(), Payload>,
) -> Result<(), Payload> {
    let is_cancelled = seen.is_cancelled.load(SeqCst);
    for &task in &*record(&seen.tasks) {
        if world.has_begun(task) || !is_cancelled {
            world.expect_ended(task, "after its scope");
        }
    }
    let of_body = body.and_then(|body| world.panic_of(body));
    let failed = record(&seen.failed);
    let mut failures = failed
        .iter()
        .filter(|payload| **payload != Payload::Cancelled);
    match &result {
        Ok(()) => {
            let lost = of_body.or(failures.next().cloned());
            world.expect(lost.is_none(), || {
                format!("a scope ends without the panic {lost:?}")
            });
        }
        Err(payload) => {
            let is_right = match &of_body {
                Some(of_body) => payload == of_body,
                // A task may have needed a cancelled one of another scope.
                None if *payload == Payload::Cancelled => failed.contains(payload),
                None => tree.has_thrown(payload),
            };
            world.expect(is_right, || {
                format!("a scope ends with the panic {payload:?}, and its body with {of_body:?}")
            });
        }
    }
    result
}

/// Returns the code of a task of this scope, and notes that the scope has it.
pub(super) fn of_scope<S: Subject>(
    code: &mut Code<S>,
    scope: &InScope<S>,
    around: usize,
    task: &Task,
) -> (Code<S>, Guard) {
    record(&scope.record.tasks).push(task.id);
    (code.part(around), Guard::new(code.world(), task.id))
}

/// Returns some of the shared handles that the code knows, with the numbers of their tasks.
pub(super) fn inputs<S: Subject>(
    code: &Code<S>,
    max: usize,
) -> (Vec<SharedHandle<Guard>>, Vec<usize>) {
    let shared = code.handles.iter().filter_map(|known| match &known.handle {
        AnyHandle::Shared(handle) => Some((handle.clone(), known.id)),
        AnyHandle::Own(_) => None,
    });
    shared.take(max).unzip()
}

/// Checks what must hold when a task of a scope begins.
pub(super) fn expect_begin(world: &World, task: &Task, is_late: bool, inputs: &[usize]) {
    world.expect(!is_late, || {
        format!("task {} runs, but was made in a cancelled scope", task.id)
    });
    for &input in inputs {
        if world.has_begun(input) {
            world.expect_ended(input, "when a task after it begins");
        }
    }
}

pub(super) fn spawn<S: Subject>(
    code: &mut Code<S>,
    up: usize,
    is_after: bool,
    task: &'static Task,
) {
    let Some((scope, around)) = code.scope(up) else {
        return;
    };
    let (handles, numbers) = inputs(code, if is_after { 3 } else { 0 });
    let (inner, capture) = of_scope(code, &scope, around, task);
    let (seen, is_late) = (Arc::clone(&scope.record), scope.scope.is_cancelled());
    let body = move |w: Token<'_, S>| {
        expect_begin(inner.world(), task, is_late, &numbers);
        if let Err(payload) = catch(|| drop(run(w, inner, task, capture))) {
            record(&seen.failed).push(payload.clone());
            payload.resume();
        }
    };
    match is_after {
        true => scope.scope.after(&handles).spawn(body),
        false => scope.scope.spawn(body),
    }
}
