//! Runs the command and reads its output.
#![allow(dead_code)]

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

/// Runs `purloin` with these arguments.
pub fn purloin(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_purloin"))
        .args(args)
        .output()
        .unwrap()
}

/// Checks that `purloin` refuses `args` with one line on standard error and exit status 2; returns
/// the line.
pub fn refusal(args: &[&str]) -> String {
    let output = purloin(args);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
    assert_eq!(text.trim_end().lines().count(), 1, "{args:?}: {text}");
    assert!(output.stdout.is_empty());
    text
}

/// Checks that the command succeeded; returns its JSON.
pub fn json(output: &Output) -> Value {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Creates a temporary directory for one test.
pub fn temporary(name: &str) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&directory).unwrap();
    directory
}
