//! The joins and the loops whose machine code `tests/codegen.rs` looks at.

use purloin::{Pool, Token, Worker};

fn main() {
    let n = std::env::args().count() as u32;
    let pool = Pool::new().unwrap();
    println!("{}", pool.run(|w| fib(w, n)));
    println!("{}", pool.run(|_| fib_without_token(n)));
    let mut squares = vec![0; n as usize];
    pool.run(|w| spawn_squares(w, &mut squares));
    println!("{squares:?}");
    let numbers: Vec<u32> = (0..n).collect();
    println!("{}", pool.run(|w| parallel_sum(w, &numbers)));
    println!("{}", plain_sum(&numbers));
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

/// Spawns tasks.
fn spawn_squares(mut w: Token<'_>, squares: &mut [u64]) {
    w.finish(|scope| {
        for (n, square) in (0..).zip(squares) {
            scope.spawn(move |_| *square = n * n);
        }
    });
}

/// A chain of three adaptors.
fn parallel_sum(mut w: Token<'_>, numbers: &[u32]) -> u32 {
    let chain = w
        .par(numbers)
        .map(|n| n ^ 0x5A5A)
        .map(|n| n & 0xFFFF)
        .map(|n| n + 7);
    chain.fold(|| 0, u32::wrapping_add, u32::wrapping_add)
}

/// The same as a plain loop.
#[inline(never)]
fn plain_sum(numbers: &[u32]) -> u32 {
    let mut sum = 0_u32;
    for n in numbers {
        sum = sum.wrapping_add(((n ^ 0x5A5A) & 0xFFFF) + 7);
    }
    sum
}
