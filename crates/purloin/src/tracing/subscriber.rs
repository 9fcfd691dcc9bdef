//! The subscriber of a program that uses the crate `tracing`, with the feature of that name.
//!
//! - The spans of [`span`](super::span()) reach the subscriber ([`in_span`]).
//! - The span that is current where a task is made is current inside the task ([`CallersSpan`]).
//!
//! A current span belongs to a thread. Each place where a closure becomes a task keeps the span and its subscriber with the
//! closure: joins (and with them loops and sorts), spawns, futures, calls from outside, jobs and broadcasts. The thread that
//! runs the closure enters the span if it is not current there. If that thread has no subscriber, it gets the task's one:
//! the program may have set it for the thread alone that has made the task.
//!
//! A subscriber is code of the program. It may panic, and it may itself use the pool. So it is called before a task gets its
//! place on the stack, and before anything is counted.
//!
//! The owner of a join's task knows that the span is current: it runs the task where it has made it, so it enters nothing.
//!
//! # Spans of suspended tasks
//!
//! A worker that waits may run another task, on top of those that it has suspended. If both have the same subscriber, the
//! worker then **leaves** the spans of the suspended tasks, and enters them again after that task. There are two reasons:
//!
//! - A task that was made outside of all spans runs outside of all spans.
//! - A registry of `tracing-subscriber` counts a span once for each thread. Let a thread enter A, B, and A again: B stays
//!   current. So a task that was made in A, and whose result is fetched in B, would run in B.
//!
//! # Cost
//!
//! Without the feature, a [`CallersSpan`] is empty, and each function here is a plain call. With it, and without a
//! subscriber, a task costs a load and a branch more, and is a word larger.

pub use imp::CallersSpan;
pub(super) use imp::in_span;

/// A closure that becomes a task, and the span of the thread that makes it.
pub(crate) struct InCallersSpan<F> {
    closure: F,
    span: CallersSpan,
}

impl<F> InCallersSpan<F> {
    /// Keeps the current span of this thread for a closure.
    #[inline(always)]
    pub(crate) fn new(closure: F) -> Self {
        InCallersSpan {
            closure,
            span: CallersSpan::current(),
        }
    }

    /// Returns whether making this value has called a subscriber, which is code of the program.
    #[inline(always)]
    pub(crate) fn has_called_subscriber(&self) -> bool {
        self.span.is_some()
    }

    /// Returns the closure, for a thread that is in the span.
    #[inline(always)]
    pub(crate) fn into_closure(self) -> F {
        self.closure
    }

    /// Passes the closure to `call`, in the span.
    #[inline(always)]
    pub(crate) fn run<R>(self, call: impl FnOnce(F) -> R) -> R {
        let InCallersSpan { closure, span } = self;
        span.run(|| call(closure))
    }
}

#[cfg(feature = "tracing")]
mod imp {
    use std::cell::Cell;

    use tracing_core::callsite::{self, Callsite};
    use tracing_core::dispatcher::{self, DefaultGuard, Dispatch};
    use tracing_core::field::FieldSet;
    use tracing_core::metadata::{Kind, Metadata};
    use tracing_core::span::{Attributes, Id};
    use tracing_core::subscriber::{Interest, NoSubscriber};
    use tracing_core::{Level, LevelFilter, identify_callsite};

    use crate::sync::plain::OnceLock;

    /// The span of the crate `tracing` that was current where this value was made, and its subscriber. Empty without
    /// the feature `tracing`, and without a subscriber.
    pub struct CallersSpan(Option<Box<Context>>);

    impl CallersSpan {
        /// Returns the current span of this thread.
        #[inline(always)]
        pub fn current() -> Self {
            let is_off = LevelFilter::current() == LevelFilter::OFF;
            CallersSpan(if is_off { None } else { Context::current() })
        }

        /// Returns whether there was a subscriber.
        #[inline(always)]
        pub(crate) fn is_some(&self) -> bool {
            self.0.is_some()
        }

        /// Calls `f` in the span.
        #[inline(always)]
        pub fn run<R>(&self, f: impl FnOnce() -> R) -> R {
            // The guard leaves the span also after a panic of `f`.
            let _entered = self.0.as_deref().map(Context::enter);
            f()
        }
    }

