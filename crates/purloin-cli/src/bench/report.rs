//! The results as JSON.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Cell;
use crate::Failure;
use crate::machine::Machine;

#[derive(Serialize)]
struct Report<'r> {
    machine: Machine,
    cells: Vec<CellReport<'r>>,
}

#[derive(Serialize)]
struct CellReport<'r> {
    kernel: &'r str,
    input: &'r str,
    scheduler: &'r str,
    workers: usize,
    seconds: &'r [f64],
    median_seconds: f64,
    vs_serial: f64,
    answer: &'r str,
    verified: bool,
    stats: StatsReport,
}

/// Counters of schedulers that do not count are left out.
#[derive(Serialize)]
struct StatsReport {
    tasks: u64,
    #[serde(flatten)]
    counted: Option<CountedReport>,
}

#[derive(Serialize)]
struct CountedReport {
    steals: u64,
    steal_attempts: u64,
    free_steals: u64,
    forced_steals: u64,
    leapfrogs: u64,
    publications: u64,
    sleeps: u64,
}

impl<'r> From<&'r Cell> for CellReport<'r> {
    fn from(cell: &'r Cell) -> Self {
        CellReport {
            kernel: cell.kernel,
            input: &cell.input,
            scheduler: &cell.scheduler,
            workers: cell.workers,
            seconds: &cell.seconds,
            median_seconds: cell.median(),
            vs_serial: cell.vs_serial,
            answer: &cell.answer,
            verified: cell.verified,
            stats: StatsReport {
                tasks: cell.tasks,
                counted: cell.stats.map(|stats| CountedReport {
                    steals: stats.steals,
                    steal_attempts: stats.steal_attempts,
                    free_steals: stats.free_steals,
                    forced_steals: stats.forced_steals,
                    leapfrogs: stats.leapfrogs,
                    publications: stats.publications,
                    sleeps: stats.sleeps,
                }),
            },
        }
    }
}

/// Where the report goes.
pub enum Destination {
    StandardOutput,
    /// Written beside the file and then put in its place, so that there is
    /// always either the old file or the whole new one.
    File {
        path: PathBuf,
        partial: PathBuf,
        file: File,
    },
}

impl Destination {
    /// Makes sure that the report can be written.
    pub fn open(path: &Path) -> Result<Destination, Failure> {
        if path == Path::new("-") {
            return Ok(Destination::StandardOutput);
        }
        let cannot = |error: io::Error| {
            Failure::usage(format_args!(
                "cannot write {}: {error}; give --json a file in a directory that you may write, or -",
                path.display()
            ))
        };
        if path.is_dir() {
            return Err(cannot(io::ErrorKind::IsADirectory.into()));
        }
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        let file = File::create(&partial).map_err(cannot)?;
        Ok(Destination::File {
            path: path.to_path_buf(),
            partial: partial.into(),
            file,
        })
    }

    pub fn is_standard_output(&self) -> bool {
        matches!(self, Destination::StandardOutput)
    }

    /// Writes the report.
    pub fn write(self, cells: &[Cell]) -> Result<(), Failure> {
        let report = Report {
            machine: Machine::this(),
            cells: cells.iter().map(CellReport::from).collect(),
        };
        let mut text = serde_json::to_string_pretty(&report)
            .map_err(|error| Failure::Run(format!("cannot make the report: {error}")))?;
        text.push('\n');
        let (written, name) = match self {
            Destination::StandardOutput => (
                io::stdout().write_all(text.as_bytes()),
                "standard output".to_string(),
            ),
            Destination::File {
                path,
                partial,
                mut file,
            } => (
                file.write_all(text.as_bytes())
                    .and_then(|()| file.sync_all())
                    .and_then(|()| fs::rename(&partial, &path)),
                path.display().to_string(),
            ),
        };
        written.map_err(|error| Failure::Run(format!("cannot write {name}: {error}")))
    }
}
