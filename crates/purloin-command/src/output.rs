//! Reports as JSON, to where the user wants them.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::{Failure, print_bytes};

/// Where the report goes.
pub struct Destination(Place);

enum Place {
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
struct Partial(PathBuf);

impl Drop for Partial {
    fn drop(&mut self) {
        // It is gone already if it was put in its place.
        let _ = fs::remove_file(&self.0);
    }
}

impl Destination {
    /// Makes sure that the report can be written there: to a file, or with `-` to
    /// standard output.
    ///
    /// # Errors
    ///
    /// If it cannot; what there was is left alone.
    pub fn open(given: &Path) -> Result<Destination, Failure> {
        if given == Path::new("-") {
            return Ok(Destination(Place::StandardOutput));
        }
        let cannot = |error: io::Error| {
            Failure::usage(format_args!(
                "cannot write {}: {error}; choose a file in a directory that you may write, or -",
                given.display()
            ))
        };
        // What a link points to is to be replaced, not the link.
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

    /// Whether that is standard output.
    pub fn is_standard_output(&self) -> bool {
        matches!(self.0, Place::StandardOutput)
    }

    /// Writes the report.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn write(self, report: &impl Serialize) -> Result<(), Failure> {
        let mut text = serde_json::to_string_pretty(report)
            .map_err(|error| Failure::Run(format!("cannot make the report: {error}")))?;
        text.push('\n');
        self.write_bytes(text.as_bytes())
    }

    /// Writes these bytes.
    ///
    /// # Errors
    ///
    /// If they cannot be written.
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
