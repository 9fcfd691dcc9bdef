//! The programs that can be watched, and their snapshots.

use std::io::{self, ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use purloin_command::Failure;
use purloin_trace::live::{self, Snapshot};

use super::read::{ReadError, read};

/// How long a program may take to answer, on a machine with much else to do.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Maximum length of a snapshot, in bytes: far more than the largest pool takes.
const MAX_LENGTH: u64 = 64 << 20;

/// A program that can be watched.
pub struct Program {
    pub pid: u32,
    socket: PathBuf,
}

/// What a program does at a moment.
pub struct Look {
    pub time: Instant,
    pub snapshot: Snapshot,
}

/// Why a program gives no snapshot.
#[derive(Debug)]
pub enum Lost {
    /// It has ended.
    Ended,
    /// It does not answer. It may do so later.
    Silent,
    /// It answers in a way that this command does not understand.
    Read(ReadError),
    Io(io::Error),
}

/// Whether a process exists.
enum Process {
    Exists,
    OfOtherUser,
    Missing,
}

impl Process {
    fn of(pid: u32) -> Process {
        // SAFETY: signal 0 is sent to no process.
        let status = unsafe { libc::kill(pid as libc::pid_t, 0) };
        match status {
            0 => Process::Exists,
            _ if io::Error::last_os_error().raw_os_error() == Some(libc::EPERM) => {
                Process::OfOtherUser
            }
            _ => Process::Missing,
        }
    }
}

impl Program {
    /// Returns the program with this process ID.
    pub fn find(pid: u32) -> Result<Program, Failure> {
        let mut rejected = None;
        for directory in live::directories() {
            if let Err(error) = live::check_directory(&directory) {
                rejected = rejected.or((error.kind() != ErrorKind::NotFound).then_some(error));
                continue;
            }
            let socket = live::socket(&directory, pid);
            let program = Program { pid, socket };
            match program.look(PATIENCE) {
                Ok(_) => return Ok(program),
                Err(Lost::Ended) => (),
                Err(lost @ Lost::Silent) => return Err(Failure::Run(program.explain(&lost))),
                Err(lost) => return Err(Failure::Usage(program.explain(&lost))),
            }
        }
        Err(Failure::Usage(match (Process::of(pid), rejected) {
            (Process::Missing, _) => {
                format!("no process has the ID {pid}; {}", choice())
            }
            (Process::OfOtherUser, _) => {
                format!("process {pid} belongs to another user; only that user can watch it")
            }
            (Process::Exists, Some(error)) => format!("cannot look for process {pid}: {error}"),
            (Process::Exists, None) => format!(
                "process {pid} has no monitor; start it with PURLOIN_MONITOR=1 (the monitor begins with the first \
                 pool)"
            ),
        }))
    }

    /// Returns the program, if there is only one.
    pub fn the_only_one() -> Result<Program, Failure> {
        let mut programs = Program::all();
        match (programs.pop(), programs.is_empty()) {
            (Some((program, _)), true) => Ok(program),
            _ => Err(Failure::Usage(choice())),
        }
    }

    /// Returns all programs that can be watched, with their names. Removes the sockets of processes that were killed.
    fn all() -> Vec<(Program, String)> {
        let directories = live::directories().into_iter();
        let usable = directories.filter(|directory| live::check_directory(directory).is_ok());
        let sockets =
            usable.flat_map(|directory| std::fs::read_dir(directory).into_iter().flatten());
        let named = |entry: io::Result<std::fs::DirEntry>| {
            let socket = entry.ok()?.path();
            let pid = live::process_of(&socket)?;
            let program = Program { pid, socket };
            match program.look(PATIENCE) {
                Ok(look) => Some((program, look.snapshot.program)),
                Err(Lost::Ended) => {
                    if matches!(Process::of(pid), Process::Missing) {
                        // If it fails, the socket stays.
                        let _ = std::fs::remove_file(program.socket);
                    }
                    None
                }
                Err(_) => Some((program, "does not answer".into())),
            }
        };
        let mut programs: Vec<_> = sockets.filter_map(named).collect();
        programs.sort_by_key(|(program, _)| program.pid);
        programs
    }

    /// Asks the program what it does, and waits for the answer for as long as `patience`.
    pub fn look(&self, patience: Duration) -> Result<Look, Lost> {
        let has_ended = |error: io::Error| match error.kind() {
            // Without the socket, or without a process that listens.
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => Lost::Ended,
            _ => Lost::Io(error),
        };
        let stream = UnixStream::connect(&self.socket).map_err(has_ended)?;
        let time = Instant::now();
        stream.set_read_timeout(Some(patience)).map_err(Lost::Io)?;
        let mut line = String::new();
        match stream.take(MAX_LENGTH).read_to_string(&mut line) {
            Ok(0) => return Err(Lost::Silent),
            Ok(_) => (),
            Err(error) => {
                return Err(match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => Lost::Silent,
                    ErrorKind::ConnectionReset => Lost::Ended,
                    _ => Lost::Io(error),
                });
            }
        }
        let snapshot = read(&line).map_err(Lost::Read)?;
        Ok(Look { time, snapshot })
    }

    /// Explains in one line why there is no snapshot.
    pub fn explain(&self, lost: &Lost) -> String {
        let pid = self.pid;
        match lost {
            Lost::Ended => format!("program {pid} has ended"),
            Lost::Silent => format!(
                "program {pid} does not answer; if it was stopped, kill -CONT {pid} lets it go on"
            ),
            Lost::Read(ReadError::Version(version)) => format!(
                "program {pid} has version {version} of the monitor, and this command reads version {}; install the \
                 command of the same release as the library in the program",
                live::VERSION
            ),
            Lost::Read(ReadError::Syntax(error)) => {
                format!(
                    "program {pid} sends no snapshot: {error}; is {} a socket of Purloin?",
                    self.socket.display()
                )
            }
            Lost::Io(error) => format!(
                "cannot read from program {pid} at {}: {error}",
                self.socket.display()
            ),
        }
    }
}

/// Says which programs can be watched.
fn choice() -> String {
    let programs = Program::all();
    let named = programs
        .iter()
        .map(|(program, name)| format!("{} ({name})", program.pid));
    let named = named.collect::<Vec<_>>().join(", ");
    match programs.len() {
        0 => "no program can be watched; start one with PURLOIN_MONITOR=1".into(),
        1 => format!("the only program that can be watched is {named}"),
        _ => format!("choose one of the programs that can be watched: {named}"),
    }
}