    crate::sync::thread_local! {
        /// Whether the subscriber of this thread is that of a task.
        static IS_LENT: Cell<bool> = const { Cell::new(false) };
    }

    crate::sync::thread_local! {
        /// Whether this thread asks a subscriber for a span, or closes one. If the subscriber then makes a task, the task
        /// has no span. Otherwise the subscriber would be asked within its own answer, again and again.
        static IS_ASKING: Cell<bool> = const { Cell::new(false) };
    }

    /// Calls `ask`, which calls a subscriber.
    fn asking<R>(ask: impl FnOnce() -> R) -> R {
        struct Reset(bool);

        impl Drop for Reset {
            fn drop(&mut self) {
                let _ = IS_ASKING.try_with(|is_asking| is_asking.set(self.0));
            }
        }

        let was_asking = IS_ASKING.try_with(|is_asking| is_asking.replace(true));
        let _reset = Reset(was_asking.unwrap_or(true));
        ask()
    }

    /// Lends this thread the subscriber of a task, until it is dropped.
    struct Lent {
        /// Restores the subscriber of this thread.
        _default: DefaultGuard,
        was_lent: bool,
    }

    impl Lent {
        /// Returns `None` if the thread has a subscriber of its own, and in code of a subscriber, which must not be
        /// replaced.
        fn new(subscriber: &Dispatch) -> Option<Lent> {
            let was_lent = IS_LENT.try_with(Cell::get).ok()?;
            let has_own = dispatcher::get_current(|own| !own.is::<NoSubscriber>())?;
            (was_lent || !has_own).then(|| {
                let _ = IS_LENT.try_with(|is_lent| is_lent.set(true));
                Lent {
                    _default: dispatcher::set_default(subscriber),
                    was_lent,
                }
            })
        }
    }

    impl Drop for Lent {
        fn drop(&mut self) {
            let _ = IS_LENT.try_with(|is_lent| is_lent.set(self.was_lent));
        }
    }

    /// A subscriber, and a span that it keeps open.
    struct Context {
        subscriber: Dispatch,
        /// `None` outside of all spans.
        span: Option<Id>,
    }

    impl Context {
        #[cold]
        #[inline(never)]
        fn current() -> Option<Box<Self>> {
            // Not called in `get_default`, which keeps tasks from setting another subscriber: this one may use the pool.
            let subscriber = dispatcher::get_default(Dispatch::clone);
            if subscriber.is::<NoSubscriber>() || IS_ASKING.try_with(Cell::get).unwrap_or(true) {
                return None;
            }
            let span = asking(|| {
                let span = subscriber.current_span();
                span.id().map(|span| subscriber.clone_span(span))
            });
            Some(Box::new(Context { subscriber, span }))
        }

        /// Makes the span the current one of this thread until the guard is dropped.
        #[cold]
        #[inline(never)]
        fn enter(&self) -> Entered<'_> {
            let mut entered = Entered {
                context: self,
                left: Left(Vec::new(), self),
                has_entered: false,
                _lent: Lent::new(&self.subscriber),
            };
            loop {
                match (self.subscriber.current_span().id(), &self.span) {
                    (current, span) if current == span.as_ref() => break,
                    (Some(current), _) if entered.left.0.len() < MOST_LEFT => {
                        // Cloned first: the thread may be all that keeps the span open.
                        let left = self.subscriber.clone_span(current);
                        self.subscriber.exit(current);
                        entered.left.0.push(left);
                    }
                    (_, Some(span)) => {
                        self.subscriber.enter(span);
                        entered.has_entered = true;
                        break;
                    }
                    (_, None) => break,
                }
            }
            entered
        }

