//! The peers in C++, with the kernels in `peers/cpp`: OpenMP and oneTBB.

use std::path::Path;
use std::process::Command;

use super::process::{KERNELS, Program, sources};
use super::{Description, Start};

pub const OPENMP: Description = Description {
    name: "openmp",
    about: "peer: OpenMP's tasks and loops, with kernels in C++ (needs g++)",
    is_peer: true,
    has_workers: true,
    kernels: KERNELS,
    start: Start::Program(&Program {
        sources: SOURCES,
        compile: || compile("openmp.cpp", "-fopenmp"),
        start: |directory| {
            let mut command = start(directory);
            // The deep trees T3 and T3L of uts need this stack.
            command.env("OMP_STACKSIZE", "256M");
            command
        },
        needs: "g++ with OpenMP (Debian: apt-get install g++)",
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
        compile: || compile("tbb.cpp", "-ltbb"),
        start,
        needs: "g++ and oneTBB (Debian: apt-get install g++ libtbb-dev)",
    }),
    profile: None,
    options: &[],
};

fn compile(source: &str, library: &str) -> Command {
    let mut command = Command::new("g++");
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
    "random.hpp",
    "serial.hpp",
    "sha1.hpp",
    "tbb.cpp",
    "uts.hpp",
    "work.hpp",
);
