//! Jobs on several hosts: network namespaces of this machine whose ranks have only a network
//! in common. The script `tests/hosts/network` makes the namespaces for each job.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{LONG, allow_root, is_open_mpi, launcher, run};

/// Returns the directory of the scripts. This also works in the tests of the neighbouring crate.
fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../purloin-cluster/tests/hosts")
}

/// Makes the command that runs `program` on a network of `hosts` hosts.
fn network(hosts: usize, program: &str) -> Command {
    let scripts = scripts();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("unshare");
    // A user other than root can become root in a user namespace.
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

/// Returns why this machine cannot run jobs on several hosts, or `None` if it can.
pub fn obstacle() -> Option<String> {
    if !is_open_mpi() {
        return Some("the options that start ranks on the hosts are Open MPI's".to_owned());
    }
    let mut probe = network(1, "enter-host");
    probe.args(["10.0.0.1", "true"]);
    match probe.output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Some(format!("unshare: {error}")),
    }
}

/// Runs a program with `each` ranks on each of `hosts` hosts, and returns its standard output.
pub fn output(hosts: usize, each: usize, program: &Path, args: &[&str]) -> Vec<u8> {
    let host = |host| format!("10.0.0.{host}:{each}");
    let list: Vec<_> = (1..=hosts).map(host).collect();
    let mut job = network(hosts, &launcher());
    for (parameter, value) in [
        ("plm_rsh_agent", "enter-host"),
        ("orte_tmpdir_base", "/run"),
        // The same transports as on Ethernet. Windows use `sm` within a node and `pt2pt` between
        // nodes. Debian's Open MPI uses `pt2pt` only on request.
        ("pml", "ob1"),
        ("btl", "self,tcp"),
        ("osc", "sm,pt2pt"),
        ("btl_tcp_if_include", "10.0.0.0/24"),
        ("oob_tcp_if_include", "10.0.0.0/24"),
        // The hosts share this machine's processors, but Open MPI does not know that.
        ("mpi_yield_when_idle", "1"),
    ] {
        job.args(["--mca", parameter, value]);
    }
    // Open MPI would bind the first rank of each host to the same core.
    job.args(["--bind-to", "none"]);
    job.args(["--host", &list.join(","), "-n", &(hosts * each).to_string()])
        .arg(program)
        .args(args);
    allow_root(&mut job);
    let output = run(job, LONG);
    assert!(
        output.status.success(),
        "{program:?} {args:?} on {hosts} hosts: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}
