//! Reading the reports of `purloin bench --json`: [`Bench`].

use std::path::Path;
use std::{fmt, fs};

use purloin_command::Failure;
use purloin_measure::bench::median;
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
    vs_serial: f64,
    /// Whether `vs_serial` compares with a sequential form in another language.
    #[serde(default)]
    own_baseline: bool,
    pub verified: bool,
    /// The median time of the serial elision in each report of this cell; empty with a baseline of its own.
    #[serde(skip)]
    pub serial: Vec<f64>,
}

impl Cell {
    /// Returns the kernel with its input.
    pub fn job(&self) -> String {
        format!("{}={}", self.kernel, self.input)
    }

    /// Returns whether the cell measures the serial elision.
    pub fn is_serial(&self) -> bool {
        self.scheduler == "serial"
    }

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
        let mut bench: Bench = serde_json::from_value(value)
            .map_err(|error| refuse(&format!("not a report of purloin bench: {error}")))?;
        let is_time = |time: &f64| time.is_finite() && *time > 0.0;
        for cell in &mut bench.cells {
            let problem = match !cell.seconds.is_empty() && cell.seconds.iter().all(is_time) {
                true if is_time(&cell.vs_serial) => None,
                true => Some("a vs_serial that is not above 0"),
                false => Some("no times"),
            };
            if let Some(problem) = problem {
                return Err(refuse(&format!(
                    "not a report of purloin bench: {}={} under {} has {problem}",
                    cell.kernel, cell.input, cell.scheduler
                )));
            }
            if !cell.own_baseline {
                cell.serial = vec![median(&cell.seconds) / cell.vs_serial];
            }
        }
        match bench.cells.is_empty() {
            true => Err(refuse("the report has no cells")),
            false => Ok(bench),
        }
    }
}
