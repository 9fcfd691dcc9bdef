//! The programs that can be watched, and their snapshots.

use std::io::{self, ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use purloin_command::Failure;
use purloin_trace::live::{self, Snapshot};
use socket2::{Domain, SockAddr, Socket, Type};

use super::picture::clean;
use super::read::{ReadError, read};

/// How long a program may take to answer, on a machine with much else to do.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// How long each program may take to answer for a list of all programs.
const LIST_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum length of a snapshot, in bytes: far more than the largest pool takes.
const MAX_LENGTH: usize = 64 << 20;

/// A program that can be watched.
pub struct Program {
    pub pid: u32,
    socket: PathBuf,
}

/// The snapshot of a program, and when it was taken.
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

impl From<io::Error> for Lost {
    fn from(error: io::Error) -> Lost {
        match error.kind() {
            // Without the socket, or without a process that listens.
            ErrorKind::NotFound | ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset => {
                Lost::Ended
            }
            // A signal interrupts only a connection that waits for the program.
            ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Lost::Silent,
            _ => Lost::Io(error),
        }
    }
}

/// Reads up to the end of the stream.
fn read_all(mut stream: UnixStream, deadline: Instant) -> Result<Vec<u8>, Lost> {
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    while bytes.len() < MAX_LENGTH {
        // The timeout of the socket limits each read, and not their sum.
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Lost::Silent);
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => bytes.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == ErrorKind::Interrupted => (),
            Err(error) => return Err(error.into()),
        }
    }
    match bytes.is_empty() {
        true => Err(Lost::Silent),
        false => Ok(bytes),
    }
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
            match program.look(ANSWER_TIMEOUT) {
                Ok(_) => return Ok(program),
                Err(Lost::Ended) => (),
                Err(lost @ Lost::Silent) => return Err(Failure::Run(program.explain(&lost))),
                Err(lost) => return Err(Failure::Usage(program.explain(&lost))),
            }
        }
        Err(Failure::Usage(match (Process::of(pid), rejected) {
            (Process::Missing, _) => {
                format!("no process has the ID {pid}; {}", choice(&Program::all()))
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
        match programs.len() {
            1 => Ok(programs.swap_remove(0).0),
            _ => Err(Failure::Usage(choice(&programs))),
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
            match program.look(LIST_TIMEOUT) {
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

    /// Asks the program what it does, and waits until the whole answer is there, or until the timeout.
    pub fn look(&self, timeout: Duration) -> Result<Look, Lost> {
        let deadline = Instant::now() + timeout;
        let stream = self.connect(timeout)?;
        let time = Instant::now();
        let answer = read_all(stream, deadline)?;
        let snapshot = read(&String::from_utf8_lossy(&answer)).map_err(Lost::Read)?;
        Ok(Look { time, snapshot })
    }

    /// Connects to the program. If the program is stopped and its queue of connections is full, this takes as long as
    /// the timeout.
    fn connect(&self, timeout: Duration) -> Result<UnixStream, Lost> {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        // The timeout also limits the wait for a place in the queue, even if signals restart other system calls.
        socket.set_write_timeout(Some(timeout))?;
        socket.connect(&SockAddr::unix(&self.socket)?)?;
        Ok(OwnedFd::from(socket).into())
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
                    "program {pid} sends no snapshot: {}; is {} a socket of Purloin?",
                    clean(&error.to_string()),
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
fn choice(programs: &[(Program, String)]) -> String {
    let named = programs
        .iter()
        .map(|(program, name)| format!("{} ({})", program.pid, clean(name)));
    let named = named.collect::<Vec<_>>().join(", ");
    match programs.len() {
        0 => "no program can be watched; start one with PURLOIN_MONITOR=1".into(),
        1 => format!("the only program that can be watched is {named}"),
        _ => format!("choose one of the programs that can be watched: {named}"),
    }
}
