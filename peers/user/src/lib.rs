//! The four programs of the public suite [runtime-benchmarks](https://github.com/tzcnt/runtime-benchmarks), in each form
//! that a user of Purloin may choose, and on other Rust libraries.
//!
//! `token` is Purloin with a token, and `free` without. The tables of `./x user` measure these programs, and the
//! executables `fib`, `skynet`, `nqueens` and `matmul` have the suite's command line and output.

pub mod suite;

/// The programs. Each returns its answer, which the caller checks.
pub mod programs {
    pub mod fib;
    pub mod matmul;
    pub mod queens;
    pub mod skynet;
}
