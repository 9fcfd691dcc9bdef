//! Writing reports: [`Destination`].

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::page::Page;
use crate::{Failure, print_bytes};

/// The place for a report: standard output, a stream or a file.
pub struct Destination(Place);

enum Place {
    StandardOutput,
    /// An existing path that is not a regular file, such as a pipe.
    Stream {
        path: PathBuf,
        file: File,
    },
    /// A regular file. The report is written to a partial file in the same directory, which then
    /// replaces it. So a reader finds either the old report or the whole new one.
    File {
        path: PathBuf,
        partial: Partial,
        file: File,
    },
}

/// The path of a partial file, which is removed unless it has replaced the report.
struct Partial(PathBuf);

impl Drop for Partial {
    fn drop(&mut self) {
        // This fails after a successful rename, because the file then has another name.
        let _ = fs::remove_file(&self.0);
    }
}

impl Destination {
    /// Opens a file for a report, or standard output if the path is `-`. An existing file keeps its
    /// contents until the report is written.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn open(given: &Path) -> Result<Destination, Failure> {
        if given == Path::new("-") {
            return Ok(Destination(Place::StandardOutput));
        }
        Destination::file(given, ", or - for standard output")
    }

    /// Opens a file. `other` completes the error message with another choice.
    fn file(given: &Path, other: &str) -> Result<Destination, Failure> {
        let cannot = |error: io::Error| {
            Failure::usage(format_args!(
                "cannot write {}: {error}; choose a file in a directory that you can write to{other}",
                given.display()
            ))
        };
        // Resolves links, so that the report replaces the target of a link and not the link itself.
        let path = fs::canonicalize(given).unwrap_or_else(|_| given.to_path_buf());
        match fs::metadata(&path) {
            Ok(there) if there.is_dir() => Err(cannot(io::ErrorKind::IsADirectory.into())),
            Ok(there) if !there.is_file() => {
                let file = File::options().write(true).open(&path).map_err(cannot)?;
                Ok(Destination(Place::Stream { path, file }))
            }
            _ => {
                let mut partial = path.as_os_str().to_owned();
                partial.push(format!(".{}.partial", std::process::id()));
                let partial = PathBuf::from(partial);
                let file = File::create_new(&partial).map_err(cannot)?;
                let partial = Partial(partial);
                Ok(Destination(Place::File {
                    path,
                    partial,
                    file,
                }))
            }
        }
    }

    /// Opens a file for a page in HTML, which cannot go to standard output.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn open_page(path: &Path) -> Result<Destination, Failure> {
        match path == Path::new("-") {
            true => Err(Failure::usage(
                "--html needs the name of a file; only --json writes to standard output",
            )),
            false => Destination::file(path, ""),
        }
    }

    /// Returns whether the report goes to standard output.
    pub fn is_standard_output(&self) -> bool {
        matches!(self.0, Place::StandardOutput)
    }

    /// Writes a report as JSON.
    ///
    /// # Errors
    ///
    /// Returns an error if the report cannot be written.
    pub fn write(self, report: &impl Serialize) -> Result<(), Failure> {
        let mut text = serde_json::to_string_pretty(report)
            .map_err(|error| Failure::Run(format!("cannot write the report as JSON: {error}")))?;
        text.push('\n');
        self.write_bytes(text.as_bytes())
    }

    /// Writes a report as a page in HTML.
    ///
    /// # Errors
    ///
    /// Returns an error if the page cannot be written.
    pub fn write_page(self, page: &Page) -> Result<(), Failure> {
        self.write_bytes(page.html().as_bytes())
    }

    /// Writes a report in another format.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes cannot be written.
    pub fn write_bytes(self, bytes: &[u8]) -> Result<(), Failure> {
        let named = |path: &Path| {
            let name = path.display().to_string();
            move |error: io::Error| Failure::Run(format!("cannot write {name}: {error}"))
        };
        match self.0 {
            Place::StandardOutput => print_bytes(bytes),
            Place::Stream { path, mut file } => file.write_all(bytes).map_err(named(&path)),
            Place::File {
                path,
                partial,
                mut file,
            } => file
                .write_all(bytes)
                .and_then(|()| file.sync_all())
                .and_then(|()| fs::rename(&partial.0, &path))
                .map_err(named(&path)),
        }
    }
}
