//! The peer forte: a program in `peers/forte`, because it needs a newer compiler than this
//! workspace.
//!
//! The program contains the kernels of `crates/purloin-kernels`, so its sources are most of this
//! clone. This executable does not contain them: cargo builds them where they are, and keeps the
//! result in `target/forte` of the clone. When this workspace has Rust 1.96, forte can become a peer
//! in threads, as rayon is.

use std::env::consts::EXE_SUFFIX;
use std::process::Command;

use super::process::Program;
use super::{Description, Kernels, Start};

pub const FORTE: Description = Description {
    name: "forte",
    about: "peer: the same source over forte::Worker::join (needs the nightly toolchain of Rust)",
    is_peer: true,
    has_workers: true,
    kernels: Kernels::All,
    start: Start::Program(&Program {
        sources: &[],
        compile: || {
            let mut command = Command::new("cargo");
            command
                // With --quiet, the first line that cargo writes is an error.
                .args(["+nightly", "build", "--release", "--locked", "--quiet"])
                .arg("--manifest-path")
                .arg(format!("{CLONE}/peers/forte/Cargo.toml"))
                .arg("--target-dir")
                .arg(format!("{CLONE}/target/forte"))
                // The same compiler flags as for this executable. Cargo looks for them in the
                // working directory, which is elsewhere.
                .arg("--config")
                .arg(format!("{CLONE}/.cargo/config.toml"))
                // Without this, rustup may download a missing toolchain.
                .env("RUSTUP_AUTO_INSTALL", "0");
            command
        },
        start: |_| {
            Command::new(format!(
                "{CLONE}/target/forte/release/purloin-forte{EXE_SUFFIX}"
            ))
        },
        needs: "Rust 1.96 or later as the toolchain nightly (rustup toolchain install nightly)",
    }),
    profile: None,
    options: &[],
};

/// The clone in which this executable was compiled.
const CLONE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
