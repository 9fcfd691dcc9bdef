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
use super::environment::{self, Content, Output, Settings, complain};
use crate::sync::Instant;
use crate::sync::plain::{Mutex, OnceLock, lock};
use crate::sync::thread;

/// The least time between two writes while the program runs.
const INTERVAL: Duration = Duration::from_secs(1);

/// Returns what the environment asks for; `None` if it asks for nothing. The first call starts the writing of the
/// files.
pub(super) fn settings() -> Option<&'static Settings> {
    static SETTINGS: OnceLock<Option<Settings>> = OnceLock::new();
    let settings = SETTINGS.get_or_init(|| {
        let settings = environment::read()?;
        collect::begin_with_program();
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

    if !super::at_exit(at_exit) {
        complain(
            "atexit failed: the trace is written only while the program runs, and not at its end",
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

/// Writes the files. Returns false if no further write should follow, because the process ends or a file cannot be
/// written.
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
    for output in &settings.files {
        // A device gets one trace, and not one after the other.
        if output.is_device && !is_last {
            continue;
        }
        if let Err(error) = write_file(output, &trace) {
            complain(&format!("cannot write {}: {error}", output.path.display()));
            *is_over = true;
        }
    }
    *is_over |= is_last;
    !*is_over
}

fn write_file(output: &Output, trace: &Trace) -> io::Result<()> {
    let write = |path: &Path| {
        let mut file = BufWriter::new(File::create(path)?);
        match output.content {
            Content::Events => trace.write_events(&mut file)?,
            Content::Report => trace.write_report(&mut file)?,
        }
        file.into_inner()?;
        Ok(())
    };
    if output.is_device {
        return write(&output.path);
    }
    let part = output.part();
    let written = write(&part).and_then(|()| std::fs::rename(&part, &output.path));
    if written.is_err() {
        // It may not exist.
        let _ = std::fs::remove_file(part);
    }
    written
}
