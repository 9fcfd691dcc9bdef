//! Recursion that is too deep ends with a message that says so.
#![allow(missing_docs)]
#![cfg(unix)]

use std::process::Command;

use purloin::{Pool, Worker};

const MARK: &str = "PURLOIN_TEST_OVERFLOW";

fn deep<W: Worker>(mut w: W, n: u64) -> u64 {
    if n == 0 {
        return 0;
    }
    let (a, b) = w.join(move |w| deep(w, n - 1), move |_| n);
    a + b
}

#[test]
fn too_many_nested_joins_overflow_the_threads_stack_and_nothing_else() {
    if std::env::var_os(MARK).is_some() {
        // In the child: a stack for some thousands of joins, and a billion.
        let pool = Pool::builder()
            .workers(2)
            .stack_size(1 << 20)
            .build()
            .unwrap();
        pool.run(|w| deep(w, 1_000_000_000));
        unreachable!();
    }
    let child = Command::new(std::env::current_exe().unwrap())
        .env(MARK, "1")
        .args([
            "--exact",
            "too_many_nested_joins_overflow_the_threads_stack_and_nothing_else",
        ])
        .arg("--nocapture")
        .output()
        .unwrap();
    assert!(!child.status.success());
    let text = String::from_utf8_lossy(&child.stderr);
    assert!(text.contains("has overflowed its stack"), "{text}");
    assert!(
        text.contains("purloin-"),
        "the message names the worker: {text}"
    );
}
