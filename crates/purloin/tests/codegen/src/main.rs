//! The joins whose machine code `tests/codegen.rs` looks at.

use purloin::{Pool, Token, Worker};

fn main() {
    let n = std::env::args().count() as u32;
    let pool = Pool::new().unwrap();
    println!("{}", pool.run(|w| fib(w, n)));
    println!("{}", pool.run(|_| fib_without_token(n)));
}

/// Joins through a token.
fn fib(mut w: Token<'_>, n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
    a + b
}

/// Joins without a token.
fn fib_without_token(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = purloin::join(|| fib_without_token(n - 1), || fib_without_token(n - 2));
    a + b
}
