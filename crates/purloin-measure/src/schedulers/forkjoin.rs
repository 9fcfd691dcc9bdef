//! The peer ForkJoinPool: Java's fork/join framework, with the kernels in `peers/java`.

use std::process::Command;

use super::process::{Program, sources};
use super::{Description, Kernels, Start};

pub const FORKJOIN: Description = Description {
    name: "forkjoin",
    about: "peer: Java's ForkJoinPool, with kernels in Java (needs a JDK)",
    is_peer: true,
    has_workers: true,
    kernels: Kernels::Only(&[
        "barnes-hut",
        "fanout",
        "fft",
        "fib",
        "flood",
        "forks",
        "jacobi",
        "loops",
        "lud",
        "multisort",
        "nqueens",
        "uts",
    ]),
    start: Start::Program(&Program {
        sources: SOURCES,
        compile: || {
            let mut command = Command::new("javac");
            command.args(SOURCES.iter().map(|(name, _)| name));
            command
        },
        start: |directory| {
            let mut command = Command::new("java");
            // The deep trees T3 and T3L of uts need this stack.
            command.arg("-Xss64m").arg("-cp").arg(directory).arg("Peer");
            command
        },
        needs: "a JDK, version 11 or later (Debian: apt-get install default-jdk-headless)",
    }),
    profile: None,
    options: &[],
};

const SOURCES: &[(&str, &str)] = sources!(
    "java":
    "Acceleration.java",
    "BarnesHut.java",
    "Board.java",
    "Cell.java",
    "Division.java",
    "Fanout.java",
    "Fft.java",
    "Fib.java",
    "Flood.java",
    "Forks.java",
    "Input.java",
    "Jacobi.java",
    "Kernel.java",
    "Loop.java",
    "Loops.java",
    "Lud.java",
    "Merge.java",
    "Multisort.java",
    "Node.java",
    "Nqueens.java",
    "Peer.java",
    "Random.java",
    "Tree.java",
    "UsageError.java",
    "Uts.java",
    "Work.java",
);
