//! Running a program on a thread with a large stack: [`launch`].

use std::cell::Cell;
use std::io;

/// The stack size of the launched thread, in bytes. The system commits only the pages that
/// are used.
const STACK: usize = 4 << 30;

/// The assumed stack size of any other thread, in bytes. It is Rust's default.
const DEFAULT_STACK: usize = 2 << 20;

thread_local! {
    /// The address below which this thread has too little stack left to steal. Zero before it
    /// is set.
    static LIMIT: Cell<usize> = const { Cell::new(0) };
}

/// Returns an address on the current stack frame.
fn stack_address() -> usize {
    let local = 0_u8;
    (&raw const local).addr()
}

/// Lets this thread use `bytes` of stack from here on before it stops stealing.
fn set_limit(bytes: usize) {
    LIMIT.set(stack_address().saturating_sub(bytes));
}

/// Returns whether enough stack is left to run stolen tasks on top of the current frame.
pub(crate) fn has_stack() -> bool {
    if LIMIT.get() == 0 {
        set_limit(DEFAULT_STACK / 2);
    }
    stack_address() > LIMIT.get()
}

/// Calls `main` on a thread with a stack of 4 GiB. Only used pages of the stack take memory.
///
/// Tasks may nest deeply, and a blocked rank runs stolen tasks on top of the blocked task.
///
/// Initialize the [`Cluster`](crate::Cluster) inside `main`, because MPI must be called by the
/// thread that initialized it. A program may also run tasks on another thread. There, a blocked
/// rank stops stealing when it has used 1 MiB of stack, half of Rust's default.
///
/// ```no_run
/// use purloin_cluster::{Cluster, launch};
///
/// launch(|| {
///     let cluster = Cluster::initialize().expect("MPI starts");
///     println!("rank {} of {}", cluster.rank(), cluster.ranks());
/// })
/// .expect("the thread starts");
/// ```
///
/// # Errors
///
/// Returns an error if the thread cannot be started.
///
/// # Panics
///
/// Panics with the payload of `main` if `main` panics.
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
