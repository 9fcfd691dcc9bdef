//! A subscriber that records what it is told, and on which thread.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use tracing::span::{Attributes, Id};
use tracing::{Dispatch, Event, Span, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Registry};

/// What the subscriber is told of a span, or of an event in a span.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// The span was opened within this one.
    Opened(Option<&'static str>),
    Entered,
    Left,
    Closed,
    Event,
}

#[derive(Clone, Debug)]
pub struct Entry {
    pub thread: ThreadId,
    pub what: What,
    /// The name of the span. None for an event outside of all spans.
    pub span: Option<&'static str>,
}

#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<Entry>>>);

impl Log {
    /// Returns a log, and a subscriber that writes it.
    pub fn new() -> (Log, Dispatch) {
        let log = Log::default();
        let subscriber = Registry::default().with(log.clone());
        (log, Dispatch::new(subscriber))
    }

    pub fn entries(&self) -> Vec<Entry> {
        self.0.lock().unwrap().clone()
    }

    /// Returns how often the subscriber was told this of the span.
    pub fn count(&self, span: &str, what: What) -> usize {
        let is_meant = |entry: &&Entry| entry.span == Some(span) && entry.what == what;
        self.entries().iter().filter(is_meant).count()
    }

    /// Checks that each thread has left what it has entered, the innermost span first.
    pub fn check_nesting(&self) {
        let mut threads = HashMap::<ThreadId, Vec<_>>::new();
        for entry in self.entries() {
            let open = threads.entry(entry.thread).or_default();
            match entry.what {
                What::Entered => open.push(entry.span),
                What::Left => assert_eq!(open.pop(), Some(entry.span)),
                _ => (),
            }
        }
        assert!(threads.values().all(Vec::is_empty), "{threads:?}");
    }

    fn add(&self, what: What, span: Option<&'static str>) {
        let thread = thread::current().id();
        self.0.lock().unwrap().push(Entry { thread, what, span });
    }
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for Log {
    fn on_new_span(&self, _: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let parent = context.span(id).unwrap().parent();
        let parent = parent.map(|parent| parent.name());
        self.add(What::Opened(parent), name(&context, id));
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        self.add(What::Entered, name(&context, id));
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        self.add(What::Left, name(&context, id));
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        self.add(What::Closed, name(&context, &id));
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let span = context.event_span(event).map(|span| span.name());
        self.add(What::Event, span);
    }
}

fn name<S: Subscriber + for<'s> LookupSpan<'s>>(
    context: &Context<'_, S>,
    id: &Id,
) -> Option<&'static str> {
    Some(context.span(id).unwrap().name())
}

/// Returns the name of the current span.
pub fn current() -> Option<&'static str> {
    Span::current().metadata().map(|metadata| metadata.name())
}
