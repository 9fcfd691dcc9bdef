//! A steal request: a message that lies in its thief's memory, and goes around.

use super::ChannelSlot;
use super::strategy::Portion;
use purloin::scheduler::sync::{AtomicU32, AtomicUsize, Ordering, UnsafeCell};
use purloin::scheduler::{ShortSpin, StateWord};

/// The most tasks that one message brings.
pub(super) const MAX_TASKS: usize = if cfg!(loom) { 2 } else { 256 };

/// What has become of a request, and what its thief does meanwhile. The page
/// above tells who may change it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(super) enum Colour {
    /// Not under way.
    Home,
    /// Under way, though its thief still has something to run.
    Working,
    /// Under way, and its thief has nothing.
    Idle,
    /// The same, and the manager has counted it.
    RegisteredIdle,
    /// Under way for nothing: its thief has found something to run elsewhere, and
    /// could not take it back.
    Update,
    /// Somebody is about to answer.
    Held,
    /// Its thief may take what it brings.
    Answered,
}

use Colour::*;

impl Colour {
    fn of(word: u32) -> Colour {
        const ALL: [Colour; 7] = [Home, Working, Idle, RegisteredIdle, Update, Held, Answered];
        ALL[word as usize]
    }

    /// Whether somebody may answer.
    fn is_wanted(self) -> bool {
        matches!(self, Working | Idle | RegisteredIdle)
    }
}

/// A task on its way: `&T`, and whose it is.
#[derive(Clone, Copy)]
pub(super) struct Sent {
    pub(super) slot: *mut ChannelSlot,
    pub(super) owner: usize,
}

/// What a blocked thief waits for.
#[derive(Clone, Copy)]
pub(super) struct Awaited(*const StateWord);

impl Awaited {
    pub(super) fn new(outcome: &StateWord) -> Self {
        Awaited(outcome)
    }

    /// Whether it is this.
    pub(super) fn is(self, outcome: &StateWord) -> bool {
        std::ptr::eq(self.0, outcome)
    }

    /// # Safety
    ///
    /// The caller holds the request.
    pub(super) unsafe fn is_done(self) -> bool {
        // SAFETY: its thief does not go on while somebody holds the request.
        unsafe { &*self.0 }.is_done()
    }
}

/// What it says, and what it brings back.
pub(super) struct Contents {
    /// Who has been asked since it was sent, a bit for each worker.
    asked: Box<[u64]>,
    /// Whether it has gone to rest already.
    pub(super) is_resting: bool,
    /// How much of what a victim has its thief would like.
    pub(super) portion: Portion,
    /// The task that its thief is blocked on, and of which it wants descendants.
    pub(super) awaited: Option<Awaited>,
    pub(super) tasks: Vec<Sent>,
}

impl Contents {
    pub(super) fn has_asked(&self, worker: usize) -> bool {
        self.asked[worker / 64] & 1 << (worker % 64) != 0
    }

    pub(super) fn note_asked(&mut self, worker: usize) {
        self.asked[worker / 64] |= 1 << (worker % 64);
    }

    /// As if nobody had been asked.
    pub(super) fn begin_anew(&mut self) {
        self.asked.fill(0);
        self.is_resting = false;
    }
}

/// A steal request.
pub(super) struct Request {
    colour: AtomicU32,
    /// In whose mailbox it is, or was, or will be.
    at: AtomicUsize,
    contents: UnsafeCell<Contents>,
}

// SAFETY: the contents are for the thief while the request is home or answered,
// and else for who has it in his hands.
unsafe impl Sync for Request {}
// SAFETY: nothing in it is tied to a thread.
unsafe impl Send for Request {}

impl Request {
    /// One for so many workers to ask, that brings so many tasks at most.
    pub(super) fn new(workers: usize, most: usize) -> Request {
        Request {
            colour: AtomicU32::new(Home as u32),
            at: AtomicUsize::new(0),
            contents: UnsafeCell::new(Contents {
                asked: vec![0; workers.div_ceil(64)].into(),
                is_resting: false,
                portion: Portion::One,
                awaited: None,
                tasks: Vec::with_capacity(most),
            }),
        }
    }

