//! `matmul SIZE [THREADS]`, as in runtime-benchmarks, without tokens.

use purloin_user::programs::matmul::{self, Matrices, SUITE};
use purloin_user::suite;

fn main() {
    suite::main(Some(("SIZE", SUITE)), |pool, size| {
        if !size.is_power_of_two() {
            eprintln!("matmul: the size is a power of two, not {size}");
            std::process::exit(2);
        }
        let mut matrices = Matrices::new(size);
        matrices.multiply(|results, a, b, row| pool.run(|_| matmul::free(results, a, b, row)));
        suite::check(matrices.is_right());
        None
    });
}
