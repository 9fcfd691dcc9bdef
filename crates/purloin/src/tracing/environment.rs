//! What the environment asks for.

use std::fs::{File, FileType};
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;
use std::time::Duration;

use purloin_trace::Baseline;

use crate::sync::plain::OnceLock;

const WATCHDOG_VARIABLE: &str = "PURLOIN_WATCHDOG";
const MONITOR_VARIABLE: &str = "PURLOIN_MONITOR";
const COMPARE_VARIABLE: &str = "PURLOIN_COMPARE";
const EVENTS_VARIABLE: &str = "PURLOIN_TRACE_EVENTS";

/// What a file holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Events,
    Report,
}

/// The environment variables that name a file.
const VARIABLES: [(&str, Content); 2] = [
    ("PURLOIN_TRACE", Content::Events),
    ("PURLOIN_REPORT", Content::Report),
];

/// The least and the largest number of events for which a buffer has room.
pub(crate) const EVENTS: std::ops::RangeInclusive<usize> = 16..=1 << 30;

/// Number of events for each thread, if the environment does not say it.
const DEFAULT_EVENTS: usize = 1 << 16;

/// A file that the environment asks for.
pub(super) struct Output {
    /// The file, and not a link to it.
    pub(super) path: PathBuf,
    pub(super) content: Content,
    /// Whether this is a device, such as `/dev/null`.
    pub(super) is_device: bool,
}

impl Output {
    /// Returns the output with this path, if it can be written.
    fn open(path: PathBuf, content: Content) -> io::Result<Output> {
        let path = std::fs::canonicalize(&path).unwrap_or(path);
        let kind = std::fs::metadata(&path).map(|file| file.file_type());
        let is_device = match kind {
            Ok(kind) if is_character_device(kind) => true,
            Ok(kind) if !kind.is_file() => return Err(io::Error::other("this is not a file")),
            _ => false,
        };
        let output = Output {
            path,
            content,
            is_device,
        };
        if !is_device {
            // Now, and not when the program has run for an hour.
            File::create(output.part())?;
            std::fs::remove_file(output.part())?;
        }
        Ok(output)
    }

    /// Returns the name under which this process writes the file before it is renamed.
    pub(super) fn part(&self) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        name.into()
    }
}

#[cfg(unix)]
fn is_character_device(kind: FileType) -> bool {
    std::os::unix::fs::FileTypeExt::is_char_device(&kind)
}

#[cfg(not(unix))]
fn is_character_device(_: FileType) -> bool {
    false
}

/// What the environment asks for.
pub(super) struct Settings {
    /// The process that writes the files. A process that was forked from it does not.
    pub(super) process: u32,
    pub(super) files: Vec<Output>,
    /// Number of events for each thread.
    pub(super) events: usize,
    /// What the run to compare with took.
    pub(super) baseline: Option<Baseline>,
}

/// Reads the environment. A mistake is one line on standard error, and the program runs without the trace.
pub(super) fn read() -> Option<Settings> {
    if cfg!(any(loom, miri)) || is_privileged() {
        return None;
    }
    let mut files = Vec::new();
    for (variable, content) in VARIABLES {
        let Some(name) = std::env::var_os(variable).filter(|name| !name.is_empty()) else {
            continue;
        };
        let path = match name.to_str() {
            Some(name) => name.replace("%p", &std::process::id().to_string()).into(),
            None => PathBuf::from(name),
        };
        match Output::open(path.clone(), content) {
            Ok(output) => files.push(output),
            Err(error) => complain(&format!(
                "{variable}: cannot write {}: {error}",
                path.display()
            )),
        }
    }
    if files.is_empty() {
        return None;
    }
    let mut events = DEFAULT_EVENTS;
    if let Some(value) = std::env::var_os(EVENTS_VARIABLE) {
        match value.to_string_lossy().parse() {
            Ok(number) if EVENTS.contains(&number) => events = number,
            _ => complain(&format!(
                "{EVENTS_VARIABLE} must be a number of events from {} to {}, not {value:?}; using the default, {DEFAULT_EVENTS}",
                EVENTS.start(),
                EVENTS.end(),
            )),
        }
    }
    Some(Settings {
        process: std::process::id(),
        files,
        events,
        baseline: read_baseline(),
    })
}

