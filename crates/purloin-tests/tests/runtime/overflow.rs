//! A recursion that is too deep ends the process with a message that names the worker.
#![cfg(unix)]

use crate::common;
use purloin::{Pool, Worker};

const NAME: &str =
    "overflow::too_many_nested_joins_overflow_the_stack_of_the_thread_and_nothing_else";

/// Nests `n` joins.
fn deep<W: Worker>(mut w: W, n: u64) -> u64 {
    if n == 0 {
        return 0;
    }
    let (a, b) = w.join(move |w| deep(w, n - 1), move |_| n);
    a + b
}

#[test]
fn too_many_nested_joins_overflow_the_stack_of_the_thread_and_nothing_else() {
    if common::is_child() {
        // The stack has room for some thousands of joins, but a billion of them nest.
        let pool = Pool::builder()
            .workers(2)
            .stack_size(1 << 20)
            .build()
            .unwrap();
        pool.run(|w| deep(w, 1_000_000_000));
        unreachable!();
    }
    let child = common::run_in_child(NAME, &[]);
    assert!(!child.status.success());
    let text = String::from_utf8_lossy(&child.stderr);
    assert!(text.contains("has overflowed its stack"), "{text}");
    assert!(
        text.contains("purloin-"),
        "the message does not name the worker: {text}"
    );
}
