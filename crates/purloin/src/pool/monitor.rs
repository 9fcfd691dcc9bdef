//! The monitor: tells `purloin top` what the pools do.
//!
//! With the environment variable `PURLOIN_MONITOR=1`, a thread listens at a Unix domain socket in a
//! [directory](live::directories) that only the user may enter. To each connection it writes one
//! [snapshot](live::Snapshot), and closes it. It reads nothing, so no request can be wrong, and no client can hold it
//! up by sending none. A client that does not read loses its connection after [`SEND_TIMEOUT`].
//!
//! The socket is removed when the process ends by returning from `main` or by [`std::process::exit`]. A process that
//! was killed leaves its socket, and the next process with its number replaces it.

use std::fs::{self, Permissions};
use std::io;
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use purloin_trace::live;

use super::watched::{self, Progress};
use crate::sync::plain::{AtomicBool, Once, OnceLock, Ordering};
use crate::sync::{Instant, thread};
use crate::tracing::environment::{complain, monitors};
use crate::tracing::{at_exit, is_forked, program};

/// How long a client may take to read a snapshot.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// The pause after a connection that failed, because the program has no file descriptor left for example.
const PAUSE: Duration = Duration::from_millis(100);

/// The least time without progress that a snapshot mentions.
const STUCK: Duration = Duration::from_millis(100);

/// The socket of this process.
static SOCKET: OnceLock<PathBuf> = OnceLock::new();

/// Starts the monitor, if the environment asks for it and it does not run.
pub(super) fn start() {
    static STARTED: Once = Once::new();
    if monitors() {
        STARTED.call_once(|| {
            if let Err(error) = try_to_start() {
                complain(&format!("PURLOIN_MONITOR: {error}"));
            }
        });
    }
}

fn try_to_start() -> io::Result<()> {
    let path = live::socket(&live::make_directory()?, std::process::id());
    let listener = listen(&path)
        .map_err(|error| io::Error::other(format!("cannot make {}: {error}", path.display())))?;
    SOCKET.get_or_init(|| path);
    if !at_exit(remove_socket) {
        complain("atexit failed: the socket of PURLOIN_MONITOR stays when the program ends");
    }
    let thread = thread::Builder::new().name("purloin-monitor".into());
    thread.spawn(move || serve(listener)).map_err(|error| {
        remove_socket();
        io::Error::other(format!("cannot start a thread: {error}"))
    })?;
    Ok(())
}

/// Makes the socket. It replaces that of a process that had this number and was killed. No client sees it before it
/// listens and only this user may connect.
fn listen(path: &Path) -> io::Result<&'static UnixListener> {
    let new = path.with_extension("new");
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => (),
    }
    let listener = UnixListener::bind(&new)?;
    let listener = LISTENER.get_or_init(|| listener);
    let made = fs::set_permissions(&new, Permissions::from_mode(0o600))
        .and_then(|()| fs::rename(&new, path));
    if made.is_err() {
        let _ = fs::remove_file(&new);
    }
    made.map(|()| listener)
}

/// The socket of this process. It stays open until the process ends.
static LISTENER: OnceLock<UnixListener> = OnceLock::new();

/// Closes the socket in a process that was forked, which does not answer.
pub(super) fn close_in_child() {
    static IS_CLOSED: AtomicBool = AtomicBool::new(false);
    if let Some(listener) = LISTENER.get()
        && !IS_CLOSED.swap(true, Ordering::Relaxed)
    {
        // SAFETY: in this process, no code uses the descriptor again: the monitor's thread is not there, the listener is
        // never dropped, `start` does not make another one, and a process that is forked from this one sees the flag.
        unsafe { libc::close(listener.as_raw_fd()) };
    }
}

extern "C" fn remove_socket() {
    // A forked process leaves it to its parent. If the directory is gone, so is the socket.
    if let Some(path) = SOCKET.get().filter(|_| !is_forked()) {
        let _ = fs::remove_file(path);
    }
}

fn serve(listener: &UnixListener) {
    let mut progress = Progress::default();
    loop {
        match listener.accept() {
            Ok((client, _)) if is_of_this_user(&client) => {
                // A client that is gone or does not read misses the snapshot.
                let _ = send(&client, snapshot(&mut progress).to_line().as_bytes());
                // Also if a process that was forked in between has the connection, too.
                let _ = client.shutdown(Shutdown::Both);
            }
            Ok(_) => (),
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

/// Returns what all pools do at this moment.
fn snapshot(progress: &mut Progress) -> live::Snapshot {
    let pools = watched::map(|pool| {
        let state = pool.state();
        let totals = pool.with_totals(&state);
        (state, totals)
    });
    let (states, mut pools): (Vec<_>, Vec<_>) = pools.into_iter().unzip();
    let times = progress.look(&states);
    for ((pool, state), time) in pools.iter_mut().zip(&states).zip(times) {
        pool.stuck = (state.is_busy() && time >= STUCK).then(|| live::Stuck {
            nanoseconds: time.as_nanos() as u64,
            reason: state.likely_reason(),
        });
    }
    live::Snapshot {
        program: program(),
        process: std::process::id(),
        pools,
    }
}

/// Writes everything, or gives up after [`SEND_TIMEOUT`].
fn send(client: &UnixStream, mut bytes: &[u8]) -> io::Result<()> {
    // Not `Write::write`, which would end a program that does not ignore SIGPIPE.
    #[cfg(not(target_vendor = "apple"))]
    const FLAGS: libc::c_int = libc::MSG_NOSIGNAL;
    #[cfg(target_vendor = "apple")]
    const FLAGS: libc::c_int = 0;

    #[cfg(target_vendor = "apple")]
    set_no_sigpipe(client)?;
    let start = Instant::now();
    while !bytes.is_empty() {
        let left = SEND_TIMEOUT.saturating_sub(start.elapsed());
        // An error if no time is left.
        client.set_write_timeout(Some(left))?;
        let (fd, data) = (client.as_raw_fd(), bytes.as_ptr().cast());
        // SAFETY: the pointer and the length are those of a slice, and `client` owns the descriptor.
        match unsafe { libc::send(fd, data, bytes.len(), FLAGS) } {
            sent @ 1.. => bytes = &bytes[sent as usize..],
            _ => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
    Ok(())
}

/// Lets a client that is gone cause an error, and not a signal.
#[cfg(target_vendor = "apple")]
fn set_no_sigpipe(client: &UnixStream) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the pointer is to a local value of the size that the option has.
    let status = unsafe {
        libc::setsockopt(
            client.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NOSIGPIPE,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    match status {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns whether a client belongs to the program's user, or is the superuser. The directory lets no other in, but the
/// program may have opened it since.
#[cfg(target_os = "linux")]
fn is_of_this_user(client: &UnixStream) -> bool {
    let mut peer = libc::ucred {
        pid: 0,
        uid: u32::MAX,
        gid: u32::MAX,
    };
    let mut size = size_of_val(&peer) as libc::socklen_t;
    // SAFETY: the pointers are to local values of the sizes that the option has.
    let failed = unsafe {
        libc::getsockopt(
            client.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut size,
        )
    } != 0;
    // SAFETY: the call has no conditions.
    !failed && (peer.uid == 0 || peer.uid == unsafe { libc::geteuid() })
}

/// The directory lets no other user in.
#[cfg(not(target_os = "linux"))]
fn is_of_this_user(_: &UnixStream) -> bool {
    true
}
