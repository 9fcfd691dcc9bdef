//! Reading the reports of `purloin bench --json`: [`Bench`].

use std::path::Path;
use std::{fmt, fs};

use purloin_command::Failure;
use serde::Deserialize;

/// A report of `purloin bench`.
#[derive(Deserialize)]
pub struct Bench {
    pub machine: Machine,
    pub cells: Vec<Cell>,
}

/// The machine of a report.
#[derive(Deserialize)]
pub struct Machine {
    pub processor: String,
    pub cores: usize,
    pub architecture: String,
    pub system: String,
    pub purloin: String,
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine {
            processor,
            cores,
            architecture,
            system,
            purloin,
        } = self;
        write!(
            f,
            "{processor}, {cores} cores, {architecture} {system}, Purloin {purloin}"
        )
    }
}

/// A cell of a report.
#[derive(Deserialize)]
pub struct Cell {
    pub kernel: String,
    pub input: String,
    pub scheduler: String,
    pub workers: usize,
    /// The time of each run.
    pub seconds: Vec<f64>,
    /// The median time divided by that of the serial elision.
    pub vs_serial: f64,
    pub verified: bool,
}

impl Cell {
    /// Returns whether both cells measure the same.
    pub fn is_like(&self, other: &Cell) -> bool {
        (&self.kernel, &self.input) == (&other.kernel, &other.input)
            && (&self.scheduler, self.workers) == (&other.scheduler, other.workers)
    }
}

/// Returns the bytes of a file.
pub fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| Failure::in_file(path, error))
}

impl Bench {
    /// Reads a report.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Bench, Failure> {
        let refuse = |what: &str| {
            let way_out = "write a report with purloin bench --json FILE";
            Failure::in_file(path, format_args!("{what}; {way_out}"))
        };
        let value: serde_json::Value =
            serde_json::from_slice(bytes).map_err(|error| refuse(&format!("not JSON: {error}")))?;
        let bench: Bench = serde_json::from_value(value)
            .map_err(|error| refuse(&format!("not a report of purloin bench: {error}")))?;
        let is_time = |time: &f64| time.is_finite() && *time > 0.0;
        match bench
            .cells
            .iter()
            .find(|cell| cell.seconds.is_empty() || !cell.seconds.iter().all(is_time))
        {
            Some(cell) => Err(refuse(&format!(
                "not a report of purloin bench: {}={} under {} has no times",
                cell.kernel, cell.input, cell.scheduler
            ))),
            None if bench.cells.is_empty() => Err(refuse("the report has no cells")),
            None => Ok(bench),
        }
    }
}
