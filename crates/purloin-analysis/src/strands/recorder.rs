//! A worker that runs the serial elision of a program and reads the clock at each mark.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::{self, ThreadId};

use super::mark::Mark;
use super::places::{Place, Places};
use super::splits::{PIECES, Splits};
use super::times::{Sink, StrandTimes};
use crate::finish::{Wrapped, finish};
use crate::sorts::sorts_of;
use purloin::implement::clock::ordered_ticks;
use purloin::implement::{self, CancelState, in_pieces};
use purloin::{Handle, IntoIterations, Scope, Serial, Spawner, Worker};

/// Passes a program's strands to a sink, in the order of its serial elision.
pub(super) struct Recorder {
    /// The time when the current strand began.
    began: Cell<u64>,
    sink: RefCell<Sink>,
    /// Number of futures made so far.
    futures: Cell<u32>,
    /// Number of finishes begun so far. Finishes are numbered from 1.
    finishes: Cell<u32>,
    /// The open frames, outermost first: for a finish and for a task spawned in it, the number of the finish, and 0 for
    /// the closure of a join and for the task of a future. Each with the place of the code around it.
    frames: RefCell<Vec<(u32, Place)>>,
    places: RefCell<Places>,
    /// For each open span of the program, the place of the code around it.
    spans: RefCell<Vec<Place>>,
    /// A number that no other recorder has.
    run: u64,
}

thread_local! {
    /// The recorder of this thread, while it records. A handle looks it up here, because the handle
    /// may outlive the recorder.
    static CURRENT: Cell<*const Recorder> = const { Cell::new(std::ptr::null()) };
}

impl Recorder {
    pub(super) fn new(sink: Sink) -> Recorder {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        Recorder {
            began: Cell::new(ordered_ticks()),
            sink: RefCell::new(sink),
            futures: Cell::new(0),
            finishes: Cell::new(0),
            frames: RefCell::new(Vec::new()),
            places: RefCell::default(),
            spans: RefCell::default(),
            run: RUNS.fetch_add(1, Relaxed),
        }
    }

    /// Runs a program from its first strand to its last. Returns the strands, and their places.
    pub(super) fn record(self, program: impl FnOnce(Recorded)) -> (Sink, Places) {
        /// Ends the recording, even if the program panics.
        struct Reset;
        impl Drop for Reset {
            fn drop(&mut self) {
                CURRENT.set(std::ptr::null());
            }
        }
        let reset = Reset;
        CURRENT.set(&self);
        let watch = implement::watch_spans(Recorder::mark_span);
        self.began.set(ordered_ticks());
        program(Recorded::new(Some(&self)));
        self.mark(Mark::End);
        drop((watch, reset));
        (self.sink.into_inner(), self.places.into_inner())
    }

    /// Calls `f` with the recorder of this thread, while it records.
    fn with_current(f: impl FnOnce(&Recorder)) {
        // SAFETY: `record` resets the pointer before the recorder is dropped, and only this thread uses it.
        if let Some(recorder) = unsafe { CURRENT.get().as_ref() } {
            f(recorder);
        }
    }

    /// Records that the program enters a span with this name, or leaves one.
    fn mark_span(name: Option<&'static str>) {
        Recorder::with_current(|recorder| {
            let strand = recorder.strand();
            let mut places = recorder.places.borrow_mut();
            let place = places.now();
            let mut spans = recorder.spans.borrow_mut();
            match name {
                Some(name) => {
                    spans.push(place);
                    places.enter_span(name);
                }
                None => places.set(spans.pop().unwrap_or(Place::ROOT)),
            }
            drop((places, spans));
            recorder.add(strand, None, place);
        });
    }

    /// Records that a task has fetched the result of a future of this run.
    fn mark_got(run: u64, number: u32) {
        Recorder::with_current(|recorder| {
            if recorder.run == run {
                recorder.mark(Mark::Got(number));
            }
        });
    }

    /// Ends a strand, and begins the next one.
    fn mark(&self, mark: Mark) {
        self.mark_in(mark, 0, None);
    }

