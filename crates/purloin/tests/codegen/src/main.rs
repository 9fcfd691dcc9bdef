//! The functions whose machine code `tests/codegen.rs` looks at.

use purloin::{Pool, Token, Worker};

fn main() {
    let n = std::env::args().count() as u32;
    let pool = Pool::new().unwrap();
    println!("{}", pool.run(|w| fib_by_value(w, n)));
    println!("{}", pool.run(|_| fib_without_token(n)));
}

/// Joins closures that own their captures.
#[unsafe(no_mangle)]
#[inline(never)]
pub fn fib_by_value(mut w: Token<'_>, n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = w.join(move |w| fib_by_value(w, n - 1), move |w| fib_by_value(w, n - 2));
    a + b
}

/// Joins without a token.
#[unsafe(no_mangle)]
#[inline(never)]
pub fn fib_without_token(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = purloin::join(move || fib_without_token(n - 1), move || fib_without_token(n - 2));
    a + b
}
