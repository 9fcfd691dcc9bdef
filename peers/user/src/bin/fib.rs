//! `fib N [THREADS]`, as in runtime-benchmarks, without tokens.

use purloin_user::programs::fib;
use purloin_user::suite::{self, Input};

fn main() {
    let input = Input {
        name: "N",
        default: fib::SUITE as usize,
        accepts: |n| n <= 90,
        accepted: "a number up to 90",
    };
    suite::main(Some(input), |pool, n| {
        Some(pool.run(|_| fib::free(n as u32)))
    });
}
