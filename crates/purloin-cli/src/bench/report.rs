//! The results as JSON.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Cell;
use crate::machine::Machine;
use crate::{Failure, print};

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
    spread: f64,
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
            vs_serial: cell.vs_serial(),
            spread: cell.spread(),
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
    /// What is there and is no regular file, such as a pipe.
    Stream {
        path: PathBuf,
        file: File,
    },
    /// Written beside the file and then put in its place, so that there is
    /// always either the old file or the whole new one.
    File {
        path: PathBuf,
        partial: Partial,
        file: File,
    },
}

/// A file that is removed unless it becomes the report.
pub struct Partial(PathBuf);

impl Drop for Partial {
    fn drop(&mut self) {
        // It is gone already if it was put in its place.
        let _ = fs::remove_file(&self.0);
    }
}

impl Destination {
    /// Makes sure that the report can be written.
    pub fn open(given: &Path) -> Result<Destination, Failure> {
        if given == Path::new("-") {
            return Ok(Destination::StandardOutput);
        }
        let cannot = |error: io::Error| {
            Failure::usage(format_args!(
                "cannot write {}: {error}; give --json a file in a directory that you may write, or -",
                given.display()
            ))
        };
        // What a link points to is to be replaced, not the link.
        let path = fs::canonicalize(given).unwrap_or_else(|_| given.to_path_buf());
        match fs::metadata(&path) {
            Ok(there) if there.is_dir() => Err(cannot(io::ErrorKind::IsADirectory.into())),
            Ok(there) if !there.is_file() => {
                let file = File::options().write(true).open(&path).map_err(cannot)?;
                Ok(Destination::Stream { path, file })
            }
            _ => {
                let mut partial = path.as_os_str().to_owned();
                partial.push(format!(".{}.partial", std::process::id()));
                let partial = PathBuf::from(partial);
                let file = File::create_new(&partial).map_err(cannot)?;
                let partial = Partial(partial);
                Ok(Destination::File {
                    path,
                    partial,
                    file,
                })
            }
        }
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
        let named = |path: &Path| {
            let name = path.display().to_string();
            move |error: io::Error| Failure::Run(format!("cannot write {name}: {error}"))
        };
        match self {
            Destination::StandardOutput => print(&text),
            Destination::Stream { path, mut file } => {
                file.write_all(text.as_bytes()).map_err(named(&path))
            }
            Destination::File {
                path,
                partial,
                mut file,
            } => file
                .write_all(text.as_bytes())
                .and_then(|()| file.sync_all())
                .and_then(|()| fs::rename(&partial.0, &path))
                .map_err(named(&path)),
        }
    }
}
