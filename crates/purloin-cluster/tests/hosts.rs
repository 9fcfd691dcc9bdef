//! More than one host, really: ranks that have nothing in common but a network.
//!
//! The hosts are network namespaces of this machine, which `tests/hosts/network` makes for
//! each job. Tests are skipped where namespaces are not permitted.

mod common;

use std::path::Path;
use std::process::Command;

use common::{LONG, command, is_open_mpi, launcher, run};
use serde_json::Value;

/// Small inputs. They last long enough for a steal through a network, or have global arrays.
#[cfg(debug_assertions)]
const KERNELS: [&str; 2] = ["fib=24", "nqueens=9"];
#[cfg(not(debug_assertions))]
const KERNELS: [&str; 6] = [
    "fib=30",
    "floorplan=10",
    "nqueens=11",
    "sparselu=12,16",
    "strassen=256",
    "uts=T1",
];

/// A program that is run on a network of so many hosts.
fn network(hosts: usize, program: &str) -> Command {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("unshare");
    // Whoever is not root may be so in a namespace of users.
    if !is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command
        .args("--net --mount --uts --ipc --pid --fork --kill-child --mount-proc".split(' '))
        .arg(scripts.join("network"))
        .args([&hosts.to_string(), program])
        .env("PATH", format!("{}:{path}", scripts.display()));
    command
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout == b"0\n")
}

/// Why there can be no hosts, if so.
fn obstacle() -> Option<String> {
    if !is_open_mpi() {
        return Some("only with Open MPI is it known how to start ranks there".to_owned());
    }
    let mut probe = network(1, "enter-host");
    probe.args(["10.0.0.1", "true"]);
    match probe.output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Some(format!("unshare: {error}")),
    }
}

/// Runs the command with a rank on each of so many hosts, and reads its report.
fn report(hosts: usize, args: &[&str]) -> Value {
    let list: Vec<_> = (1..=hosts).map(|host| format!("10.0.0.{host}:1")).collect();
    let mut job = network(hosts, &launcher());
    for (parameter, value) in [
        ("plm_rsh_agent", "enter-host"),
        ("orte_tmpdir_base", "/run"),
        // As with Ethernet. Windows are `sm` within a node, and `pt2pt` between nodes, which
        // Debian's Open MPI does not use unless told to.
        ("pml", "ob1"),
        ("btl", "self,tcp"),
        ("osc", "sm,pt2pt"),
        ("btl_tcp_if_include", "10.0.0.0/24"),
        ("oob_tcp_if_include", "10.0.0.0/24"),
        // The hosts share this machine's processors, of which Open MPI knows nothing.
        ("mpi_yield_when_idle", "1"),
    ] {
        job.args(["--mca", parameter, value]);
    }
    job.args(["--host", &list.join(","), "-n", &hosts.to_string()])
        .arg(command())
        .args(args)
        .args(["--json", "-"])
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let output = run(job, LONG);
    assert!(
        output.status.success(),
        "{args:?} on {hosts} hosts: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("a report is JSON")
}

fn kernels_are_right_on(hosts: usize) {
    if let Some(obstacle) = obstacle() {
        eprintln!("skipped: {}", obstacle.trim());
        return;
    }
    let mut remote_steals = 0;
    for kernel in KERNELS {
        for cutoff in ["adaptive", "none"] {
            for steal in ["async", "sync"] {
                let report = report(hosts, &[kernel, "--cutoff", cutoff, "--steal", steal]);
                assert_eq!(report["verified"], true, "{report}");
                assert_eq!(report["ranks"], hosts);
                assert_eq!(report["nodes"], hosts);
                let steals = &report["stats"]["steals"];
                assert_eq!(&report["stats"]["remote_steals"], steals, "{report}");
                remote_steals += steals.as_u64().unwrap();
            }
        }
    }
    assert!(remote_steals > 0);
}

#[test]
fn kernels_are_right_on_two_hosts() {
    kernels_are_right_on(2);
}

#[test]
fn kernels_are_right_on_three_hosts() {
    kernels_are_right_on(3);
}
