//! `matmul SIZE [THREADS]`, as in runtime-benchmarks, without tokens. As there, the time includes that for the memory of the
//! matrices.

use purloin_user::programs::matmul::{self, LARGEST, Matrices, SUITE};
use purloin_user::suite::{self, Input};

fn main() {
    let input = Input {
        name: "SIZE",
        default: SUITE,
        is_possible: |size| size.is_power_of_two() && size <= LARGEST,
        possible: "a power of two up to 16384",
    };
    suite::main(Some(input), |pool, size| {
        let mut matrices = Matrices::new(size);
        matrices.multiply(|results, a, b| pool.run(|_| matmul::free(results, a, b)));
        suite::check(matrices.is_right());
        None
    });
}