        /// Enters a span that was opened on this thread a moment ago.
        fn enter_new(&self) -> Entered<'_> {
            if let Some(span) = &self.span {
                self.subscriber.enter(span);
            }
            Entered {
                context: self,
                left: Left(Vec::new(), self),
                has_entered: true,
                _lent: None,
            }
        }
    }

    impl Drop for Context {
        fn drop(&mut self) {
            if let Some(span) = self.span.take() {
                asking(|| self.subscriber.try_close(span));
            }
        }
    }

    /// Number of spans of suspended tasks that a thread leaves, at most. A subscriber may ignore that a thread leaves a
    /// span, and the thread would try for ever.
    const MOST_LEFT: usize = 1000;

    /// Leaves the span of a context, where this thread has entered it. Then enters the spans that this thread has left,
    /// also after a panic of the subscriber, and then restores the subscriber.
    struct Entered<'c> {
        context: &'c Context,
        has_entered: bool,
        left: Left<'c>,
        _lent: Option<Lent>,
    }

    impl Drop for Entered<'_> {
        fn drop(&mut self) {
            let Context { subscriber, span } = self.context;
            if let (Some(span), true) = (span, self.has_entered) {
                subscriber.exit(span);
            }
        }
    }

    /// The spans that this thread has left, the innermost first.
    struct Left<'c>(Vec<Id>, &'c Context);

    impl Drop for Left<'_> {
        fn drop(&mut self) {
            let Left(left, Context { subscriber, .. }) = self;
            while let Some(span) = left.pop() {
                subscriber.enter(&span);
                asking(|| subscriber.try_close(span));
            }
        }
    }

    /// Calls `f` in a new span with this name.
    #[inline]
    pub(in super::super) fn in_span<R>(name: &'static str, f: impl FnOnce() -> R) -> R {
        let is_on = LEVEL <= LevelFilter::current();
        let context = is_on.then(|| open(name)).flatten();
        let _entered = context.as_ref().map(Context::enter_new);
        f()
    }

    /// The level of the program's spans.
    const LEVEL: Level = Level::DEBUG;

    /// Returns a new span with this name, if the subscriber wants it.
    #[cold]
    #[inline(never)]
    fn open(name: &'static str) -> Option<Context> {
        let metadata = Name::find(name).metadata();
        let subscriber = dispatcher::get_default(Dispatch::clone);
        subscriber.enabled(metadata).then(|| {
            let attributes = metadata.fields().value_set(&[]);
            let span = Some(subscriber.new_span(&Attributes::new(metadata, &attributes)));
            Context { subscriber, span }
        })
    }

    /// The name of a span, as subscribers know it. It lives as long as the program.
    ///
    /// Each macro of the crate `tracing` has a static variable for that. The names of our spans are arguments of a
    /// function, so they are in a list.
    struct Name {
        metadata: OnceLock<Metadata<'static>>,
        next: Next,
    }

    type Next = OnceLock<&'static Name>;

    impl Name {
        /// Returns the element of the list with this name, which is there from now on.
        fn find(name: &'static str) -> &'static Name {
            static FIRST: Next = OnceLock::new();

            let mut place = &FIRST;
            loop {
                let mut is_new = false;
                let found: &'static Name = place.get_or_init(|| {
                    is_new = true;
                    Name::new(name)
                });
                if is_new {
                    // Not in `get_or_init`: this calls subscribers, which may open spans.
                    callsite::register(found);
                }
                if found.metadata().name() == name {
                    return found;
                }
                place = &found.next;
            }
        }

        fn new(name: &'static str) -> &'static Name {
            let new: &'static Name = Box::leak(Box::new(Name {
                metadata: OnceLock::new(),
                next: OnceLock::new(),
            }));
            new.metadata.get_or_init(|| {
                let fields = FieldSet::new(&[], identify_callsite!(new));
                Metadata::new(name, "purloin", LEVEL, None, None, None, fields, Kind::SPAN)
            });
            new
        }
    }

    impl Callsite for Name {
        /// Does nothing: [`open`] asks the subscriber each time.
        fn set_interest(&self, _: Interest) {}

        fn metadata(&self) -> &Metadata<'_> {
            self.metadata.get().expect("`new` has set it")
        }
    }
}

#[cfg(not(feature = "tracing"))]
mod imp {
    /// The span of the crate `tracing` that was current where this value was made, and its subscriber. Empty without
    /// the feature `tracing`.
    pub struct CallersSpan;

    impl CallersSpan {
        /// Returns the current span of this thread.
        #[inline(always)]
        pub fn current() -> Self {
            CallersSpan
        }

        /// Returns whether there was a subscriber.
        #[inline(always)]
        pub(crate) fn is_some(&self) -> bool {
            false
        }

        /// Calls `f` in the span.
        #[inline(always)]
        pub fn run<R>(&self, f: impl FnOnce() -> R) -> R {
            f()
        }
    }

    #[inline(always)]
    pub(in super::super) fn in_span<R>(_: &'static str, f: impl FnOnce() -> R) -> R {
        f()
    }
}