    /// Ends a strand, and begins the next one. If the mark begins a finish, or a task of a finish, `finish` is the
    /// number of that finish. If the mark begins a task, `line` is the line that forks it.
    fn mark_in(&self, mark: Mark, finish: u32, line: Option<&'static Location<'static>>) {
        let strand = self.strand();
        let mut frames = self.frames.borrow_mut();
        // The task belongs to the finish, or to a task spawned in it: the finish waits for both, so the difference
        // does not show. The frames between do not wait for it.
        let skipped = || frames.iter().rev().position(|frame| frame.0 == finish);
        let mark = match mark {
            Mark::Spawn | Mark::Future if finish > 0 => match (skipped(), mark) {
                (Some(skipped @ 1..), Mark::Spawn) => Mark::OuterSpawn(skipped as u32),
                (Some(skipped @ 1..), _) => Mark::OuterFuture(skipped as u32),
                _ => mark,
            },
            _ => mark,
        };
        let mut places = self.places.borrow_mut();
        let place = places.now();
        match mark {
            Mark::Join | Mark::Split | Mark::Future | Mark::OuterFuture(_) => {
                frames.push((0, place));
            }
            Mark::Finish | Mark::Spawn | Mark::OuterSpawn(_) => frames.push((finish, place)),
            Mark::Joined | Mark::Finished | Mark::Spawned | Mark::FutureDone => {
                let frame = frames.pop();
                places.set(frame.map_or(Place::ROOT, |frame| frame.1));
            }
            Mark::Second | Mark::Got(_) | Mark::End => {}
        }
        match line {
            Some(line) => places.enter_task(line),
            None if mark == Mark::Split => places.enter_loop(),
            None => {}
        }
        drop((frames, places));
        self.add(strand, Some(mark), place);
    }

    /// Returns the ticks of the current strand so far.
    fn strand(&self) -> f64 {
        ordered_ticks().saturating_sub(self.began.get()) as f64
    }

    /// Ends a strand, or a part of one that has no mark, and begins the next one.
    fn add(&self, strand: f64, mark: Option<Mark>, place: Place) {
        self.sink.borrow_mut().add(strand, mark, place);
        // Reads the clock again, so that the work of the sink belongs to no strand.
        self.began.set(ordered_ticks());
    }
}

/// Measures how many ticks lie between two marks with nothing between them.
pub(super) fn ticks_per_reading() -> f64 {
    // Takes the least of several measurements, because other processes may disturb some of them.
    let measured = (0..5).map(|_| measure_reading());
    measured.fold(f64::INFINITY, f64::min)
}

fn measure_reading() -> f64 {
    let mut strands = StrandTimes::default();
    for _ in 0..10 {
        strands.begin_run();
        let (sink, _) = Recorder::new(Sink::Keep(strands)).record(|mut w| {
            for _ in 0..1000 {
                w.join(|_| (), |_| ());
            }
        });
        strands = sink.into_kept();
        strands.end_run();
    }
    strands.mean()
}

/// The worker of a recorded run.
pub(super) struct Recorded<'r> {
    /// `None` on threads that the program has made itself.
    recorder: Option<&'r Recorder>,
    /// A token stays on its thread.
    not_send: PhantomData<*const ()>,
}

impl<'r> Recorded<'r> {
    fn new(recorder: Option<&'r Recorder>) -> Self {
        Recorded {
            recorder,
            not_send: PhantomData,
        }
    }

    /// Returns another token of this worker.
    pub(super) fn token(&self) -> Self {
        Recorded::new(self.recorder)
    }

    fn mark(&self, mark: Mark) {
        if let Some(recorder) = self.recorder {
            recorder.mark(mark);
        }
    }

    /// Makes the mark of a beginning, and returns the later marks that belong to it. If the mark begins a finish or a
    /// task of a finish, `finish` is the number of that finish, and otherwise 0. If it begins a task, `line` is the
    /// line that forks it.
    fn begin(
        &self,
        finish: u32,
        beginning: Mark,
        line: Option<&'static Location<'static>>,
        rest: &'static [Mark],
    ) -> PendingMarks<'r> {
        if let Some(recorder) = self.recorder {
            recorder.mark_in(beginning, finish, line);
        }
        PendingMarks {
            worker: self.token(),
            marks: rest,
        }
    }

    /// Runs two closures, one after the other, as a join in this line, or as a division of a loop.
    pub(super) fn record_join<RA, RB>(
        &self,
        line: Option<&'static Location<'static>>,
        a: impl FnOnce(Recorded<'r>) -> RA,
        b: impl FnOnce(Recorded<'r>) -> RB,
    ) -> (RA, RB) {
        let beginning = line.map_or(Mark::Split, |_| Mark::Join);
        let mut pending = self.begin(0, beginning, line, &[Mark::Second, Mark::Joined]);
        let ra = a(self.token());
        pending.next();
        let rb = b(self.token());
        pending.next();
        (ra, rb)
    }

    /// Runs a future at once, and marks when its result is fetched. `finish` is the number of the finish that the
    /// future belongs to, or 0.
    #[track_caller]
    fn record_future<T>(&self, finish: u32, f: impl FnOnce(Recorded<'r>) -> T) -> Handle<T> {
        let Some(recorder) = self.recorder else {
            return implement::ready(|| f(self.token()));
        };
        let line = Some(Location::caller());
        let pending = self.begin(finish, Mark::Future, line, &[Mark::FutureDone]);
        let number = recorder.futures.get();
        recorder.futures.set(number + 1);
        let run = recorder.run;
        implement::watched(
            || {
                let _pending = pending;
                f(self.token())
            },
            move || Recorder::mark_got(run, number),
        )
    }
}

/// The marks that are still to come. Dropping this makes them, so that a recording is complete even
/// if the program panics in between and catches the panic.
struct PendingMarks<'r> {
    worker: Recorded<'r>,
    marks: &'static [Mark],
}

impl PendingMarks<'_> {
    /// Makes the next mark.
    fn next(&mut self) {
        if let Some((&mark, rest)) = self.marks.split_first() {
            self.marks = rest;
            self.worker.mark(mark);
        }
    }
}

