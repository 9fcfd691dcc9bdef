//! Tests the test: breaks a copy of the library in known ways, one after the other, and expects a failure.
//!
//! The faults are in `faults.toml`. Each replaces a piece of text that occurs once in its file.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::arguments::FaultOptions;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Faults {
    fault: Vec<Fault>,
}

/// One way to break the library.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fault {
    name: String,
    /// The file, from the root of the repository.
    file: String,
    /// A piece of its text that occurs once.
    find: String,
    replace: String,
    /// The effect of the fault, in a sentence.
    breaks: String,
    /// Whether only a library that sleeps with time limits shows it.
    #[serde(default)]
    timed: bool,
    /// The scheduler that has the fault, unless it is the default one.
    scheduler: Option<String>,
}

/// The end of a search for a fault.
enum Verdict {
    Found { seconds: f64, how: String },
    NotFound,
}

/// The folder of this crate, in the repository.
const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// Looks for the faults, and prints a table. Returns false if one is not found.
///
/// # Errors
///
/// Returns what is wrong with the list of faults, or why nothing can be built.
pub fn run(options: &FaultOptions) -> Result<bool, String> {
    let text = include_str!("../faults.toml");
    let faults: Faults = toml::from_str(text).map_err(|error| format!("faults.toml: {error}"))?;
    let is_chosen = |fault: &&Fault| options.name.as_ref().is_none_or(|name| fault.name == *name);
    let chosen: Vec<_> = faults.fault.iter().filter(is_chosen).collect();
    if chosen.is_empty() {
        let names: Vec<_> = faults.fault.iter().map(|fault| &*fault.name).collect();
        let name = options.name.as_deref().unwrap_or_default();
        return Err(format!(
            "no fault '{name}'; the faults are {}",
            names.join(", ")
        ));
    }
    let root = Path::new(CRATE)
        .ancestors()
        .nth(2)
        .expect("the crate is in a repository");
    let copy = root.join("target/faults/source");
    copy_tracked_files(root, &copy)?;
    let mut missed = 0;
    println!("{:36} {:>9}  how it showed", "fault", "found in");
    for fault in chosen {
        let verdict = look_for(fault, root, &copy, options.limit);
        match verdict? {
            Verdict::Found { seconds, how } => println!("{:36} {seconds:7.1} s  {how}", fault.name),
            Verdict::NotFound => {
                missed += 1;
                println!("{:36} {:>9}  {}", fault.name, "not found", fault.breaks);
            }
        }
    }
    println!("{missed} faults were not found");
    Ok(missed == 0)
}

/// Breaks the copy, builds it, and runs programs on it until one fails. Then mends the copy.
fn look_for(fault: &Fault, root: &Path, copy: &Path, limit: Duration) -> Result<Verdict, String> {
    let place = copy.join(&fault.file);
    let original = read(&place)?;
    let count = original.matches(&fault.find).count();
    if count != 1 {
        let (name, file) = (&fault.name, &fault.file);
        return Err(format!(
            "the text of fault {name} occurs {count} times in {file}, not once"
        ));
    }
    let mut copy_is_broken = Broken {
        place: place.clone(),
        original,
    };
    write(
        &place,
        &copy_is_broken.original.replace(&fault.find, &fault.replace),
    )?;
    let program = build(fault, root, copy)?;
    let start = Instant::now();
    let mut command = Command::new(program);
    command.args(["--hunt", "--from=1"]).stderr(Stdio::null());
    command.arg(format!("--hours={}", limit.as_secs_f64() / 3600.0));
    command.args(
        fault
            .scheduler
            .iter()
            .map(|scheduler| format!("--scheduler={scheduler}")),
    );
    let output = command
        .output()
        .map_err(|error| format!("the broken program does not start: {error}"))?;
    let seconds = start.elapsed().as_secs_f64();
    copy_is_broken.mend()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let how = text.lines().next().unwrap_or_default().to_string();
    match output.status.code() {
        Some(0) => Ok(Verdict::NotFound),
        Some(1) if !how.is_empty() => Ok(Verdict::Found { seconds, how }),
        _ => Err(format!(
            "the search for fault {} ended by itself: {}",
            fault.name, output.status
        )),
    }
}

/// A file of the copy that has a fault. Mended when this is dropped.
struct Broken {
    place: PathBuf,
    original: String,
}

impl Broken {
    fn mend(&mut self) -> Result<(), String> {
        write(&self.place, &self.original)
    }
}

impl Drop for Broken {
    fn drop(&mut self) {
        let _ = self.mend();
    }
}

/// Builds the copy as this program was built. Returns the program.
fn build(fault: &Fault, root: &Path, copy: &Path) -> Result<PathBuf, String> {
    let target = root.join(match fault.timed {
        true => "target/faults/timed",
        false => "target/faults/build",
    });
    let mut command = Command::new("cargo");
    command.current_dir(copy).env("CARGO_TARGET_DIR", &target);
    command.args([
        "build",
        "--quiet",
        "--profile",
        "torture",
        "--package",
        "purloin-torture",
    ]);
    if fault.scheduler.is_none() {
        command.arg("--no-default-features");
    }
    let mut flags = String::new();
    if cfg!(purloin_virtual) {
        flags += "--cfg purloin_virtual ";
    }
    if cfg!(purloin_untimed) && !fault.timed {
        flags += "--cfg purloin_untimed ";
    }
    let output = command.env("RUSTFLAGS", flags.trim()).output();
    let output = output.map_err(|error| format!("cargo does not start: {error}"))?;
    match output.status.success() {
        true => Ok(target.join("torture/purloin-torture")),
        false => Err(format!(
            "the library does not compile with fault {}:\n{}",
            fault.name,
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

/// Copies the files that git tracks. Leaves a file alone that is the same, so that cargo does not compile it again.
fn copy_tracked_files(root: &Path, copy: &Path) -> Result<(), String> {
    let list = Command::new("git")
        .current_dir(root)
        .args(["ls-files", "-z"])
        .output();
    let list = list.map_err(|error| format!("git does not start: {error}"))?;
    if !list.status.success() {
        return Err(format!("{} is no checkout that git knows", root.display()));
    }
    for name in String::from_utf8_lossy(&list.stdout).split_terminator('\0') {
        let (from, to) = (root.join(name), copy.join(name));
        // A file that was deleted is tracked until the next commit.
        let Ok(bytes) = std::fs::read(&from) else {
            continue;
        };
        if std::fs::read(&to).is_ok_and(|old| old == bytes) {
            continue;
        }
        let folder = to.parent().expect("a file has a folder");
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&to, bytes));
        written.map_err(|error| format!("{}: {error}", to.display()))?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_each_fault_occurs_once_in_its_file() {
        let faults: Faults = toml::from_str(include_str!("../faults.toml")).unwrap();
        let root = Path::new(CRATE).ancestors().nth(2).unwrap();
        for fault in faults.fault {
            let text = read(&root.join(&fault.file)).unwrap();
            assert_eq!(text.matches(&fault.find).count(), 1, "{}", fault.name);
        }
    }
}
