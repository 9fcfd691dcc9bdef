//! The adapter for peers that have parallel loops, but no joins. A loop runs in parallel. Joins,
//! finishes and futures run serially, and so does a loop inside a loop.

use std::marker::PhantomData;
use std::ops::ControlFlow;

use purloin::implement::in_order;
use purloin::{IntoIterations, Iterations, Scope, Serial, Worker};
use purloin_kernels::{Answer, Instance};
use purloin_peer::{LOOP_PIECES, Peer, Token};

use super::Kernels;

/// A library for loops, with a pool of its own.
pub trait LoopPeer: Sized + 'static {
    /// Maps all pieces of a loop, possibly in parallel, and combines the results in any order. The
    /// default value of `T` is neutral: combined with another value, it changes nothing.
    fn map_reduce<P, T>(
        &self,
        pieces: Vec<P>,
        map: impl Fn(P) -> T + Sync,
        combine: impl Fn(T, T) -> T + Sync,
    ) -> T
    where
        P: Send,
        T: Default + Send;
}

/// The kernels whose parallelism is in loops that are not nested, and which do not need results in
/// order. With a grain size, `loops` consists of joins, so it runs serially.
pub const KERNELS: Kernels = Kernels::Only(&["loops", "jacobi", "spc-loop"]);

/// Runs a kernel.
pub fn run<L: LoopPeer>(peer: &L, instance: &mut Instance) -> Answer {
    instance.run(Token::<LoopsOnly<L>>::new(Some(peer)))
}

/// The peer `L` with serial joins.
pub struct LoopsOnly<L>(PhantomData<L>);

impl<L: LoopPeer> Peer for LoopsOnly<L> {
    /// `None` inside a loop, where the pool is busy.
    type Context<'t> = Option<&'t L>;
    type Spawner = Serial;

    fn join<A, B, RA, RB>(context: &mut Option<&L>, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Option<&'t L>) -> RA + Send,
        B: for<'t> FnOnce(Option<&'t L>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        (a(*context), b(*context))
    }

    fn lend<R>(context: &mut Option<&L>, f: impl for<'t> FnOnce(Option<&'t L>) -> R) -> R {
        f(*context)
    }

    fn finish<'env, F, R>(body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, Serial>) -> R,
    {
        Serial.finish(body)
    }

    /// Gives the pieces of the loop to the peer. A peer takes an item by its index or from a shared
    /// iterator, but [`Iterations`] can only be split, so the items are pieces.
    fn run_loop<I, A, N, F, C>(
        context: &mut Option<&L>,
        iterations: I,
        init: N,
        step: F,
        combine: C,
    ) -> A
    where
        I: IntoIterations,
        N: Fn() -> A + Sync,
        F: for<'t> Fn(Option<&'t L>, A, I::Item) -> ControlFlow<A, A> + Sync,
        C: Fn(A, A) -> A + Sync,
        A: Send,
    {
        let iterations = iterations.into_iterations();
        let run_piece =
            |piece: I::Iterations| in_order(piece, init(), |sum, item| step(None, sum, item));
        let Some(peer) = context else {
            return run_piece(iterations);
        };
        let combine = |left, right| match (left, right) {
            (Some(left), Some(right)) => Some(combine(left, right)),
            (left, right) => left.or(right),
        };
        peer.map_reduce(cut(iterations), |piece| Some(run_piece(piece)), combine)
            .unwrap_or_else(&init)
    }
}

/// Cuts a loop into at most [`LOOP_PIECES`] pieces of equal length.
fn cut<I: Iterations>(mut rest: I) -> Vec<I> {
    let len = rest.remaining().div_ceil(LOOP_PIECES);
    let mut pieces = Vec::with_capacity(LOOP_PIECES);
    while rest.remaining() > len {
        let (piece, after) = rest.split_at(len);
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}
