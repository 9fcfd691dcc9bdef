//! Cancellation: of a scope, and from anywhere by a [`Cancel`].
//!
//! A scope has a [state](CancelState), one word, which every task reads before it begins. The word says that the scope
//! is cancelled, and it points to the [`Cancel`] by which the scope may be cancelled, if there is one. Nothing wakes up for a
//! cancellation: tasks and loops look. So [`Cancel::cancel`] is a single store, which a signal handler may do, too.

use std::fmt;
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::time::Duration;

use crate::sync::Instant;
use crate::sync::plain::{AtomicBool, AtomicPtr, Ordering};

/// The error of a task or a loop that was cancelled, by its [scope](crate::Scope::cancel) or by a [`Cancel`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Cancelled;

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cancelled")
    }
}

/// The text of the error: `main` and `unwrap` print errors in this form.
impl fmt::Debug for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Cancelled {}

/// Cancels loops, scopes and tasks, from any thread or after some time.
///
/// A `Cancel` can be cloned, and all clones are cancelled together. It stays cancelled for ever. What takes one:
///
/// | what | how | what happens |
/// |---|---|---|
/// | a loop | [`items.par().until(&cancel)`](crate::iter::Par::until) | its items become results, and it ends with `Err(Cancelled)` |
/// | a scope | [`scope.cancel_by(&cancel)`](crate::Scope::cancel_by) | its tasks that have not begun are dropped, and its `for_each` loops stop |
/// | a closure of [`run_async`](crate::Pool::run_async) | [`future.cancel_on_drop(&cancel)`](crate::RunFuture::cancel_on_drop) | whoever drops the future before it has completed cancels it |
/// | any other code | [`is_cancelled`](Self::is_cancelled), or [`check`](Self::check)`()?` | |
///
/// ```
/// use std::time::Duration;
///
/// use purloin::{Cancel, Cancelled, prelude::*};
///
/// let cancel = Cancel::after(Duration::from_millis(20));
/// let bits = (0..u64::MAX).into_par().map(|n| u64::from(n.count_ones()));
/// let sum: Result<u64, Cancelled> = bits.until(&cancel).sum();
/// assert_eq!(sum, Err(Cancelled));
/// ```
///
/// Nothing waits for a cancellation, and it wakes nobody: code that runs looks at the token from time to time.
#[derive(Clone)]
pub struct Cancel(Arc<Source>);

/// The state of a token, which its clones share.
struct Source {
    is_cancelled: AtomicBool,
    /// When the token was made, and how long it lasts.
    limit: Option<(Instant, Duration)>,
    /// A token that cancels this one, too.
    parent: Option<Cancel>,
}

impl Source {
    fn is_cancelled(&self) -> bool {
        // Acquire: whoever sees it sees what was done before.
        self.is_cancelled.load(Ordering::Acquire) || self.becomes_cancelled()
    }

    #[inline(never)]
    fn becomes_cancelled(&self) -> bool {
        let is_over = |&(start, limit): &(Instant, Duration)| start.elapsed() >= limit;
        // Not by recursion: there may be many generations.
        let mut source = Some(self);
        while let Some(ancestor) = source {
            if ancestor.is_cancelled.load(Ordering::Acquire)
                || ancestor.limit.as_ref().is_some_and(is_over)
            {
                self.is_cancelled.store(true, Ordering::Release);
                return true;
            }
            source = ancestor.parent.as_ref().map(|parent| &*parent.0);
        }
        false
    }
}

impl Drop for Source {
    /// Drops the ancestors that nobody else has, not by recursion.
    fn drop(&mut self) {
        let mut parent = self.parent.take();
        while let Some(Cancel(source)) = parent {
            parent = Arc::into_inner(source).and_then(|mut source| source.parent.take());
        }
    }
}

impl Default for Cancel {
    fn default() -> Self {
        Cancel::new()
    }
}

impl Cancel {
    fn of(limit: Option<Duration>, parent: Option<&Cancel>) -> Self {
        Cancel(Arc::new(Source {
            is_cancelled: AtomicBool::new(false),
            limit: limit.map(|limit| (Instant::now(), limit)),
            parent: parent.cloned(),
        }))
    }

    /// Returns a token that is not cancelled.
    pub fn new() -> Self {
        Cancel::of(None, None)
    }

    /// Returns a token that is cancelled after this time. If the time is zero, the token is cancelled at once.
    pub fn after(limit: Duration) -> Self {
        Cancel::of(Some(limit), None)
    }

    /// Returns another token that is cancelled when this one is, and also by itself. With a `limit`, it is also
    /// cancelled after this time.
    ///
    /// ```
    /// use purloin::Cancel;
    ///
    /// let program = Cancel::new();
    /// let request = program.child(None);
    /// request.cancel();
    /// assert!(!program.is_cancelled() && !program.child(None).is_cancelled());
    /// ```
    pub fn child(&self, limit: Option<Duration>) -> Self {
        Cancel::of(limit, Some(self))
    }

    /// Cancels the token. A signal handler may call this: it is one store.
    pub fn cancel(&self) {
        // Release: whoever sees it sees what was done before.
        self.0.is_cancelled.store(true, Ordering::Release);
    }

