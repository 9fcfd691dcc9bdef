//! `skynet [THREADS]`, as in runtime-benchmarks, as loops in loops without tokens.

use purloin_user::programs::skynet::{self, SUITE};
use purloin_user::suite;

fn main() {
    suite::main(None, |pool, _| {
        let sum = pool.run(|_| skynet::loops_free(0, SUITE));
        suite::check(sum == skynet::answer(SUITE));
        None
    });
}
