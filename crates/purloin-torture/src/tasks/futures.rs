//! Futures, and their results.

use std::future::IntoFuture;
use std::sync::atomic::Ordering::*;
use std::sync::{Arc, Mutex};

use purloin::{Cancelled, Handle, Token, Worker};

use super::scopes::{expect_begin, inputs, of_scope};
use super::{AnyHandle, Call, Code, Known, Subject, run};
use crate::program::*;
use crate::sync::{await_for, record, thread};
use crate::world::{Guard, Payload, ScopeRecord, catch};

pub(super) fn future<S: Subject>(
    w: Option<&mut Token<'_, S>>,
    code: &mut Code<S>,
    kind: FutureKind,
    is_shared: bool,
    then: Then,
    task: &'static Task,
) {
    let world = code.world();
    let (handle, scope) = match kind {
        FutureKind::Token | FutureKind::Free => {
            let (inner, capture) = (code.part(0), Guard::new(world, task.id));
            let handle = match (kind, w.as_ref()) {
                (FutureKind::Free, _) | (_, None) => {
                    purloin::future(move || S::with_token(|w| run(w, inner, task, capture)))
                }
                _ => {
                    let w = w.expect("there is a token");
                    let handle = w.future(move |w| run(w, inner, task, capture));
                    return keep(Some(w), code, handle, None, is_shared, then, task);
                }
            };
            (handle, None)
        }
        FutureKind::Scoped { up } | FutureKind::After { up, .. } => {
            let Some((scope, around)) = code.scope(up) else {
                return;
            };
            let max = match kind {
                FutureKind::After { inputs, .. } => inputs,
                _ => 0,
            };
            let (handles, numbers) = inputs(code, max);
            let (inner, capture) = of_scope(code, &scope, around, task);
            let is_late = scope.scope.is_cancelled();
            let body = move |w: Token<'_, S>| {
                expect_begin(inner.world(), task, is_late, &numbers);
                run(w, inner, task, capture)
            };
            let handle = match kind {
                FutureKind::After { .. } => scope.scope.after(&handles).future(body),
                _ => scope.scope.future(body),
            };
            (handle, Some(scope.record))
        }
    };
    keep(w, code, handle, scope, is_shared, then, task);
}

/// Does with a new handle what the program says.
fn keep<S: Subject>(
    w: Option<&mut Token<'_, S>>,
    code: &mut Code<S>,
    handle: Handle<Guard>,
    scope: Option<Arc<ScopeRecord>>,
    is_shared: bool,
    then: Then,
    task: &'static Task,
) {
    let handle = match is_shared {
        true => AnyHandle::Shared(handle.share()),
        false => AnyHandle::Own(handle),
    };
    let known = Known {
        handle,
        id: task.id,
        scope,
        is_given: then == Then::Give,
    };
    match then {
        Then::Keep | Then::Give => code.handles.push(known),
        Then::Drop => drop(known),
        Then::Get(how) => get(w, &code.call, known, how, false),
    }
}

/// Gets the result of a future, and checks it.
pub fn get<S: Subject>(
    w: Option<&mut Token<'_, S>>,
    call: &Call,
    known: Known,
    how: How,
    catches: bool,
) {
    let Known {
        handle, id, scope, ..
    } = known;
    let (world, tree) = (call.world, &call.tree);
    let is_shared = matches!(handle, AnyHandle::Shared(_));
    let result = catch(|| get_by(w, handle, how));
    let result = match result {
        Ok(Err(Cancelled)) => Err(Payload::Cancelled),
        Ok(Ok(id)) => Ok(id),
        Err(payload) => Err(payload),
    };
    let payload = match result {
        Ok(result) => {
            world.expect(result == id, || {
                format!("the future of task {id} has the result of task {result}")
            });
            world.expect_ended(id, "after a get of its result");
            let panic = world.panic_of(id);
            world.expect(panic.is_none(), || {
                format!("the get of task {id} ends without the panic {panic:?}")
            });
            return;
        }
        Err(payload) => payload,
    };
    let is_cancelled = match scope {
        Some(scope) => scope.is_cancelled.load(SeqCst),
        None => false,
    };
    let of_task = world.has_begun(id).then(|| world.panic_of(id)).flatten();
    let is_right = match &payload {
        Payload::Cancelled => is_cancelled || of_task == Some(Payload::Cancelled),
        Payload::Shared if is_shared => of_task.is_some(),
        _ => Some(&payload) == of_task.as_ref(),
    };
    world.expect(is_right, || {
        format!("the get of task {id} panics with {payload:?}, the task with {of_task:?}")
    });
    if catches {
        tree.ended.store(true, SeqCst);
        return;
    }
    if payload == Payload::Cancelled {
        // It may end with a scope, and take the place of another panic on its way.
        tree.ended.store(true, SeqCst);
    }
    record(&tree.thrown).push(payload.clone());
    payload.resume();
}

fn get_by<S: Subject>(
    w: Option<&mut Token<'_, S>>,
    handle: AnyHandle,
    how: How,
) -> Result<usize, Cancelled> {
    let get = move |handle: AnyHandle, how: How| match (handle, how) {
        (AnyHandle::Own(handle), How::Try) => handle.try_get().map(|guard| guard.id),
        (AnyHandle::Own(handle), How::Await) => {
            let mut future = handle.into_future();
            let result =
                purloin::blocking(|| await_for(std::pin::Pin::new(&mut future), usize::MAX));
            Ok(result.expect("it is awaited for ever").id)
        }
        (AnyHandle::Own(handle), _) => Ok(handle.get().id),
        (AnyHandle::Shared(handle), How::Try) => handle.try_get().map(|guard| guard.id),
        (AnyHandle::Shared(handle), How::Await) => {
            let mut future = std::pin::pin!((&handle).into_future());
            let result = purloin::blocking(|| await_for(future.as_mut(), usize::MAX));
            Ok(result.expect("it is awaited for ever").id)
        }
        (AnyHandle::Shared(handle), _) => Ok(handle.get().id),
    };
    match (handle, how, w) {
        (AnyHandle::Own(handle), How::Token, Some(w)) => Ok(w.get(handle).id),
        (AnyHandle::Own(handle), How::InJoin, Some(w)) => {
            Ok(w.join(|_| (), |mut w| w.get(handle).id).1)
        }
        (handle, How::Thread, _) => {
            let handle = Arc::new(Mutex::new(Some(handle)));
            let taken = Arc::clone(&handle);
            let take = move |handle: &Mutex<Option<AnyHandle>>| record(handle).take();
            let builder = thread::Builder::new().name("outside".to_string());
            let outside = move || {
                let handle = take(&taken).expect("only this thread takes it");
                catch(|| get(handle, How::Try))
            };
            match builder.spawn(outside) {
                Ok(thread) => match purloin::blocking(|| thread.join()) {
                    Ok(Ok(result)) => result,
                    Ok(Err(payload)) => payload.resume(),
                    Err(panic) => std::panic::resume_unwind(panic),
                },
                // The system has refused the thread.
                Err(_) => get(take(&handle).expect("no thread has it"), How::Plain),
            }
        }
        (handle, how, _) => get(handle, how),
    }
}
