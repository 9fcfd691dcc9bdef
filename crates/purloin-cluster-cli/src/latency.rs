//! `purloin-cluster latency`: the time of a get from another rank, by size.

use std::path::PathBuf;
use std::time::Instant;

use purloin_cluster::{Cluster, GlobalArray};
use purloin_command::format::time;
use purloin_command::{Destination, Failure, Machine, print};
use serde::{Deserialize, Serialize};

/// Measures the time of a get from the last rank, by size.
///
/// A steal consists of a few such operations. They are one-sided: the other rank takes no part.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:
  mpirun -n 2 purloin-cluster latency

Source: AsynchWS, section IV.B (Figure 5).")]
pub struct Args {
    /// Write the result as JSON to a file, or to standard output with -
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
}

/// The measured times.
#[derive(Serialize, Deserialize)]
pub struct Latencies {
    pub ranks: usize,
    pub nodes: usize,
    pub gets: Vec<Get>,
}

/// The time of a get.
#[derive(Serialize, Deserialize)]
pub struct Get {
    pub bytes: usize,
    /// The median of many gets.
    pub seconds: f64,
}

/// The largest get, in bytes.
const LARGEST: usize = 64 << 10;

/// The number of gets of each size.
const GETS: usize = 1001;

/// Runs the subcommand. All ranks must call this function.
pub fn run(cluster: &Cluster, args: &Args) -> Result<(), Failure> {
    if cluster.ranks() < 2 {
        return Err(Failure::usage(
            "latency needs another rank; run it with mpirun -n 2",
        ));
    }
    let destination = match (cluster.rank(), &args.json) {
        (0, Some(path)) => Destination::open(path).map(Some),
        _ => Ok(None),
    };
    let is_open = cluster.all(destination.is_ok());
    let destination = destination?;
    if !is_open {
        // This rank is not rank 0. Rank 0 reports the reason.
        return Err(Failure::usage("rank 0 cannot write the report"));
    }
    let latencies = measure(cluster)?;
    if cluster.rank() > 0 {
        return Ok(());
    }
    match destination {
        Some(destination) => destination.write(&Report {
            machine: Machine::this(),
            latencies,
        }),
        None => print(&latencies.text()),
    }
}

/// The JSON report.
#[derive(Serialize)]
struct Report {
    machine: Machine,
    #[serde(flatten)]
    latencies: Latencies,
}

fn measure(cluster: &Cluster) -> Result<Latencies, Failure> {
    let ranks = cluster.ranks();
    let array = GlobalArray::<u8>::new(cluster, ranks * LARGEST, LARGEST)
        .map_err(|error| Failure::Run(error.to_string()))?;
    let mut gets = Vec::new();
    if cluster.rank() == 0 {
        let start = (ranks - 1) * LARGEST;
        let mut into = vec![0; LARGEST];
        let sizes = (3..).map(|power| 1 << power);
        for bytes in sizes.take_while(|&bytes| bytes <= LARGEST) {
            let mut times = Vec::with_capacity(GETS);
            for _ in 0..GETS {
                let begin = Instant::now();
                array.get(start, &mut into[..bytes]);
                times.push(begin.elapsed().as_secs_f64());
            }
            times.sort_by(f64::total_cmp);
            let seconds = times[GETS / 2];
            gets.push(Get { bytes, seconds });
        }
    }
    // The other ranks wait here, where MPI answers for them if it has to.
    cluster.barrier();
    Ok(Latencies {
        ranks,
        nodes: cluster.nodes(),
        gets,
    })
}

impl Latencies {
    /// Returns the times as text.
    pub fn text(&self) -> String {
        let mut text = format!("{:>8}  {:>10}\n", "bytes", "time");
        for Get { bytes, seconds } in &self.gets {
            text += &format!("{bytes:>8}  {:>10}\n", time(*seconds));
        }
        text
    }
}
