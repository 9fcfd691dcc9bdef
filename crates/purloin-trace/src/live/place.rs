//! The directory of the sockets.
//!
//! Only the user may enter it. A program and `purloin top` both check that, because another user can create a directory
//! of that name in `/tmp`.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Returns the directories in which a program of this user may have made its socket. A program takes the first one.
///
/// A directory in `$XDG_RUNTIME_DIR` comes first, if that belongs to this user. (After `su`, it does not.) A directory
/// in the system's temporary directory follows. A reader looks at both, because not every program has the variable.
pub fn directories() -> Vec<PathBuf> {
    let user = user();
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let is_own = |path: &PathBuf| {
        path.is_absolute() && fs::metadata(path).is_ok_and(|metadata| metadata.uid() == user)
    };
    let runtime = runtime.filter(is_own).map(|path| path.join("purloin"));
    let temporary = std::env::temp_dir().join(format!("purloin-{user}"));
    runtime.into_iter().chain([temporary]).collect()
}

/// Makes the directory for this program's socket, or takes the one that exists.
///
/// # Errors
///
/// Returns an error if the directory cannot be made, or if others may enter it.
pub fn make_directory() -> io::Result<PathBuf> {
    let directory = directories().swap_remove(0);
    match DirBuilder::new().mode(0o700).create(&directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(in_place(&directory, error));
        }
        _ => (),
    }
    check_directory(&directory)?;
    Ok(directory)
}

/// Checks that a directory belongs to this user, and that others may not enter it.
///
/// # Errors
///
/// Returns an error that names the directory, with the kind [`NotFound`](io::ErrorKind::NotFound) if it does not exist.
pub fn check_directory(directory: &Path) -> io::Result<()> {
    // Not through a link, which another user may have made.
    let metadata = fs::symlink_metadata(directory).map_err(|error| in_place(directory, error))?;
    let problem = match metadata {
        ref metadata if !metadata.is_dir() => "is not a directory",
        ref metadata if metadata.uid() != user() => "belongs to another user",
        ref metadata if metadata.permissions().mode() & 0o077 != 0 => {
            "can be entered by other users"
        }
        _ => return Ok(()),
    };
    Err(io::Error::other(format!(
        "{} {problem}; remove it, or set XDG_RUNTIME_DIR to a directory of yours",
        directory.display()
    )))
}

fn in_place(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Returns the path of the socket of a process.
pub fn socket(directory: &Path, process: u32) -> PathBuf {
    directory.join(format!("{process}.socket"))
}

/// Returns the process to which a path from [`socket`] belongs.
pub fn process_of(socket: &Path) -> Option<u32> {
    let name = socket.file_name()?.to_str()?;
    name.strip_suffix(".socket")?.parse().ok()
}

fn user() -> u32 {
    // SAFETY: the call has no conditions.
    unsafe { libc::geteuid() }
}