/// Returns the time limit of the watchdog, if the environment sets one.
pub(crate) fn watchdog() -> Option<Duration> {
    static LIMIT: OnceLock<Option<Duration>> = OnceLock::new();
    *LIMIT.get_or_init(|| {
        let value = std::env::var_os(WATCHDOG_VARIABLE).filter(|value| !value.is_empty())?;
        let limit = duration(&value.to_string_lossy());
        if limit.is_none() {
            complain(&format!(
                "{WATCHDOG_VARIABLE} must be a time from 100ms to 1h, such as 10s, not {value:?}; the watchdog stays off"
            ));
        }
        limit
    })
}

/// Returns whether the environment asks for the monitor.
pub(crate) fn monitors() -> bool {
    static MONITORS: OnceLock<bool> = OnceLock::new();
    *MONITORS.get_or_init(|| {
        let value = std::env::var_os(MONITOR_VARIABLE).filter(|value| !value.is_empty());
        let Some(value) = value.filter(|_| !cfg!(any(loom, miri)) && !is_privileged()) else {
            return false;
        };
        let is_on = value == "1";
        if !is_on && value != "0" {
            complain(&format!(
                "{MONITOR_VARIABLE} must be 1, so that `purloin top` can watch this program, not {value:?}; the monitor stays off"
            ));
        }
        if is_on && !cfg!(unix) {
            complain(&format!(
                "{MONITOR_VARIABLE} needs Unix domain sockets, which this system does not have; the monitor stays off"
            ));
        }
        is_on && cfg!(unix)
    })
}

/// Returns whether anything looks at the pools while the program runs.
pub(crate) fn watches() -> bool {
    watchdog().is_some() || monitors()
}

/// Reads a time such as `10s`, `500ms` or `2m`.
fn duration(text: &str) -> Option<Duration> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
    let (number, unit) = text.split_at(digits);
    let seconds = match unit.trim() {
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    let seconds = number.parse::<f64>().ok()? * seconds;
    (0.1..=3600.0)
        .contains(&seconds)
        .then(|| Duration::from_secs_f64(seconds))
}

/// Reads the file of the run to compare with.
fn read_baseline() -> Option<Baseline> {
    let name = std::env::var_os(COMPARE_VARIABLE).filter(|name| !name.is_empty())?;
    let mut line = String::new();
    let read = File::open(&name).and_then(|file| BufReader::new(file).read_line(&mut line));
    if let Err(error) = read {
        complain(&format!(
            "{COMPARE_VARIABLE}: cannot read {}: {error}",
            name.display()
        ));
        return None;
    }
    let baseline = Baseline::read(&line);
    if baseline.is_none() {
        complain(&format!(
            "{COMPARE_VARIABLE}: {} is not a whole trace of a run; write one with PURLOIN_TRACE, and PURLOIN_TRACE_EVENTS if \
             events are lost",
            name.display()
        ));
    }
    baseline
}

/// Prints a line on standard error.
pub(crate) fn complain(message: &str) {
    print(&format!("purloin: {message}\n"));
}

/// Prints a text on standard error, without the lock that the program may hold.
#[cfg(unix)]
pub(crate) fn print(text: &str) {
    let mut left = text.as_bytes();
    while !left.is_empty() {
        // SAFETY: the pointer and the length are those of a slice.
        let written = unsafe { libc::write(libc::STDERR_FILENO, left.as_ptr().cast(), left.len()) };
        match usize::try_from(written) {
            Ok(written @ 1..) => left = &left[written..],
            _ if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => (),
            // The message is lost.
            _ => return,
        }
    }
}

/// Prints a text on standard error.
#[cfg(not(unix))]
pub(crate) fn print(text: &str) {
    // If this fails, the message is lost.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
}

/// Returns whether the process has more rights than its user. Then the user must not choose the files that it writes.
fn is_privileged() -> bool {
    #[cfg(target_os = "linux")]
    // SAFETY: the call has no conditions.
    return unsafe { libc::getauxval(libc::AT_SECURE) != 0 };
    #[cfg(not(target_os = "linux"))]
    false
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit_and_limits() {
        let times = ["10s", "500ms", "2m", "0.5 s", "1h"].map(duration);
        let expected = [10_000, 500, 120_000, 500, 3_600_000].map(Duration::from_millis);
        assert_eq!(times, expected.map(Some));
        for wrong in ["10", "s", "", "-1s", "1ms", "2h", "1e9s", "10 years"] {
            assert_eq!(duration(wrong), None, "{wrong}");
        }
    }
}
