//! The peer chili as a [`Worker`].

use std::marker::PhantomData;
use std::num::NonZero;
use std::thread;

use purloin::{Handle, IntoIterations, Scope, Serial, Worker, implement::in_pieces};

/// Joins by [`chili::Scope::join`].
pub struct Chili<'t> {
    scope: *mut chili::Scope<'static>,
    token: PhantomData<&'t mut chili::Scope<'t>>,
}

impl<'t> Chili<'t> {
    /// A worker for as long as chili's scope is lent.
    #[inline(always)]
    pub fn new(scope: &'t mut chili::Scope<'_>) -> Self {
        Chili {
            scope: std::ptr::from_mut(scope).cast(),
            token: PhantomData,
        }
    }
}

/// A pool of chili's; the thread that calls counts as one of its workers.
pub fn pool(workers: usize) -> chili::ThreadPool {
    chili::ThreadPool::with_config(chili::Config {
        thread_count: NonZero::new(workers),
        ..chili::Config::default()
    })
}

/// Calls `f` on a thread with the stack that other schedulers' workers have.
pub fn on_a_deep_stack<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    thread::scope(|threads| {
        let thread = thread::Builder::new()
            .stack_size(super::STACK_SIZE)
            .spawn_scoped(threads, f)
            .expect("a thread can be started");
        match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

impl Worker for Chili<'_> {
    type Token<'t> = Chili<'t>;
    // chili has no scope to spawn into: a finish is run serially.
    type Spawner = Serial;

    #[inline(always)]
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Chili<'t>) -> RA + Send,
        B: for<'t> FnOnce(Chili<'t>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        // SAFETY: the scope is lent to this token, which is borrowed here.
        let scope = unsafe { &mut *self.scope };
        scope.join(
            move |scope| a(Chili::new(scope)),
            move |scope| b(Chili::new(scope)),
        )
    }

    fn finish<'env, F, R>(&mut self, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, Serial>) -> R,
    {
        Serial.finish(body)
    }

    fn lend<R>(&mut self, f: impl for<'t> FnOnce(Chili<'t>) -> R) -> R {
        // SAFETY: the scope is lent to this token, which is borrowed here.
        f(Chili::new(unsafe { &mut *self.scope }))
    }

    /// In halves, of which chili shares some.
    fn map_reduce_with<I, M, C, T>(&mut self, iterations: I, map: M, combine: C) -> Option<T>
    where
        I: IntoIterations,
        M: for<'t> Fn(Chili<'t>, I::Item) -> T + Sync,
        C: Fn(T, T) -> T + Sync,
        T: Send,
    {
        in_pieces(self, iterations, LOOP_PIECES, map, combine)
    }

    /// chili has no futures; they are run at once.
    fn future<F, T>(&mut self, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Chili<'t>) -> T + Send + 'static,
        T: Send + 'static,
    {
        purloin::implement::ready(|| self.lend(f))
    }

    fn split_hint(&mut self, _: usize) -> usize {
        unreachable!("chili's loops are split beforehand")
    }
}

/// chili has no loops, so somebody has to choose.
const LOOP_PIECES: usize = 256;
