//! `matmul SIZE [THREADS]`, as in runtime-benchmarks, without tokens. The time includes the allocation of the matrices and
//! the check of the result.

use purloin_user::programs::matmul::{self, LARGEST, Matrices, SUITE};
use purloin_user::suite::{self, Input};

fn main() {
    let input = Input {
        name: "SIZE",
        default: SUITE,
        accepts: |size| size.is_power_of_two() && size <= LARGEST,
        accepted: "a power of two up to 16384",
    };
    suite::main(Some(input), |pool, size| {
        let mut matrices = Matrices::new(size);
        matrices.multiply(|results, a, b| pool.run(|_| matmul::free(results, a, b)));
        suite::check(matrices.is_right());
        None
    });
}
