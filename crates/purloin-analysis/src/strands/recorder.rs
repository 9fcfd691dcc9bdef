//! A worker that runs the serial elision and records its strands.

use std::cell::{Cell, OnceCell, RefCell};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::{self, ThreadId};

use super::mark::Mark;
use super::times::{Sink, Strands};
use purloin::Handle;
use purloin::IntoIterations;
use purloin::Serial;
use purloin::implement::clock::ordered_ticks;
use purloin::implement::{self, in_pieces};
use purloin::{Scope, Spawner, Worker};

/// Takes note of a program's strands, in the order of its serial elision.
pub(super) struct Recorder {
    last: Cell<u64>,
    sink: RefCell<Sink>,
    /// Futures so far.
    futures: Cell<u32>,
    /// No other recorder has this number.
    run: u64,
}

thread_local! {
    /// The recorder of this thread, while it records. Futures ask here, as they
    /// may live longer.
    static CURRENT: Cell<*const Recorder> = const { Cell::new(std::ptr::null()) };
}

impl Recorder {
    pub(super) fn new(sink: Sink) -> Recorder {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        Recorder {
            last: Cell::new(ordered_ticks()),
            sink: RefCell::new(sink),
            futures: Cell::new(0),
            run: RUNS.fetch_add(1, Relaxed),
        }
    }

    /// Runs a program, from its first strand to its last.
    pub(super) fn record(self, program: impl FnOnce(Recorded)) -> Sink {
        /// Also if the program panics.
        struct Ended;
        impl Drop for Ended {
            fn drop(&mut self) {
                CURRENT.set(std::ptr::null());
            }
        }
        let ended = Ended;
        CURRENT.set(&self);
        self.last.set(ordered_ticks());
        program(Recorded::on(Some(&self)));
        self.mark(Mark::End);
        drop(ended);
        self.sink.into_inner()
    }

    /// A future of this run has been got.
    fn got(run: u64, number: u32) {
        // SAFETY: set while the recorder lives, on this thread.
        if let Some(recorder) = unsafe { CURRENT.get().as_ref() }
            && recorder.run == run
        {
            recorder.mark(Mark::Got(number));
        }
    }

    fn mark(&self, mark: Mark) {
        let strand = ordered_ticks().saturating_sub(self.last.get());
        self.sink.borrow_mut().take(strand as f64, mark);
        // What that has cost is nobody's.
        self.last.set(ordered_ticks());
    }
}

/// How many ticks there are between two events with nothing between them.
pub(super) fn reading() -> f64 {
    // Of several, as other processes may disturb some.
    let tries = (0..5).map(|_| try_reading());
    tries.fold(f64::INFINITY, f64::min)
}

fn try_reading() -> f64 {
    let mut strands = Strands::default();
    for _ in 0..10 {
        strands.begin_run();
        let sink = Recorder::new(Sink::Keep(strands)).record(|mut w| {
            for _ in 0..1000 {
                w.join(|_| (), |_| ());
            }
        });
        let Sink::Keep(kept) = sink else {
            unreachable!("a sink stays what it is");
        };
        strands = kept;
        strands.end_run();
    }
    strands.mean()
}

/// The worker of a recorded run.
pub(super) struct Recorded<'r> {
    recorder: Option<&'r Recorder>,
    /// A token stays on its thread.
    not_send: PhantomData<*const ()>,
}

impl<'r> Recorded<'r> {
    fn on(recorder: Option<&'r Recorder>) -> Self {
        Recorded {
            recorder,
            not_send: PhantomData,
        }
    }

    fn mark(&self, mark: Mark) {
        if let Some(recorder) = self.recorder {
            recorder.mark(mark);
        }
    }

    /// Marks the beginning of something, and then what is due after that.
    fn begin(&self, beginning: Mark, marks: &'static [Mark]) -> Due<'r> {
        self.mark(beginning);
        Due {
            worker: self.again(),
            marks,
        }
    }

    fn again(&self) -> Self {
        Recorded::on(self.recorder)
    }
}

/// Marks that are to come, also if what is between them panics: whoever catches that goes on
/// with a recording that is whole.
struct Due<'r> {
    worker: Recorded<'r>,
    marks: &'static [Mark],
}

impl Due<'_> {
    /// Sets the next of them.
    fn mark(&mut self) {
        if let Some((&mark, rest)) = self.marks.split_first() {
            self.marks = rest;
            self.worker.mark(mark);
        }
    }
}

impl Drop for Due<'_> {
    fn drop(&mut self) {
        while !self.marks.is_empty() {
            self.mark();
        }
    }
}

