//! The peers in C++, with the kernels in `peers/cpp`: OpenMP with two libraries, and oneTBB.

use std::path::Path;
use std::process::Command;

use super::process::{Program, sources};
use super::{Description, Kernels, Start};

pub const OPENMP: Description = Description {
    name: "openmp",
    about: "peer: OpenMP's tasks and loops, with kernels in C++ (needs g++)",
    is_peer: true,
    has_workers: true,
    kernels: KERNELS,
    start: Start::Program(&Program {
        sources: SOURCES,
        compile: || compile("g++", "openmp.cpp", "-fopenmp"),
        start: start_openmp,
        needs: "g++ with OpenMP (Debian: apt-get install g++)",
    }),
    profile: None,
    options: &[],
};

/// LLVM's library descends from Intel's: Intel gave it to LLVM in 2013.
pub const OPENMP_LLVM: Description = Description {
    name: "openmp-llvm",
    about: "peer: OpenMP with the library of LLVM and Intel, with kernels in C++ (needs clang++)",
    is_peer: true,
    has_workers: true,
    kernels: KERNELS,
    start: Start::Program(&Program {
        sources: SOURCES,
        compile: || compile("clang++", "openmp.cpp", "-fopenmp"),
        start: start_openmp,
        needs: "clang++ with OpenMP (Debian: apt-get install clang libomp-dev)",
    }),
    profile: None,
    options: &[],
};

pub const TBB: Description = Description {
    name: "tbb",
    about: "peer: oneTBB, with kernels in C++ (needs g++ and oneTBB)",
    is_peer: true,
    has_workers: true,
    kernels: KERNELS,
    start: Start::Program(&Program {
        sources: SOURCES,
        compile: || compile("g++", "tbb.cpp", "-ltbb"),
        start,
        needs: "g++ and oneTBB (Debian: apt-get install g++ libtbb-dev)",
    }),
    profile: None,
    options: &[],
};

const KERNELS: Kernels = Kernels::Only(&[
    "bpc",
    "bpc-loop",
    "fanout",
    "fib",
    "flood",
    "forks",
    "loops",
    "multisort",
    "nqueens",
    "spc",
    "spc-loop",
    "tree",
    "uts",
]);

fn compile(compiler: &str, source: &str, library: &str) -> Command {
    let mut command = Command::new(compiler);
    command.args([
        "-std=c++17",
        "-O3",
        "-pthread",
        source,
        library,
        "-o",
        "peer",
    ]);
    command
}

fn start(directory: &Path) -> Command {
    Command::new(directory.join("peer"))
}

fn start_openmp(directory: &Path) -> Command {
    let mut command = start(directory);
    // The deep trees T3 and T3L of uts need this stack.
    command.env("OMP_STACKSIZE", "256M");
    command
}

const SOURCES: &[(&str, &str)] = sources!(
    "cpp":
    "fib.hpp",
    "flood.hpp",
    "forks.hpp",
    "input.hpp",
    "loops.hpp",
    "multisort.hpp",
    "nqueens.hpp",
    "openmp.cpp",
    "peer.hpp",
    "producers.hpp",
    "random.hpp",
    "serial.hpp",
    "sha1.hpp",
    "tbb.cpp",
    "tree.hpp",
    "uts.hpp",
    "work.hpp",
);
