//! The channel by which requests reach a worker: many senders, one receiver.
//!
//! The messages are its links: each request has room for the number of the one
//! that was sent before it. So a mailbox is one word, nothing is allocated, and
//! it has room for every request that there is. The receiver takes all of them at
//! once, so a sender that compares and swaps the newest cannot mistake an old
//! one for it.

use super::request::Request;
use crate::sync::{AtomicU32, Ordering};

/// The number of a request.
pub(super) type Id = u32;

/// Requests for one worker.
pub(super) struct Mailbox {
    /// The number of the newest, plus one.
    newest: AtomicU32,
}

impl Mailbox {
    pub(super) fn new() -> Mailbox {
        Mailbox {
            newest: AtomicU32::new(0),
        }
    }

    /// Sends a request, which is the caller's. True if there was none.
    pub(super) fn send(&self, id: Id, request: &Request) -> bool {
        let mut newest = self.newest.load(Ordering::Relaxed);
        loop {
            // Relaxed: released with the exchange.
            request.next.store(newest, Ordering::Relaxed);
            // Release: the request, and the links below it, which its own sender
            // has released: an exchange continues what an exchange released.
            match self
                .newest
                .compare_exchange(newest, id + 1, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => return newest == 0,
                Err(other) => newest = other,
            }
        }
    }

    /// Takes all requests, the newest first, and makes them the receiver's.
    pub(super) fn receive<'r>(&self, request: impl Fn(Id) -> &'r Request, mut f: impl FnMut(Id)) {
        if self.is_empty() {
            return;
        }
        let mut newest = self.newest.swap(0, Ordering::Acquire);
        while let Some(id) = newest.checked_sub(1) {
            newest = request(id).next.load(Ordering::Relaxed);
            f(id);
        }
    }

    /// Whether there are none, as far as this thread knows.
    pub(super) fn is_empty(&self) -> bool {
        self.newest.load(Ordering::Relaxed) == 0
    }
}
