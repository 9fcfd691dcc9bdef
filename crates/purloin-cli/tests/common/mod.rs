//! Running the command, and reading what it says.
#![allow(dead_code)]

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

pub fn purloin(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_purloin"))
        .args(args)
        .output()
        .unwrap()
}

/// What it prints on standard error when it refuses `args`.
pub fn refusal(args: &[&str]) -> String {
    let output = purloin(args);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
    assert_eq!(text.trim_end().lines().count(), 1, "{args:?}: {text}");
    assert!(output.stdout.is_empty());
    text
}

pub fn json(output: &Output) -> Value {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

pub fn temporary(name: &str) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&directory).unwrap();
    directory
}
