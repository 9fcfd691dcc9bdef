//! `nqueens [THREADS]`, as in runtime-benchmarks, as loops in loops without tokens.

use purloin_user::programs::queens::{Columns, SUITE_ANSWER, loops_free};
use purloin_user::suite;

fn main() {
    suite::main(None, |pool, _| {
        let ways = pool.run(|_| loops_free(Columns::default()));
        suite::check(ways == SUITE_ANSWER);
        Some(ways)
    });
}
