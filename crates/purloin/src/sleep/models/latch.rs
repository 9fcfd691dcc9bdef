//! The memory of a latch may go as soon as it opens, and what was done before is visible.

use loom::sync::Arc;
use loom::thread;

use crate::sleep::{Latch, Sleep, Waiter};
use crate::sync::UnsafeCell;

const WAITER: usize = 0;

/// The frame of the waiting thread: a latch, and a result for each holder.
struct Frame {
    sleep: Sleep,
    latch: Latch,
    /// The threads that hold the latch write a result of their own each, and touch the frame until they
    /// release the latch.
    results: [UnsafeCell<u32>; 2],
    frame: UnsafeCell<()>,
}

#[test]
fn a_thread_whose_latch_opens_has_its_frame_to_itself() {
    loom::model(|| {
        let frame = Arc::new(Frame {
            sleep: Sleep::for_model(1, 0),
            latch: Latch::new(2, Waiter::Worker(WAITER)),
            results: [(); 2].map(|()| UnsafeCell::new(0)),
            frame: UnsafeCell::new(()),
        });
        let holders = [0, 1].map(|holder| {
            let frame = Arc::clone(&frame);
            thread::spawn(move || {
                frame.frame.with(|_| ());
                // SAFETY: each holder has its own result.
                frame.results[holder].with_mut(|result| unsafe { *result = 7 });
                if holder == 0 {
                    // As a task of a finish that spawns another one, which ends first.
                    frame.latch.hold();
                    // SAFETY: this thread holds the latch twice.
                    unsafe { Latch::release(&frame.latch, &frame.sleep) };
                }
                // SAFETY: this thread holds the latch.
                unsafe { Latch::release(&frame.latch, &frame.sleep) };
            })
        });
        while !frame.latch.is_open() {
            frame.sleep.park(WAITER, None);
        }
        // As if the frame were gone.
        frame.frame.with_mut(|_| ());
        for result in &frame.results {
            // SAFETY: both threads have released the latch.
            assert_eq!(result.with(|result| unsafe { *result }), 7);
        }
        for holder in holders {
            holder.join().unwrap();
        }
    });
}
