//! Counted work: how much code runs between two events.
//!
//! A build with `-C passes=sancov-module -C llvm-args=-sanitizer-coverage-level=3
//! -C llvm-args=-sanitizer-coverage-trace-pc-guard -C llvm-args=-sanitizer-coverage-pc-table
//! -C llvm-args=-sanitizer-coverage-prune-blocks=0` calls a function at the
//! start of each basic block. The function here adds the size of the block, in bytes of machine code, to a counter of
//! the thread. The count is the same in each run, on each machine.
//!
//! Without these flags the counter stays at zero, and code between two events takes no time.

use std::sync::Once;
use std::sync::atomic::{AtomicPtr, Ordering};

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
std::arch::global_asm!(
    ".section .tbss.purloin_virtual_work,\"awT\",@nobits",
    ".p2align 3",
    ".type purloin_virtual_work,@object",
    ".size purloin_virtual_work,8",
    "purloin_virtual_work:",
    ".zero 8",
    ".section .text.__sanitizer_cov_trace_pc_guard,\"ax\",@progbits",
    ".globl __sanitizer_cov_trace_pc_guard",
    ".type __sanitizer_cov_trace_pc_guard,@function",
    "__sanitizer_cov_trace_pc_guard:",
    "mov ecx, dword ptr [rdi]",
    "mov rax, qword ptr [rip + purloin_virtual_work@GOTTPOFF]",
    "add qword ptr fs:[rax], rcx",
    "ret",
    ".globl purloin_virtual_counter",
    ".type purloin_virtual_counter,@function",
    "purloin_virtual_counter:",
    "mov rax, qword ptr fs:[0]",
    "add rax, qword ptr [rip + purloin_virtual_work@GOTTPOFF]",
    "ret",
    ".text",
);

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
unsafe extern "C" {
    /// Returns the address of this thread's counter.
    safe fn purloin_virtual_counter() -> *mut u64;
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn purloin_virtual_counter() -> *mut u64 {
    thread_local!(static COUNTER: std::cell::Cell<u64> = const { std::cell::Cell::new(0) });
    COUNTER.with(std::cell::Cell::as_ptr)
}

thread_local! {
    /// The value of the counter up to which work has been charged.
    static CHARGED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

#[inline]
fn count() -> u64 {
    // SAFETY: the counter belongs to this thread.
    unsafe { *purloin_virtual_counter() }
}

/// The first and the last of the blocks' weights.
static GUARDS: [AtomicPtr<u32>; 2] = [const { AtomicPtr::new(std::ptr::null_mut()) }; 2];
/// The first and the last of the blocks' addresses. Each has two words: the address, and flags.
static BLOCKS: [AtomicPtr<[usize; 2]>; 2] = [const { AtomicPtr::new(std::ptr::null_mut()) }; 2];

/// Called before `main`, by each compiled module, with the same section of the executable.
#[unsafe(no_mangle)]
extern "C" fn __sanitizer_cov_trace_pc_guard_init(start: *mut u32, end: *mut u32) {
    GUARDS[0].store(start, Ordering::Relaxed);
    GUARDS[1].store(end, Ordering::Relaxed);
}

/// Called as the function above.
#[unsafe(no_mangle)]
extern "C" fn __sanitizer_cov_pcs_init(start: *mut [usize; 2], end: *mut [usize; 2]) {
    BLOCKS[0].store(start, Ordering::Relaxed);
    BLOCKS[1].store(end, Ordering::Relaxed);
}

/// The size of the call at the start of each block, in bytes.
const CALL: usize = 12;

/// The largest size of a block in bytes: a function may be followed by others that are not counted.
const MAX_BLOCK: usize = 1024;

/// Sets the weight of each block to its size.
fn weigh() {
    let range = |ends: [usize; 2], size: usize| ends[1].saturating_sub(ends[0]) / size;
    let guards = GUARDS.each_ref().map(|end| end.load(Ordering::Relaxed));
    let blocks = BLOCKS.each_ref().map(|end| end.load(Ordering::Relaxed));
    let len = range(guards.map(|end| end.addr()), size_of::<u32>());
    if len == 0 || len != range(blocks.map(|end| end.addr()), size_of::<[usize; 2]>()) {
        return;
    }
    // SAFETY: the compiler has made both sections with one entry for each block, and they live as long as the process.
    let (weights, blocks) = unsafe {
        let weights = std::slice::from_raw_parts_mut(guards[0], len);
        (weights, std::slice::from_raw_parts(blocks[0], len))
    };
    let mut order: Vec<usize> = (0..len).collect();
    order.sort_unstable_by_key(|&block| blocks[block][0]);
    for (place, &block) in order.iter().enumerate() {
        let next = order
            .get(place + 1)
            .map_or(usize::MAX, |&next| blocks[next][0]);
        let size = (next - blocks[block][0]).min(MAX_BLOCK);
        weights[block] = size.saturating_sub(CALL).max(1) as u32;
    }
}

/// Forgets the work so far. The first call finds out the sizes of the blocks.
pub(crate) fn start() {
    static WEIGHED: Once = Once::new();
    WEIGHED.call_once(weigh);
    skip();
}

/// Returns the work of this thread since the last call.
#[inline]
pub(crate) fn take() -> u64 {
    let count = count();
    count.wrapping_sub(CHARGED.replace(count))
}

/// Leaves the work since the last call out.
#[inline]
pub(crate) fn skip() {
    CHARGED.set(count());
}

/// Returns the units of work of `f`, on this thread: bytes of machine code of the basic blocks that it has run, or 0 in a
/// build that does not count.
pub fn counted<R>(f: impl FnOnce() -> R) -> (R, u64) {
    start();
    let before = count();
    let result = f();
    (result, count().wrapping_sub(before))
}
