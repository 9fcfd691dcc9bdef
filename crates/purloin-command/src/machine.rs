//! The machine that figures were measured on.

use std::fs;
use std::thread;

use serde::Serialize;

/// The properties of a machine that matter to a figure.
#[derive(Serialize)]
pub struct Machine {
    /// The name of the processor, as its maker writes it.
    pub processor: String,
    /// The number of cores that this process may use.
    pub cores: usize,
    /// The architecture, such as `x86_64`.
    pub architecture: &'static str,
    /// The operating system.
    pub system: &'static str,
    /// The version of Purloin.
    pub purloin: &'static str,
}

impl Machine {
    /// Returns the machine on which this process runs.
    pub fn this() -> Machine {
        Machine {
            processor: processor().unwrap_or_else(|| "unknown".to_string()),
            cores: cores(),
            architecture: std::env::consts::ARCH,
            system: std::env::consts::OS,
            purloin: env!("CARGO_PKG_VERSION"),
        }
    }
}

/// Returns the number of cores that this process may use.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, |cores| cores.get())
}

fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_string())
}
