//! The warning of a measurement that has seen no task.

/// Returns a warning if a measurement has seen neither a task nor a division of a loop or sort.
pub(crate) fn warning(tasks: u64, splits: u64) -> Option<&'static str> {
    (tasks == 0 && splits == 0).then_some(
        "no task was counted, so the program seems to be serial; only tasks that it makes through its token count \
         (w.join, w.finish, w.par), on the thread that got the token",
    )
}