impl<'r> Worker for Recorded<'r> {
    type Token<'t> = Recorded<'r>;
    type Spawner = RecordedSpawner;

    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Recorded<'r>) -> RA + Send,
        B: for<'t> FnOnce(Recorded<'r>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        let mut due = self.begin(Mark::Join, &[Mark::Second, Mark::Joined]);
        let ra = a(self.again());
        due.mark();
        let rb = b(self.again());
        due.mark();
        (ra, rb)
    }

    fn finish<'env, F, R>(&mut self, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, RecordedSpawner>) -> R,
    {
        let _due = self.begin(Mark::Finish, &[Mark::Finished]);
        // Outside the inner finish, as tasks use it until that ends.
        let recorded = OnceCell::new();
        Serial.finish(|scope| {
            let finish = Finish {
                inner: implement::finish_of(scope),
                recorder: self.recorder.map_or(std::ptr::null(), |recorder| recorder),
                thread: thread::current().id(),
            };
            body(recorded.get_or_init(|| implement::scope(finish)))
        })
    }

    fn lend<R>(&mut self, f: impl for<'t> FnOnce(Recorded<'r>) -> R) -> R {
        f(self.again())
    }

    /// In halves, down to a thousandth: to a loop, any number of workers up to
    /// that is welcome.
    fn map_reduce_with<I, M, C, T>(&mut self, iterations: I, map: M, combine: C) -> Option<T>
    where
        I: IntoIterations,
        M: for<'t> Fn(Recorded<'r>, I::Item) -> T + Sync,
        C: Fn(T, T) -> T + Sync,
        T: Send,
    {
        in_pieces(self, iterations, LOOP_PIECES, map, combine)
    }

    fn future<F, T>(&mut self, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Recorded<'r>) -> T + Send + 'static,
        T: Send + 'static,
    {
        self.record_future(f)
    }

    fn split_hint(&mut self, _: usize) -> usize {
        0
    }
}

/// Into how many pieces a loop is divided, at most about.
const LOOP_PIECES: usize = 1024;

impl<'r> Recorded<'r> {
    /// Runs a future at once, and notes when it is got.
    fn record_future<T>(&self, f: impl FnOnce(Recorded<'r>) -> T) -> Handle<T> {
        let Some(recorder) = self.recorder else {
            return implement::ready(|| f(self.again()));
        };
        let due = self.begin(Mark::Future, &[Mark::FutureDone]);
        let number = recorder.futures.get();
        recorder.futures.set(number + 1);
        let run = recorder.run;
        implement::watched(
            || {
                let _due = due;
                f(self.again())
            },
            move || Recorder::got(run, number),
        )
    }
}

/// A finish of the serial elision, with the recorder.
pub(super) struct Finish {
    inner: *const <Serial as Spawner>::Finish,
    recorder: *const Recorder,
    /// On which alone the recorder may be used.
    thread: ThreadId,
}

// SAFETY: both pointers are to what outlives the finish. `inner` is to what is
// `Sync`; `recorder` is followed on the thread of the finish only.
unsafe impl Sync for Finish {}

impl Finish {
    fn worker(&self) -> Recorded<'_> {
        match thread::current().id() == self.thread {
            // SAFETY: see above.
            true => Recorded::on(unsafe { self.recorder.as_ref() }),
            // On threads that the program has made itself.
            false => Recorded::on(None),
        }
    }
}

/// The [`Spawner`] of [`Recorded`].
pub(super) struct RecordedSpawner;

impl Spawner for RecordedSpawner {
    type Token<'t> = Recorded<'t>;
    type Finish = Finish;

    unsafe fn future<'scope, F, T>(finish: &'scope Finish, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Recorded<'t>) -> T + Send + 'scope,
        T: Send + 'scope,
    {
        finish.worker().record_future(f)
    }

    unsafe fn spawn<'scope, F>(finish: &'scope Finish, task: F)
    where
        F: for<'t> FnOnce(Recorded<'t>) + Send + 'scope,
    {
        let worker = finish.worker();
        let _due = worker.begin(Mark::Spawn, &[Mark::Spawned]);
        // SAFETY: see `Finish`; and the inner scope lives longer than ours,
        // whose lifetime the caller vouches for.
        unsafe { Serial::spawn(&*finish.inner, move |_| task(finish.worker())) };
    }

    fn join<A, B, RA, RB>(finish: &Finish, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Recorded<'t>) -> RA + Send,
        B: for<'t> FnOnce(Recorded<'t>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        Worker::join(&mut finish.worker(), a, b)
    }
}
