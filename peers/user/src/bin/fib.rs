//! `fib N [THREADS]`, as in runtime-benchmarks, without tokens.

use purloin_user::programs::fib;
use purloin_user::suite;

fn main() {
    suite::main(Some(("N", fib::SUITE as usize)), |pool, n| {
        if n > 90 {
            eprintln!("fib: N is at most 90, not {n}");
            std::process::exit(2);
        }
        Some(pool.run(|_| fib::free(n as u32)))
    });
}
