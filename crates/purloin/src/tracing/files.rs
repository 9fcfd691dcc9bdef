//! The files that the environment asks for, and when they are written.
//!
//! `PURLOIN_TRACE=FILE` asks for the events, `PURLOIN_REPORT=FILE` for the report. `%p` in a name stands for the
//! number of the process. `PURLOIN_COMPARE=FILE` names a file of events of another run, with which the verdict
//! compares this one. A file is written when the process ends by returning from `main` or by [`std::process::exit`].
//! A process may also be killed, so a thread writes the files periodically. Each time takes at most a hundredth of
//! the time since the last one. (On Windows, `std::process::exit` ends the process without a last write.) A file is
//! written under another name first, and then renamed, so it is whole whenever it is read.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::time::Duration;

use purloin_trace::Trace;

use super::collect::{self, collect_all};
use super::environment::{self, Content, Settings, complain, part_file};
use crate::sync::Instant;
use crate::sync::plain::{Mutex, OnceLock, lock};
use crate::sync::thread;

/// The least time between two writes while the program runs.
const INTERVAL: Duration = Duration::from_secs(1);

/// Returns what the environment asks for; `None` if it asks for nothing. From the first call on, the files are written.
pub(super) fn settings() -> Option<&'static Settings> {
    static SETTINGS: OnceLock<Option<Settings>> = OnceLock::new();
    let settings = SETTINGS.get_or_init(|| {
        let settings = environment::read()?;
        collect::begin();
        write_at_exit();
        write_periodically();
        Some(settings)
    });
    settings.as_ref()
}

/// Writes the files when the process ends.
fn write_at_exit() {
    extern "C" fn at_exit() {
        // A panic must not leave this function. A bug in the trace must not change how the program ends.
        let _ = std::panic::catch_unwind(|| write_files(true));
    }

    unsafe extern "C" {
        fn atexit(function: extern "C" fn()) -> std::ffi::c_int;
    }

    // SAFETY: every C library has this function, and `at_exit` does not unwind.
    let failed = unsafe { atexit(at_exit) } != 0;
    if failed {
        complain(
            "the trace is written while the program runs, but not at its end: atexit has failed",
        );
    }
}

/// Starts the thread that writes the files while the program runs.
fn write_periodically() {
    let write = || {
        let mut pause = INTERVAL;
        loop {
            thread::sleep(pause);
            let begin = Instant::now();
            if !write_files(false) {
                return;
            }
            pause = INTERVAL.max(100 * begin.elapsed());
        }
    };
    let started = thread::Builder::new()
        .name("purloin-trace".into())
        .spawn(write);
    if let Err(error) = started {
        complain(&format!(
            "the trace is written only when the program ends: {error}"
        ));
    }
}

/// Writes the files. Returns false if that is over, because the process ends or a file cannot be written.
fn write_files(is_last: bool) -> bool {
    static IS_OVER: Mutex<bool> = Mutex::new(false);
    let Some(settings) = settings() else {
        return false;
    };
    if settings.process != std::process::id() {
        return false;
    }
    let mut is_over = lock(&IS_OVER);
    if *is_over {
        return false;
    }
    let trace = collect_all(settings.baseline);
    for (path, content) in &settings.files {
        if let Err(error) = write_file(path, *content, &trace) {
            complain(&format!("cannot write {}: {error}", path.display()));
            *is_over = true;
        }
    }
    *is_over |= is_last;
    !*is_over
}

fn write_file(path: &Path, content: Content, trace: &Trace) -> io::Result<()> {
    // A pipe or a device must not be replaced.
    let is_special = std::fs::metadata(path).is_ok_and(|file| !file.is_file());
    let part = if is_special {
        path.to_path_buf()
    } else {
        part_file(path)
    };
    let mut file = BufWriter::new(File::create(&part)?);
    match content {
        Content::Events => trace.write_events(&mut file)?,
        Content::Report => trace.write_report(&mut file)?,
    }
    file.into_inner()?;
    if is_special {
        return Ok(());
    }
    // If the path is a link, its target is replaced.
    let target = std::fs::canonicalize(path);
    std::fs::rename(part, target.as_deref().unwrap_or(path))
}
