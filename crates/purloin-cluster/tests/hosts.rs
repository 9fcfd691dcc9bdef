//! More than one host, really: ranks that have nothing in common but a network.
//!
//! The hosts are network namespaces of this machine, which `tests/hosts/network` makes for
//! each job. Tests are skipped where namespaces are not permitted.

mod common;

use std::path::Path;
use std::process::Command;

use common::{LONG, command, example, is_open_mpi, launcher, run, skipped};
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

/// Runs a program with so many ranks on each of so many hosts, and returns what it prints.
fn output(hosts: usize, each: usize, program: &Path, args: &[&str]) -> Vec<u8> {
    let host = |host| format!("10.0.0.{host}:{each}");
    let list: Vec<_> = (1..=hosts).map(host).collect();
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
    // It would bind the first rank of each host to the same core.
    job.args(["--bind-to", "none"]);
    job.args(["--host", &list.join(","), "-n", &(hosts * each).to_string()])
        .arg(program)
        .args(args)
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let output = run(job, LONG);
    assert!(
        output.status.success(),
        "{program:?} {args:?} on {hosts} hosts: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

/// Runs the command, and reads its report.
fn report(hosts: usize, each: usize, args: &[&str]) -> Value {
    let args = [args, &["--json", "-"]].concat();
    let output = output(hosts, each, &command(), &args);
    serde_json::from_slice(&output).expect("a report is JSON")
}

fn kernels_are_right_on(hosts: usize, each: usize) {
    if let Some(obstacle) = obstacle() {
        return skipped(obstacle.trim());
    }
    let (mut near, mut far) = (0, 0);
    for kernel in KERNELS {
        for cutoff in ["adaptive", "none"] {
            for steal in ["async", "sync"] {
                let report = report(hosts, each, &[kernel, "--cutoff", cutoff, "--steal", steal]);
                assert_eq!(report["verified"], true, "{report}");
                assert_eq!(report["ranks"], hosts * each);
                assert_eq!(report["nodes"], hosts);
                let count = |name: &str| report["stats"][name].as_u64().unwrap();
                far += count("remote_steals");
                near += count("steals") - count("remote_steals");
            }
        }
    }
    assert!(far > 0);
    assert_eq!(near > 0, each > 1, "{near} near, {far} far");
}

#[test]
fn kernels_are_right_on_two_hosts() {
    kernels_are_right_on(2, 1);
}

#[test]
fn kernels_are_right_on_three_hosts() {
    kernels_are_right_on(3, 1);
}

#[test]
fn kernels_are_right_on_two_hosts_of_two_ranks() {
    kernels_are_right_on(2, 2);
}

#[test]
fn a_rank_in_leaves_that_only_compute_is_stolen_from() {
    if let Some(obstacle) = obstacle() {
        return skipped(obstacle.trim());
    }
    let output = output(2, 1, &example("leaves"), &[]);
    let text = String::from_utf8(output).expect("text");
    for line in text.lines() {
        let stolen = line.strip_suffix(" of 200 were stolen").expect(&text);
        let stolen: u32 = stolen.parse().expect(&text);
        // Of 100, as long as nobody else needs the processors.
        assert!(stolen >= 10, "{text}");
    }
    assert_eq!(text.lines().count(), 2, "{text}");
}
