//! `purloin machine`: measures this machine for `purloin virtual`.
//!
//! - [`cpus`]: which hardware threads to measure on, and how near they are to each other.
//! - [`measure`]: the measurements.

mod cpus;
mod measure;

use std::path::PathBuf;

use purloin_command::{Destination, Failure, activity};
use purloin_virtual::Machine;

use self::cpus::Cpus;

/// Measure this machine, and describe it in a file for `purloin virtual`
///
/// The measurement takes a few seconds. Stop other programs first, or the figures become too high. It pins threads to cores, so it needs Linux, and
/// at least two cores. It leaves out the second hardware thread of each core, and cores that this process may not use.
///
/// The time slice is not measured; the file has 3 ms, as Linux has by default.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  purloin machine
  purloin machine --out here.toml
  purloin virtual skynet=6 --machine here.toml

The times under [latency] are half a round trip of a cache line between two cores. docs/virtual.md
describes the entries.")]
pub struct Args {
    /// Write the description to this file, or to standard output with -
    #[arg(long, value_name = "FILE|-", default_value = "-")]
    out: PathBuf,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let out = Destination::open(&args.out)?;
    let cpus = Cpus::of_this_machine().map_err(Failure::Run)?;
    let progress = activity();
    let machine = measure::machine(&cpus, |what| {
        progress.set_message(format!("measuring {what}"))
    });
    progress.finish_and_clear();
    out.write_bytes(text(&machine).as_bytes())
}

/// Returns the machine's file.
fn text(machine: &Machine) -> String {
    let Machine {
        name,
        sources,
        topology,
        latency,
        core,
        system,
    } = machine;
    let remote = latency
        .remote
        .map_or(String::new(), |remote| format!("remote = {remote}\n"));
    format!(
        "name = {name:?}
sources = {sources:?}

[topology]
cores = {}
cluster = {}
socket = {}

[latency]
cluster = {}
socket = {}
{remote}cache = {}
memory = {}

[core]
ghz = {}
load = {}
locked = {}
fence = {}
pause = {}
clock = {}

[system]
park = {}
wake = {}
wake_latency = {}
switch = {}
yield = {}
slice = {}
membarrier = {}
interrupt = {}
interrupted = {}
start_thread = {}
",
        topology.cores,
        topology.cluster,
        topology.socket,
        latency.cluster,
        latency.socket,
        latency.cache,
        latency.memory,
        core.ghz,
        core.load,
        core.locked,
        core.fence,
        core.pause,
        core.clock,
        system.park,
        system.wake,
        system.wake_latency,
        system.switch,
        system.yield_now,
        system.slice,
        system.membarrier,
        system.interrupt,
        system.interrupted,
        system.start_thread,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_machine_is_read_as_it_was() {
        for name in Machine::names() {
            let machine = Machine::named(name).unwrap();
            let file =
                std::env::temp_dir().join(format!("purloin-{}-{name}.toml", std::process::id()));
            std::fs::write(&file, text(&machine)).unwrap();
            let read = Machine::from_file(&file);
            std::fs::remove_file(&file).unwrap();
            assert_eq!(read.unwrap(), machine);
        }
    }
}
