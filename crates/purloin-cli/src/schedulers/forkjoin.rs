//! The peer ForkJoinPool: Java's fork/join framework, with the kernels in `peers/java`.

use std::process::Command;

use super::process::Program;
use super::{Description, Kernels, Start};

pub const FORKJOIN: Description = Description {
    name: "forkjoin",
    about: "peer: Java's ForkJoinPool, with kernels in Java (needs a JDK)",
    has_workers: true,
    kernels: Kernels::Only(&["jacobi", "fft", "lud", "barnes-hut", "uts", "multisort"]),
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

macro_rules! sources {
    ($($class:ident),*) => {
        &[$((
            concat!(stringify!($class), ".java"),
            include_str!(concat!("../../../../peers/java/", stringify!($class), ".java")),
        )),*]
    };
}

const SOURCES: &[(&str, &str)] = sources!(
    Acceleration,
    BarnesHut,
    Cell,
    Division,
    Fft,
    Input,
    Jacobi,
    Kernel,
    Loop,
    Lud,
    Merge,
    Multisort,
    Node,
    Peer,
    Random,
    Tree,
    UsageError,
    Uts
);