impl Drop for PendingMarks<'_> {
    fn drop(&mut self) {
        while !self.marks.is_empty() {
            self.next();
        }
    }
}

impl<'r> Worker for Recorded<'r> {
    type Token<'t> = Recorded<'r>;
    type Spawner = RecordedSpawner;

    #[track_caller]
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Recorded<'r>) -> RA + Send,
        B: for<'t> FnOnce(Recorded<'r>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.record_join(Some(Location::caller()), a, b)
    }

    fn finish<'env, F, R>(&mut self, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, RecordedSpawner>) -> R,
    {
        let number = self.recorder.map_or(0, |recorder| {
            recorder.finishes.set(recorder.finishes.get() + 1);
            recorder.finishes.get()
        });
        let _pending = self.begin(number, Mark::Finish, None, &[Mark::Finished]);
        let context = OfThread {
            finish: number,
            recorder: self.recorder.map_or(std::ptr::null(), std::ptr::from_ref),
            thread: thread::current().id(),
        };
        finish(&mut Serial, &context, body)
    }

    fn lend<R>(&mut self, f: impl for<'t> FnOnce(Recorded<'r>) -> R) -> R {
        f(self.token())
    }

    /// Divides a loop into halves again and again, down to about a thousandth. So the loop has work
    /// for up to about a thousand workers.
    fn run_loop<I, A, N, F, C>(&mut self, iterations: I, init: N, step: F, combine: C) -> A
    where
        I: IntoIterations,
        N: Fn() -> A + Sync,
        F: for<'t> Fn(Recorded<'r>, A, I::Item) -> ControlFlow<A, A> + Sync,
        C: Fn(A, A) -> A + Sync,
        A: Send,
    {
        let step = |w: Splits<'r>, sum, item| step(w.0, sum, item);
        in_pieces(
            &mut Splits(self.token()),
            iterations,
            PIECES,
            init,
            step,
            combine,
        )
    }

    #[track_caller]
    fn future<F, T>(&mut self, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Recorded<'r>) -> T + Send + 'static,
        T: Send + 'static,
    {
        self.record_future(0, f)
    }

    fn split_hint(&mut self, _: usize) -> usize {
        0
    }

    sorts_of!(self, Splits(self.token()));
}

/// A recorder that only its own thread may use, and a finish.
pub(super) struct OfThread {
    /// The number of the finish.
    finish: u32,
    recorder: *const Recorder,
    thread: ThreadId,
}

// SAFETY: only the recorder's own thread follows the pointer, see `OfThread::worker`.
unsafe impl Sync for OfThread {}

impl OfThread {
    /// Returns a token for the calling thread.
    fn worker(&self) -> Recorded<'_> {
        match thread::current().id() == self.thread {
            // SAFETY: this is the recorder's thread. `Recorded::finish` made this value from a
            // reference that outlives it.
            true => Recorded::new(unsafe { self.recorder.as_ref() }),
            false => Recorded::new(None),
        }
    }
}

/// The [`Spawner`] of [`Recorded`].
pub(super) struct RecordedSpawner;

type Finish = Wrapped<<Serial as Spawner>::Finish, OfThread>;

impl Spawner for RecordedSpawner {
    type Token<'t> = Recorded<'t>;
    type Finish = Finish;

    fn cancelled(finish: &Finish) -> &CancelState {
        Serial::cancelled(finish.inner())
    }

    #[track_caller]
    unsafe fn spawn<'scope, F>(finish: &'scope Finish, task: F)
    where
        F: for<'t> FnOnce(Recorded<'t>) + Send + 'scope,
    {
        let context = finish.context();
        let worker = context.worker();
        let line = Some(Location::caller());
        let _pending = worker.begin(context.finish, Mark::Spawn, line, &[Mark::Spawned]);
        // SAFETY: the caller promises that `'scope` is the scope's own lifetime. The scope lies
        // outside the inner finish, and that waits for the task.
        unsafe { Serial::spawn(finish.inner(), move |_| task(finish.context().worker())) };
    }

    #[track_caller]
    unsafe fn future<'scope, F, T>(finish: &'scope Finish, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Recorded<'t>) -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let context = finish.context();
        context.worker().record_future(context.finish, f)
    }

    #[track_caller]
    fn join<A, B, RA, RB>(finish: &Finish, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Recorded<'t>) -> RA + Send,
        B: for<'t> FnOnce(Recorded<'t>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        Worker::join(&mut finish.context().worker(), a, b)
    }
}