    /// Returns whether the token is cancelled. This takes about a nanosecond, or some 30 with a time limit; as long again
    /// for each ancestor.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Returns an error if the token is cancelled: `cancel.check()?`.
    ///
    /// # Errors
    ///
    /// Returns [`Cancelled`] if the token is cancelled.
    #[inline]
    pub fn check(&self) -> Result<(), Cancelled> {
        match self.is_cancelled() {
            false => Ok(()),
            true => Err(Cancelled),
        }
    }

    /// Returns whether the token is known to be cancelled. This looks at no clock.
    #[inline]
    pub(crate) fn is_known(&self) -> bool {
        // Acquire: as above.
        self.0.is_cancelled.load(Ordering::Acquire)
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_cancelled = self.is_cancelled();
        f.debug_struct("Cancel")
            .field("is_cancelled", &is_cancelled)
            .finish_non_exhaustive()
    }
}

/// Whether a scope is cancelled, in the state of its finish; or whether a loop is, in the frame that runs it.
pub struct CancelState(
    /// The address of the source of a token, which this owns, or null; plus `CANCELLED` if the scope is cancelled.
    AtomicPtr<Source>,
);

/// The bit of a scope that is cancelled. Addresses of sources are even.
const CANCELLED: usize = 1;

impl Default for CancelState {
    fn default() -> Self {
        CancelState::new()
    }
}

impl CancelState {
    /// Returns the state of a scope that is not cancelled.
    pub const fn new() -> Self {
        CancelState(AtomicPtr::new(null_mut()))
    }

    /// Cancels the scope.
    pub fn set(&self) {
        let set = |word: *mut Source| Some(word.map_addr(|address| address | CANCELLED));
        // Release: a task that sees it sees what was done before.
        let _ = self
            .0
            .fetch_update(Ordering::Release, Ordering::Relaxed, set);
    }

    /// Returns whether the scope is cancelled.
    #[inline]
    pub fn is_set(&self) -> bool {
        // Acquire: whoever sees it sees what was done before. On the processors that matter it costs nothing.
        let word = self.0.load(Ordering::Acquire);
        !word.is_null() && self.ask(word)
    }

    #[cold]
    fn ask(&self, word: *mut Source) -> bool {
        // SAFETY: a word without the bit is the address of a source that this state owns.
        word.addr() & CANCELLED != 0 || unsafe { &*word }.is_cancelled()
    }

    /// Lets the token cancel the scope, too. Returns false if the scope has another token already.
    pub(crate) fn link(&self, cancel: &Cancel) -> bool {
        let source = Arc::into_raw(Arc::clone(&cancel.0)).cast_mut();
        let link = |word: *mut Source| {
            let is_free = word.addr() & !CANCELLED == 0;
            is_free.then(|| source.map_addr(|address| address | word.addr()))
        };
        // Release: whoever follows the pointer sees the token. Acquire is not needed: a failure follows no pointer.
        let (order, failure) = (Ordering::Release, Ordering::Relaxed);
        match self.0.fetch_update(order, failure, link) {
            Ok(_) => true,
            Err(word) => {
                // SAFETY: the address is from `into_raw`, and the state has not taken it.
                drop(unsafe { Arc::from_raw(source) });
                word.addr() & !CANCELLED == source.addr()
            }
        }
    }
}

impl Drop for CancelState {
    #[inline]
    fn drop(&mut self) {
        #[cold]
        #[inline(never)]
        fn drop_token(word: *mut Source) {
            let source = word.map_addr(|address| address & !CANCELLED);
            if !source.is_null() {
                // SAFETY: the state owns this token, see `link`.
                drop(unsafe { Arc::from_raw(source) });
            }
        }

        let word = *self.0.get_mut();
        if !word.is_null() {
            drop_token(word);
        }
    }
}

impl fmt::Debug for CancelState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CancelState").field(&self.is_set()).finish()
    }
}

/// The state of the scope around a loop, or none. A worker knows it for the code that it runs, see
/// `runtime/frame.rs`; so does any other thread that runs the body of a finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CancelFlag(*const CancelState);

// SAFETY: the pointer gives access to a state only, which is `Sync`.
unsafe impl Send for CancelFlag {}
// SAFETY: as above.
unsafe impl Sync for CancelFlag {}

impl CancelFlag {
    pub(crate) const NONE: CancelFlag = CancelFlag(null());

    pub(crate) fn of(state: &CancelState) -> Self {
        CancelFlag(state)
    }

    /// Returns the address of the state, or null.
    pub(crate) fn address(self) -> *const () {
        self.0.cast()
    }

    /// Returns the flag with this [`address`](Self::address).
    ///
    /// # Safety
    ///
    /// The address is that of a state that is still valid while a loop uses it, or null.
    pub(crate) unsafe fn at(address: *const ()) -> Self {
        CancelFlag(address.cast())
    }

    /// # Safety
    ///
    /// The state is still valid.
    pub(crate) unsafe fn is_set(self) -> bool {
        // SAFETY: the pointer is null, or the caller says that the state is valid.
        let state = unsafe { self.0.as_ref() };
        state.is_some_and(CancelState::is_set)
    }
}
