//! The peer Go: goroutines and wait groups, with the kernels in `peers/go`.

use std::process::Command;

use super::process::{Program, sources};
use super::{Description, Kernels, Start};

pub const GO: Description = Description {
    name: "go",
    about: "peer: goroutines and wait groups, with kernels in Go (needs Go)",
    is_peer: true,
    has_workers: true,
    kernels: Kernels::Only(&[
        "fanout",
        "fib",
        "flood",
        "forks",
        "loops",
        "multisort",
        "nqueens",
        "uts",
    ]),
    start: Start::Program(&Program {
        sources: sources!(
            "go":
            "fib.go",
            "flood.go",
            "forks.go",
            "go.mod",
            "input.go",
            "loops.go",
            "main.go",
            "multisort.go",
            "nqueens.go",
            "random.go",
            "spawn.go",
            "tree.go",
            "uts.go",
            "work.go",
        ),
        compile: || {
            let mut command = Command::new("go");
            command.args(["build", "-o", "peer", "."]);
            command
        },
        start: |directory| Command::new(directory.join("peer")),
        needs: "Go, version 1.21 or later (Debian 13: apt-get install golang-go)",
    }),
    profile: None,
    options: &[],
};
