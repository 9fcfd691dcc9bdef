//! Jobs that run the command `purloin-cluster`.

// The library's tests start their jobs in the same way.
#[path = "../../../purloin-cluster/tests/common/mod.rs"]
mod jobs;

use std::path::PathBuf;

pub use jobs::*;
use serde_json::Value;

/// Returns the path of the command.
pub fn command() -> PathBuf {
    env!("CARGO_BIN_EXE_purloin-cluster").into()
}

/// Returns the command's arguments, with the option for a report on standard output added.
fn with_report<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [args, &["--json", "-"]].concat()
}

/// Runs the command on `ranks` ranks of this machine, and parses its report.
#[allow(dead_code)]
pub fn report(ranks: usize, args: &[&str]) -> Value {
    let args = with_report(args);
    let output = run(job(ranks, &command(), &args), LONG);
    assert!(
        output.status.success(),
        "{args:?} on {ranks} ranks: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("the report is JSON")
}

/// Runs the command with `each` ranks on each of `hosts` hosts, and parses its report.
#[allow(dead_code)]
pub fn report_from_hosts(hosts: usize, each: usize, args: &[&str]) -> Value {
    let output = hosts::output(hosts, each, &command(), &with_report(args));
    serde_json::from_slice(&output).expect("the report is JSON")
}
