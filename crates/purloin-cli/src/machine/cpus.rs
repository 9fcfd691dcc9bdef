//! The cores of this machine: one hardware thread of each core that this process may use.

use std::fs;

/// A core, by the number of one of its hardware threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cpu {
    pub(super) number: usize,
    /// The first hardware thread of the core.
    core: usize,
    /// The first hardware thread that shares the last-level cache, if there is one.
    cluster: Option<usize>,
    socket: usize,
}

/// The distance between two cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distance {
    Cluster,
    Socket,
    Remote,
}

impl Cpu {
    /// Returns the distance to another core.
    pub(super) fn to(self, other: Cpu) -> Distance {
        match () {
            () if self.socket != other.socket => Distance::Remote,
            () if self.cluster != other.cluster => Distance::Socket,
            () => Distance::Cluster,
        }
    }
}

/// At least two cores.
pub(super) struct Cpus(pub(super) Vec<Cpu>);

impl Cpus {
    /// Returns why this machine cannot be measured, if it cannot.
    pub(super) fn of_this_machine() -> Result<Cpus, String> {
        let mut cpus: Vec<_> = allowed()?.into_iter().map(cpu).collect();
        cpus.sort_by_key(|cpu| (cpu.core, cpu.number));
        cpus.dedup_by_key(|cpu| cpu.core);
        match cpus.len() {
            0 | 1 => Err(
                "this process may use one core only; `purloin machine` measures the way between two".to_string(),
            ),
            _ => Ok(Cpus(cpus)),
        }
    }

    /// Returns the number of cores in the first core's cluster, and in its socket. A socket has a whole number of clusters.
    pub(super) fn cluster_and_socket(&self) -> (usize, usize) {
        let count = |is_near: &dyn Fn(Distance) -> bool| {
            let near = self.0.iter().filter(|cpu| is_near(self.0[0].to(**cpu)));
            near.count()
        };
        let cluster = count(&|distance| distance == Distance::Cluster);
        let socket = count(&|distance| distance != Distance::Remote);
        (cluster, socket.next_multiple_of(cluster))
    }

    /// Returns up to eight pairs of cores with this distance, spread over the machine.
    pub(super) fn pairs(&self, distance: Distance) -> Vec<(Cpu, Cpu)> {
        let all = self.0.iter().enumerate();
        let pairs: Vec<_> = all
            .flat_map(|(place, &a)| self.0[place + 1..].iter().map(move |&b| (a, b)))
            .filter(|(a, b)| a.to(*b) == distance)
            .collect();
        pairs
            .iter()
            .step_by(pairs.len().div_ceil(8).max(1))
            .copied()
            .collect()
    }
}

/// Returns where a hardware thread is.
fn cpu(number: usize) -> Cpu {
    let folder = format!("/sys/devices/system/cpu/cpu{number}");
    let first = |file: &str| {
        let text = fs::read_to_string(format!("{folder}/{file}")).ok()?;
        let end = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        text[..end].parse::<usize>().ok()
    };
    Cpu {
        number,
        // Without the file, each hardware thread is a core.
        core: first("topology/thread_siblings_list").unwrap_or(number),
        cluster: first("cache/index3/shared_cpu_list"),
        socket: first("topology/physical_package_id").unwrap_or(0),
    }
}

/// Returns the hardware threads that this process may use.
#[cfg(target_os = "linux")]
fn allowed() -> Result<Vec<usize>, String> {
    // SAFETY: an empty set is valid, and the call fills it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        match libc::sched_getaffinity(0, size_of_val(&set), &mut set) {
            0 => Ok((0..libc::CPU_SETSIZE as usize)
                .filter(|&cpu| libc::CPU_ISSET(cpu, &set))
                .collect()),
            _ => Err(format!(
                "sched_getaffinity: {}",
                std::io::Error::last_os_error()
            )),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn allowed() -> Result<Vec<usize>, String> {
    Err("`purloin machine` pins threads to cores, and so needs Linux".to_string())
}

/// Lets the calling thread run on this core only.
pub(super) fn pin(cpu: Cpu) {
    #[cfg(target_os = "linux")]
    // SAFETY: the set is valid. If the call fails, because the core has gone, the figures are worse.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu.number, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &set);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = cpu;
}
