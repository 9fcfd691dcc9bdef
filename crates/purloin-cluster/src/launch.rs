//! A thread with stack enough: [`launch`].

use std::cell::Cell;
use std::io;

/// The stack of the thread that runs tasks, in bytes. Only what is used is memory.
const STACK: usize = 4 << 30;

/// What is taken for granted on any other thread.
const USUAL: usize = 2 << 20;

thread_local! {
    /// The address below which this thread's stack is too full to steal.
    static LIMIT: Cell<usize> = const { Cell::new(0) };
}

/// The address of something on the stack.
fn here() -> usize {
    let something = 0_u8;
    (&raw const something).addr()
}

/// Notes that so much of the stack may be used from here on.
fn set_limit(bytes: usize) {
    LIMIT.set(here().saturating_sub(bytes));
}

/// Whether tasks may be run on top of what is on the stack.
pub(crate) fn has_stack() -> bool {
    if LIMIT.get() == 0 {
        set_limit(USUAL / 2);
    }
    here() > LIMIT.get()
}

/// Calls `main` on a thread whose stack is large enough for tasks that nest deeply, and
/// for what a blocked rank runs on top of them.
///
/// Initialize MPI there: this is the thread that calls it then. Tasks may be run on other
/// threads, too, but a rank that is blocked stops stealing when it has used 1 MiB of its
/// stack: Rust gives 2 MiB to a thread that does not ask for more.
///
/// ```no_run
/// use purloin_cluster::{Cluster, launch};
///
/// launch(|| {
///     let cluster = Cluster::initialize().expect("MPI starts");
///     println!("rank {} of {}", cluster.rank(), cluster.ranks());
/// })
/// .expect("a thread starts");
/// ```
///
/// # Errors
///
/// If the thread cannot be started.
///
/// # Panics
///
/// If `main` does, with what it says.
pub fn launch<R: Send>(main: impl FnOnce() -> R + Send) -> io::Result<R> {
    std::thread::scope(|scope| {
        let run = || {
            set_limit(STACK / 2);
            main()
        };
        let thread = std::thread::Builder::new()
            .name("purloin-cluster".to_owned())
            .stack_size(STACK)
            .spawn_scoped(scope, run)?;
        match thread.join() {
            Ok(result) => Ok(result),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
