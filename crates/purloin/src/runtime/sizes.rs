//! Sizes of slots and task stacks, and the limit of suspended tasks.

/// The size of a slot.
pub(super) const SLOT: usize = 64;

/// Bytes of thread stack for each slot of the task stack. A join that waits for its first closure keeps
/// at least a return address, its worker and its slot in its frame, which takes 32 bytes. Spawns and
/// futures fill at most half of the slots. So nested joins fill the thread's stack first, unless many
/// of them are inlined into one function and share a frame.
const STACK_BYTES_PER_SLOT: usize = 16;

/// Returns the size of the task stack of a worker whose thread has a stack of `stack_size` bytes, so
/// that nested joins fill the thread's stack first.
pub(crate) const fn task_bytes(stack_size: usize) -> usize {
    match cfg!(loom) {
        false => stack_size / STACK_BYTES_PER_SLOT * SLOT,
        // A model has few tasks, and loom makes each slot anew for each interleaving.
        true => 32 * SLOT,
    }
}

/// Bytes of thread stack for each suspended task, see
/// [`Core::suspended`](crate::pool::worker::Core::suspended). A wait takes two hundred bytes, and
/// several thousand without optimisation; the rest is for the program.
const STACK_BYTES_PER_SUSPENDED: usize = 32 << 10;

/// Returns how many suspended tasks one finish may cause, on a worker whose thread has a stack of this many
/// bytes, before its spawns go to its queue.
pub(crate) fn max_suspended(stack_size: usize) -> usize {
    (stack_size / STACK_BYTES_PER_SUSPENDED).max(1)
}
