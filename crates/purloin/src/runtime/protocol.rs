//! What a pool asks of such a scheduler.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::spawn;
use super::{Direct, Header, Member, Stack, Stolen, Tasks, Thieves, Token};
use crate::pool::Search;
use crate::scheduler::Protocol;
use crate::sleep::Slept;
use crate::sync::Ordering;

impl<S: Direct> Protocol for S {
    type Token<'t> = Token<'t, S>;
    type Tasks = Tasks<S>;
    type Stolen = Stolen<S>;

    const DETECTS_QUIET: bool = S::Thieves::DETECTS_QUIET;
    const LENDS: bool = S::Thieves::LENDS;

    fn tasks(&self, stack_size: usize, workers: usize) -> io::Result<Tasks<S>> {
        Tasks::new(self, stack_size, workers)
    }

    fn enter_thread(member: &Member<S>) {
        <S as Direct>::enter_thread(member);
    }

    fn leave_thread() {
        <S as Direct>::leave_thread();
    }

    fn call<R>(member: &Member<S>, f: impl for<'t> FnOnce(Token<'t, S>) -> R) -> R {
        let stack = member.tasks.stack.base();
        let (base, live) = (stack.top(), stack.live());
        let frame = member.tasks.enter(None);
        let result = catch_unwind(AssertUnwindSafe(|| f(Token::at_top(member))));
        // Futures that nobody has got.
        spawn::drain(member, base, live);
        drop(frame);
        match result {
            Ok(result) => result,
            Err(panic) => resume_unwind(panic),
        }
    }

    fn turns_outside(me: &Member<S>) {
        S::Thieves::turns_outside(me);
    }

    fn look(search: &mut Search<'_, S>) -> Option<Stolen<S>> {
        S::Thieves::look(search)
    }

    fn sleep(search: &mut Search<'_, S>) -> Slept {
        S::Thieves::sleep(search)
    }

    fn leave_tasks(me: &Member<S>) -> bool {
        S::Thieves::leave_tasks(me)
    }

    fn turns_away(me: &Member<S>) {
        S::Thieves::turns_away(me);
    }

    fn last_look_at(me: &Member<S>, holder: &Member<S>) -> bool {
        S::Thieves::last_look_at(me, holder)
    }

    fn pass_on(member: &Member<S>) {
        S::Thieves::pass_on(member);
    }

    fn became_active(member: &Member<S>) {
        debug_assert!(member.tasks.is_at_the_surface(), "it was idle");
        S::Thieves::became_active(member);
    }

    fn run(thief: &Member<S>, stolen: Stolen<S>) {
        let tasks = &thief.tasks;
        debug_assert!(
            tasks.stack.unstolen() == 0,
            "what a thief holds when it starts a task is all stolen"
        );
        let outer = tasks.depth.load(Ordering::Relaxed);
        let base = tasks.stack.base().top();
        let live = tasks.stack.base().live();
        // The first task that it pushes is one level deeper.
        let depth = stolen
            .depth
            .wrapping_add(1)
            .wrapping_sub(tasks.stack.base().position(base));
        tasks.depth.store(depth, Ordering::Relaxed);
        S::Thieves::begins(thief);
        let victim = &thief.pool().members[stolen.victim];
        // SAFETY: we have the task, run it once, and its owner keeps the slot
        // until it is done.
        let sleeper = unsafe {
            thief.with_lineage(victim.lineage(), || {
                (*stolen.slot).run(thief);
                tasks.bury(|| spawn::drain(thief, base, live));
            });
            let outcome = (*stolen.slot).header.outcome();
            S::Thieves::ends(thief, outcome);
            outcome.finish_stolen()
        };
        if sleeper {
            thief.pool().sleep.unpark(stolen.victim);
        }
        tasks.depth.store(outer, Ordering::Relaxed);
    }
}
