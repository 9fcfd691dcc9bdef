//! Tests of the monitor, which tells `purloin top` what the pools do.
#![cfg(all(unix, not(miri)))]

use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{self, eventually, pool};
use purloin::Worker;

/// Makes an empty directory, with a short path: the path of a socket has little room.
fn directory(name: &str) -> PathBuf {
    let name = format!("purloin-{name}-{}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir(&directory).unwrap();
    directory
}

/// Runs the test `name` in a child process with the monitor, whose socket goes to `directory`. Returns its standard
/// error.
fn monitored(name: &str, directory: &Path, value: &str) -> String {
    let variables = [
        ("PURLOIN_MONITOR", value),
        ("XDG_RUNTIME_DIR", directory.to_str().unwrap()),
    ];
    let output = common::run_in_child(&format!("monitor::{name}"), &variables);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

/// Returns the socket of this child process.
fn socket() -> PathBuf {
    let directory = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let directory = directory.unwrap().join("purloin");
    directory.join(format!("{}.socket", std::process::id()))
}

fn snapshot() -> String {
    let mut line = String::new();
    let mut stream = UnixStream::connect(socket()).unwrap();
    stream.read_to_string(&mut line).unwrap();
    line
}

#[test]
fn a_monitor_says_what_blocks_a_worker() {
    if common::is_child() {
        let (pool, lock) = (pool(2), Mutex::new(()));
        let held = lock.lock().unwrap();
        let begun = AtomicUsize::new(0);
        let wait = || {
            purloin::span("update \"it\"", || {
                begun.fetch_add(1, Ordering::Relaxed);
                drop(lock.lock().unwrap());
            });
        };
        thread::scope(|scope| {
            scope.spawn(|| pool.run(|mut w| w.join(|_| wait(), |_| wait())));
            eventually("both closures run", || begun.load(Ordering::Relaxed) == 2);
            assert_eq!(mode(&socket()), 0o600);
            assert_eq!(mode(socket().parent().unwrap()), 0o700);
            if cfg!(target_os = "linux") {
                eventually("the pool is stuck", || snapshot().contains("\"stuck\":"));
                assert!(snapshot().contains("2 workers are blocked inside tasks"));
            }
            let line = snapshot();
            assert!(line.starts_with("{\"version\":1,\"program\":"), "{line}");
            assert!(line.contains("\"regular\":2,"), "{line}");
            assert_eq!(line.matches("\"does\":\"runs\"").count(), 2, "{line}");
            let spans = line.matches(r#""span":"update \"it\"""#);
            assert_eq!(spans.count(), 2, "{line}");
            assert!(line.contains("\"steals\":1,"), "{line}");
            drop(held);
        });
        drop(pool);
        assert!(snapshot().ends_with("\"pools\":[]}\n"));
        std::process::exit(0);
    }
    let directory = directory("blocked");
    let name = "a_monitor_says_what_blocks_a_worker";
    assert!(!monitored(name, &directory, "1").contains("purloin:"));
    // The process has ended by `exit`.
    assert_eq!(fs::read_dir(directory.join("purloin")).unwrap().count(), 0);
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_client_that_does_not_read_keeps_out_no_other() {
    if common::is_child() {
        // So many workers that the socket's buffers are too small for a snapshot.
        let pool = pool(600);
        let silent = UnixStream::connect(socket()).unwrap();
        let gone = UnixStream::connect(socket()).unwrap();
        drop(gone);
        let start = Instant::now();
        assert!(snapshot().ends_with("}\n"));
        assert!(start.elapsed() < Duration::from_secs(15));
        drop(silent);
        pool.run(|_| ());
        return;
    }
    let directory = directory("silent");
    let name = "a_client_that_does_not_read_keeps_out_no_other";
    monitored(name, &directory, "1");
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_program_makes_no_socket_unless_the_environment_asks_for_it() {
    if common::is_child() {
        pool(1).run(|_| ());
        assert!(!socket().exists());
        return;
    }
    let name = "a_program_makes_no_socket_unless_the_environment_asks_for_it";
    let directory = directory("none");
    for value in ["", "0"] {
        assert!(!monitored(name, &directory, value).contains("purloin:"));
        assert!(!directory.join("purloin").exists());
    }
    let text = monitored(name, &directory, "yes");
    assert!(text.contains("PURLOIN_MONITOR must be 1"), "{text}");
    // Other users could read it here, or have made it.
    let inner = directory.join("purloin");
    fs::create_dir(&inner).unwrap();
    fs::set_permissions(&inner, PermissionsExt::from_mode(0o755)).unwrap();
    let text = monitored(name, &directory, "1");
    assert!(text.contains("can be entered by other users"), "{text}");
    fs::rename(&inner, directory.join("other")).unwrap();
    fs::set_permissions(directory.join("other"), PermissionsExt::from_mode(0o700)).unwrap();
    symlink(directory.join("other"), &inner).unwrap();
    let text = monitored(name, &directory, "1");
    assert!(text.contains("is not a directory"), "{text}");
    assert_eq!(text.matches("purloin:").count(), 1, "{text}");
    fs::remove_dir_all(directory).unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn a_forked_process_leaves_the_socket_to_its_parent() {
    if common::is_child() {
        let pool = pool(1);
        // SAFETY: the child process only ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            std::process::exit(0);
        }
        let mut status = 1;
        // SAFETY: the pointer is to a local value.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(status, 0);
        assert!(snapshot().contains("\"regular\":1,"));
        drop(pool);
        return;
    }
    let directory = directory("forked");
    let name = "a_forked_process_leaves_the_socket_to_its_parent";
    monitored(name, &directory, "1");
    fs::remove_dir_all(directory).unwrap();
}
