//! `purloin top`.
#![allow(missing_docs)]
#![cfg(unix)]

mod common;

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::json;

/// A directory for sockets, with a short path, and a program that can be watched.
struct Watched {
    directory: PathBuf,
    program: Child,
}

impl Watched {
    fn new(name: &str) -> Watched {
        let directory = directory(name);
        let mut program = Command::new(env!("CARGO_BIN_EXE_purloin"))
            .args(["bench", "--kernel", "fib=48", "--workers", "2"])
            .args(["--scheduler", "return-barrier", "--runs", "100"])
            .env("PURLOIN_MONITOR", "1")
            .env("XDG_RUNTIME_DIR", &directory)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let socket = directory.join(format!("purloin/{}.socket", program.id()));
        let start = Instant::now();
        while !socket.exists() {
            let ended = program.try_wait().unwrap();
            let in_time = start.elapsed() < Duration::from_secs(60);
            assert!(in_time && ended.is_none(), "no socket; ended: {ended:?}");
            thread::sleep(Duration::from_millis(20));
        }
        Watched { directory, program }
    }

    fn pid(&self) -> String {
        self.program.id().to_string()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn directory(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("purloin-top-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir(&directory).unwrap();
    directory
}

/// Makes the directory of the sockets in a directory from [`directory`]. Returns the path of this process's socket.
fn own_socket(directory: &Path) -> PathBuf {
    let inner = directory.join("purloin");
    fs::create_dir(&inner).unwrap();
    fs::set_permissions(&inner, PermissionsExt::from_mode(0o700)).unwrap();
    inner.join(format!("{}.socket", std::process::id()))
}

/// Runs `purloin top` with these arguments.
fn top(directory: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_purloin"));
    command.arg("top").args(args);
    command
        .env("XDG_RUNTIME_DIR", directory)
        .env("TMPDIR", directory);
    command.output().unwrap()
}

/// Checks that `purloin top` ends with one line on standard error and this status; returns the line.
fn refusal(directory: &Path, args: &[&str]) -> String {
    let output = top(directory, args);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
    assert_eq!(text.trim_end().lines().count(), 1, "{args:?}: {text}");
    assert!(output.stdout.is_empty());
    text
}

#[test]
fn the_figures_of_an_interval_show_a_running_program() {
    let watched = Watched::new("interval");
    let pid = watched.pid();
    // Standard output is no terminal. The only program needs no PID.
    for args in [
        &[&pid, "--once", "--interval", "0.3"][..],
        &["--interval", "0.3"],
    ] {
        let output = top(&watched.directory, args);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}");
        assert!(
            text.starts_with(&format!("purloin  process {pid}, ")),
            "{text}"
        );
        assert!(text.contains(", idle "), "{text}");
        assert!(text.contains(" R runs "), "{text}");
    }
    let report = json(&top(
        &watched.directory,
        &[&pid, "--json", "-", "--interval", "0.3"],
    ));
    assert_eq!(report["pid"].to_string(), pid);
    let workers = report["pools"][0]["workers"].as_array().unwrap();
    assert!(!workers.is_empty());
    for worker in workers {
        let shares = worker["shares"].as_object().unwrap().values();
        let sum: f64 = shares.map(|share| share.as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 0.01, "{worker}");
    }
}

#[test]
fn mistakes_get_one_line_each() {
    let mut watched = Watched::new("mistakes");
    let (directory, pid) = (watched.directory.clone(), watched.pid());
    let own = std::process::id().to_string();
    let text = refusal(&directory, &[&own]);
    assert!(text.contains("start it with PURLOIN_MONITOR=1"), "{text}");
    let text = refusal(&directory, &["2147483647"]);
    let expected = format!(
        "no process has the ID 2147483647; the only program that can be watched is {pid} (purloin)"
    );
    assert!(text.contains(&expected), "{text}");
    // The superuser may watch it, but it has no monitor.
    let text = refusal(&directory, &["1"]);
    assert!(
        text.contains("belongs to another user") || text.contains("no monitor"),
        "{text}"
    );
    assert!(refusal(&directory, &["0"]).contains("not in 1..="));
    assert!(refusal(&directory, &["fib"]).contains("invalid value 'fib'"));
    let text = refusal(&directory, &["--interval", "0"]);
    assert!(
        text.contains("a number of seconds from 0.1 to 3600"),
        "{text}"
    );

    let text = refusal(&directory, &["--once", "--json", "-"]);
    assert!(text.contains("cannot be used with"), "{text}");

    let socket = directory.join(format!("purloin/{own}.socket"));
    let listener = UnixListener::bind(&socket).unwrap();
    let other = thread::spawn(move || {
        for line in [r#"{"version":99}"#, "hello"] {
            let (mut client, _) = listener.accept().unwrap();
            client.write_all(line.as_bytes()).unwrap();
        }
    });
    let text = refusal(&directory, &[&own]);
    assert!(
        text.contains("version 99 of the monitor, and this command reads version 1"),
        "{text}"
    );
    let text = refusal(&directory, &[&own]);
    assert!(text.contains("sends no snapshot"), "{text}");
    other.join().unwrap();

    // The program is killed, and its socket stays until `purloin top` lists the programs.
    let socket = directory.join(format!("purloin/{pid}.socket"));
    watched.program.kill().unwrap();
    watched.program.wait().unwrap();
    assert!(socket.exists());
    let text = refusal(&directory, &[&pid]);
    let expected = "; no program can be watched; start one with PURLOIN_MONITOR=1";
    assert!(text.contains(expected), "{text}");
    assert!(!socket.exists());
    assert!(refusal(&directory, &[]).contains("no program can be watched"));

    let inner = directory.join("purloin");
    fs::set_permissions(inner, PermissionsExt::from_mode(0o755)).unwrap();
    let text = refusal(&directory, &[&own]);
    assert!(text.contains("can be entered by other users"), "{text}");
}

#[test]
fn the_name_of_a_program_does_not_act_on_the_terminal() {
    let directory = directory("name");
    let listener = UnixListener::bind(own_socket(&directory)).unwrap();
    let program = thread::spawn(move || {
        let line = r#"{"version":1,"program":"a\u001b[31mb","process":7,"pools":[]}"#;
        // A list for each command, and two snapshots for the figures.
        for _ in 0..4 {
            let (mut client, _) = listener.accept().unwrap();
            client.write_all(line.as_bytes()).unwrap();
        }
    });
    let text = refusal(&directory, &["2147483647"]);
    assert!(text.contains("(a?[31mb)"), "{text}");
    let output = top(&directory, &["--interval", "0.1"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("a?[31mb  process 7"), "{text}");
    program.join().unwrap();
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn an_answer_that_never_ends_is_given_up() {
    let directory = directory("endless");
    let listener = UnixListener::bind(own_socket(&directory)).unwrap();
    let program = thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        while client.write_all(b" ").is_ok() {
            thread::sleep(Duration::from_millis(200));
        }
    });
    let pid = std::process::id().to_string();
    let output = top(&directory, &[&pid, "--once"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("does not answer"), "{text}");
    program.join().unwrap();
    fs::remove_dir_all(directory).unwrap();
}

/// The program accepts no connection, and its queue is full, so that another connection waits for a place.
#[test]
#[cfg(target_os = "linux")]
fn a_stopped_program_does_not_stop_top() {
    use socket2::{Domain, SockAddr, Socket, Type};

    let directory = directory("stopped");
    let address = SockAddr::unix(own_socket(&directory)).unwrap();
    let new = || Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
    let program = new();
    program.bind(&address).unwrap();
    program.listen(1).unwrap();
    let mut clients = Vec::new();
    loop {
        let client = new();
        client.set_nonblocking(true).unwrap();
        match client.connect(&address) {
            Ok(()) => clients.push(client),
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
                break;
            }
        }
    }
    let pid = std::process::id().to_string();
    let start = Instant::now();
    let output = top(&directory, &[&pid, "--once"]);
    assert!(start.elapsed() < Duration::from_secs(30));
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("does not answer"), "{text}");
    fs::remove_dir_all(directory).unwrap();
}