    /// Reads or writes the contents.
    ///
    /// # Safety
    ///
    /// They are the caller's: it is the thief, and the request is home or
    /// answered; or it has taken the request out of a mailbox, and not put it into
    /// another nor answered it. And `f` does not come back here.
    pub(super) unsafe fn with<R>(&self, f: impl FnOnce(&mut Contents) -> R) -> R {
        // SAFETY: the caller's promise.
        self.contents
            .with_mut(|contents| f(unsafe { &mut *contents }))
    }

    /// In whose mailbox it is, unless it is on its way.
    pub(super) fn at(&self) -> usize {
        // Relaxed: whoever looks there does not rely on it.
        self.at.load(Ordering::Relaxed)
    }

    /// Notes in whose mailbox it is about to be.
    pub(super) fn set_at(&self, worker: usize) {
        self.at.store(worker, Ordering::Relaxed);
    }

    /// The colour, and what was done before it was given.
    pub(super) fn colour(&self) -> Colour {
        Colour::of(self.colour.load(Ordering::Acquire))
    }

    /// Gives it a colour without looking; only for who has it to himself. The
    /// manager may recolour it at the same time: see
    /// [`StateWord::set_among_swaps`].
    fn set(&self, colour: Colour, order: Ordering) {
        #[cfg(not(loom))]
        self.colour.store(colour as u32, order);
        #[cfg(loom)]
        self.colour.swap(colour as u32, order);
    }

    fn recolour(&self, from: Colour, to: Colour) -> bool {
        // Acquire: what a holder has done before he let go. Release: as much as
        // what a thief has done before.
        let order = Ordering::AcqRel;
        self.colour
            .compare_exchange(from as u32, to as u32, order, Ordering::Acquire)
            .is_ok()
    }
}

/// What its thief does.
impl Request {
    /// Makes it one under way; next it is put into a mailbox.
    pub(super) fn depart(&self, colour: Colour) {
        debug_assert_eq!(self.colour(), Home);
        // Release: the manager concludes from the colour alone that what the thief
        // has run is done.
        self.set(colour, Ordering::Release);
    }

    /// It is home again: what it brought has been read.
    pub(super) fn arrive(&self) {
        debug_assert_eq!(self.colour(), Answered);
        // Relaxed: nobody else looks before it departs again.
        self.set(Home, Ordering::Relaxed);
    }

    /// It is home again: the thief has taken it out of a mailbox.
    pub(super) fn taken_back(&self) {
        // Relaxed: as above.
        self.set(Home, Ordering::Relaxed);
    }

    /// Says that the thief has nothing to run any more, if it is under way.
    pub(super) fn want(&self) -> bool {
        self.recolour(Update, Idle) || self.recolour(Working, Idle)
    }

    /// Says that the thief has something to run, unless it is this that brings it.
    pub(super) fn unwant(&self) -> Colour {
        let mut undecided = ShortSpin::default();
        loop {
            match self.colour() {
                Held => undecided.pause(),
                colour if colour.is_wanted() => {
                    if self.recolour(colour, Update) {
                        return Update;
                    }
                }
                colour => return colour,
            }
        }
    }
}

/// What is done by who has it in his hands.
impl Request {
    /// Begins an answer. None if it is not wanted; then it is home.
    pub(super) fn hold(&self) -> Option<Colour> {
        loop {
            let colour = self.colour();
            debug_assert!(colour.is_wanted() || colour == Update);
            if colour == Update {
                if self.recolour(Update, Home) {
                    return None;
                }
            } else if self.recolour(colour, Held) {
                return Some(colour);
            }
        }
    }

    /// Ends an answer, with tasks in the contents.
    pub(super) fn answer(&self) {
        // Release: the tasks.
        self.set(Answered, Ordering::Release);
    }

    /// Does not answer after all: it has this colour again, or is home.
    pub(super) fn let_go(&self, colour: Colour) {
        self.set(colour, Ordering::Release);
    }

    /// There is nobody to send it to.
    pub(super) fn send_home(&self) {
        // Release: what was written in it on its way.
        self.set(Home, Ordering::Release);
    }

    /// The manager counts it. False if its thief has something to run.
    pub(super) fn register(&self) -> bool {
        self.recolour(Idle, RegisteredIdle) || self.colour() == RegisteredIdle
    }

    /// The manager counts it no more, as it is to go around again.
    pub(super) fn unregister(&self) {
        self.recolour(RegisteredIdle, Idle);
    }
}
