//! The peer chili, which has only joins: a finish and its tasks run serially, futures run at once,
//! and loops are split into joins.

use std::marker::PhantomData;
use std::num::NonZero;
use std::thread;

use purloin::{Scope, Serial, Worker};
use purloin_kernels::{Answer, Instance};
use purloin_peer::{Peer, Token};

use super::{Description, Kernels, Runner, STACK_SIZE, Start};

pub const CHILI: Description = Description {
    name: "chili",
    about: "peer: the same source over chili::Scope::join",
    is_peer: true,
    has_workers: true,
    kernels: Kernels::All,
    start: Start::Threads(|workers, _| {
        // The calling thread counts as one of chili's workers.
        Ok(Box::new(chili::ThreadPool::with_config(chili::Config {
            thread_count: NonZero::new(workers),
            ..chili::Config::default()
        })))
    }),
    profile: None,
    options: &[],
};

impl Runner for chili::ThreadPool {
    /// Runs the kernel on a new thread, with the same stack size as the workers of other
    /// schedulers.
    fn run(&self, instance: &mut Instance) -> Answer {
        thread::scope(|threads| {
            let thread = thread::Builder::new()
                .stack_size(STACK_SIZE)
                .spawn_scoped(threads, || {
                    instance.run(Token::<Chili>::new(Context::new(&mut self.scope())))
                })
                .expect("a thread can be started");
            match thread.join() {
                Ok(answer) => answer,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }
}

struct Chili;

/// A `&'t mut chili::Scope<'_>` that names only one of its two lifetimes.
struct Context<'t> {
    scope: *mut chili::Scope<'static>,
    borrow: PhantomData<&'t mut chili::Scope<'t>>,
}

impl<'t> Context<'t> {
    #[inline(always)]
    fn new(scope: &'t mut chili::Scope<'_>) -> Self {
        Context {
            scope: std::ptr::from_mut(scope).cast(),
            borrow: PhantomData,
        }
    }

    #[inline(always)]
    fn scope(&mut self) -> &mut chili::Scope<'static> {
        // SAFETY: `new` borrowed the scope mutably for `'t`, and `&mut self` keeps that borrow
        // unique. No reference to the scope's own lifetime leaves this module.
        unsafe { &mut *self.scope }
    }
}

impl Peer for Chili {
    type Context<'t> = Context<'t>;
    type Spawner = Serial;

    #[inline(always)]
    fn join<A, B, RA, RB>(context: &mut Context<'_>, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Context<'t>) -> RA + Send,
        B: for<'t> FnOnce(Context<'t>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        context.scope().join(
            move |scope| a(Context::new(scope)),
            move |scope| b(Context::new(scope)),
        )
    }

    fn lend<R>(context: &mut Context<'_>, f: impl for<'t> FnOnce(Context<'t>) -> R) -> R {
        f(Context::new(context.scope()))
    }

    fn finish<'env, F, R>(body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, Serial>) -> R,
    {
        Serial.finish(body)
    }
}
