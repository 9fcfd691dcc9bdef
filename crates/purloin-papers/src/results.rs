//! The data of the finished parts: [`Results`].

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use purloin::implement::clock::nanoseconds_per_tick;
use purloin_command::{Destination, Failure, Machine};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{Part, Tool};

/// The data of the finished parts. They are in a file, from which the next run goes on if this one
/// is interrupted.
#[derive(Serialize, Deserialize)]
pub struct Results {
    #[serde(skip)]
    path: PathBuf,
    /// Data of another version, machine, build or mode do not fit this run.
    pub version: String,
    pub machine: String,
    pub cores: usize,
    /// The duration of a cycle of the machine.
    pub nanoseconds_per_tick: f64,
    /// A hash of the executable. It stands for the inputs and repetitions of all parts, too.
    build: String,
    pub quick: bool,
    /// The process that measures, until it has finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    process: Option<u32>,
    parts: BTreeMap<String, Finished>,
    /// This machine, if it only adds counts to the times of another one.
    #[serde(skip)]
    counts_on: Option<String>,
    /// Parts that could not be measured, with the reason in their data. The next run tries again.
    #[serde(default)]
    missing: BTreeMap<String, Value>,
}

#[derive(Serialize, Deserialize)]
struct Finished {
    data: Value,
    /// The tools of the part that were not installed. So their cells are missing.
    #[serde(default)]
    missing_tools: Vec<String>,
    /// A hash of the other executable that has measured.
    build: Option<String>,
    /// The machine that has counted, if it is another one than that of the times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
    /// The build of Purloin that has measured, if a later run took the data over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    earlier: Option<String>,
}

/// The results of a part.
pub enum Outcome {
    Done(Value),
    /// The reason why nothing could be measured.
    Missing(Value),
}

/// Whether the results have a part.
#[derive(PartialEq, Eq, Debug)]
pub enum State {
    Finished,
    Unfinished,
    /// The data are no longer of use, for this reason.
    Outdated(String),
}

impl Results {
    /// Returns the results of a run that has just begun.
    fn new(path: &Path, quick: bool, build: String) -> Results {
        let Machine {
            processor, cores, ..
        } = Machine::this();
        Results {
            path: path.to_path_buf(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            machine: format!("{processor}, {cores} cores"),
            cores,
            nanoseconds_per_tick: nanoseconds_per_tick(),
            build,
            quick,
            process: Some(std::process::id()),
            parts: BTreeMap::new(),
            counts_on: None,
            missing: BTreeMap::new(),
        }
    }

    /// Reads the finished parts of an interrupted run, and writes the file to find out now whether
    /// that is possible. A file that does not fit this run gets another name.
    pub fn resume(path: &Path, quick: bool) -> Result<Results, Failure> {
        Results::resume_as(path, quick, this_build()?)
    }

    /// Reads the data of a finished run, whatever build and machine it was on.
    pub fn read(path: &Path) -> Result<Results, Failure> {
        let text = fs::read(path)
            .map_err(|error| Failure::in_file(path, format!("cannot be read: {error}")))?;
        let results: Results = serde_json::from_slice(&text).map_err(|error| {
            Failure::in_file(path, format!("not the data of a paper's runs: {error}"))
        })?;
        if results.cores == 0 || results.nanoseconds_per_tick <= 0.0 {
            return Err(Failure::in_file(
                path,
                "cores and nanoseconds_per_tick must be above zero",
            ));
        }
        Ok(Results {
            path: path.to_path_buf(),
            ..results
        })
    }

    /// Returns these results for a run of this build that measures some parts again: those with these
    /// names, and those that the results lack. The run keeps its parts in the file at `path`, from which
    /// the next one goes on if this one is interrupted.
    pub fn without(
        self,
        names: &[String],
        parts: &[Part],
        path: &Path,
    ) -> Result<Results, Failure> {
        let is_part = |name: &&String| parts.iter().any(|part| part.name == **name);
        if let Some(name) = names.iter().find(|name| !is_part(name)) {
            let all: Vec<_> = parts.iter().map(|part| &*part.name).collect();
            return Err(Failure::Usage(format!(
                "no part {name:?}; the parts are {}",
                all.join("; ")
            )));
        }
        if path.exists() {
            let name = path.display();
            return Err(Failure::Usage(format!(
                "{name} is an unfinished run; finish it by the same command without --from and --again (and \
                 with --quick, if the run has it), or move it away"
            )));
        }
        let mut results = Results::new(path, self.quick, this_build()?);
        let unfit = |what: &str, theirs: &str, ours: &str| {
            let reason =
                format!("it is from {what} ({theirs}, not {ours}), so parts cannot be added");
            Err(Failure::in_file(&self.path, reason))
        };
        if self.version != results.version {
            return unfit("another version", &self.version, &results.version);
        }
        let is_kept = |part: &Part| {
            let finished = self.parts.get(&part.name);
            finished.is_some_and(|finished| (part.check)(&finished.data).is_ok())
                && !names.contains(&part.name)
        };
        if self.machine != results.machine {
            // The names of parts that take times, which do not fit those of another machine.
            let mut measured = parts.iter().filter(|part| !is_kept(part));
            if measured.any(|part| !part.has_counts_only) {
                return unfit("another machine", &self.machine, &results.machine);
            }
            results.counts_on = Some(std::mem::replace(
                &mut results.machine,
                self.machine.clone(),
            ));
            results.cores = self.cores;
        }
        results.nanoseconds_per_tick = self.nanoseconds_per_tick;
        let kept = parts.iter().filter(|part| is_kept(part));
        let kept: Vec<_> = kept.map(|part| part.name.clone()).collect();
        let kept = self
            .parts
            .into_iter()
            .filter(|(name, _)| kept.contains(name));
        results.parts = kept
            .map(|(name, finished)| {
                let earlier = finished.earlier.or_else(|| Some(self.build.clone()));
                (
                    name,
                    Finished {
                        earlier,
                        ..finished
                    },
                )
            })
            .collect();
        results.write()?;
        Ok(results)
    }

    /// Returns the names of the parts that were not measured by the build that has measured most of them.
    pub fn measured_again(&self) -> Vec<&str> {
        let build = |finished: &'_ Finished| finished.earlier.clone().unwrap_or(self.build.clone());
        let mut counts = BTreeMap::<String, usize>::new();
        for finished in self.parts.values() {
            *counts.entry(build(finished)).or_default() += 1;
        }
        let main = counts.into_iter().max_by_key(|(_, count)| *count);
        let others = self.parts.iter().filter(|(_, finished)| {
            main.as_ref()
                .is_some_and(|(main, _)| *main != build(finished))
        });
        others.map(|(name, _)| &**name).collect()
    }

    fn resume_as(path: &Path, quick: bool, build: String) -> Result<Results, Failure> {
        let mut results = Results::new(path, quick, build);
        match fs::read(path) {
            Ok(text) => {
                let found = serde_json::from_slice::<Results>(&text);
                if let Ok(found) = &found {
                    found.check_unused(path, std::process::id())?;
                }
                let found = found.map_err(|error| format!("not readable ({error})"));
                if let Err(reason) = found.and_then(|found| results.take_over(found)) {
                    let old = set_aside(path)?;
                    eprintln!(
                        "purloin: {}: {reason}; it is now {}, and every part is measured again",
                        path.display(),
                        old.display()
                    );
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                return Err(Failure::in_file(
                    path,
                    format!("cannot be read: {error}; move it away, or choose another --out"),
                ));
            }
        }
        results.write()?;
        Ok(results)
    }

    /// Returns whether this build of Purloin has measured.
    pub fn is_of(&self, build: &str) -> bool {
        self.build == build
    }

    /// Returns an error if a process other than `own` measures and writes these results.
    fn check_unused(&self, path: &Path, own: u32) -> Result<(), Failure> {
        let other = self.process.filter(|&process| process != own);
        match other.filter(|&process| runs_purloin(process)) {
            Some(process) => Err(Failure::in_file(
                path,
                format!("process {process} writes it; wait until it ends, or choose another --out"),
            )),
            None => Ok(()),
        }
    }

    /// Takes the parts of other results, or returns the reason why they do not fit.
    fn take_over(&mut self, found: Results) -> Result<(), String> {
        if found.version != self.version {
            return Err(format!("it is from version {}", found.version));
        }
        if found.machine != self.machine {
            return Err(format!("it is from another machine ({})", found.machine));
        }
        if found.build != self.build {
            return Err("it is from another build of purloin".to_string());
        }
        if found.quick != self.quick {
            let option = if found.quick { "with" } else { "without" };
            return Err(format!("it is from a run {option} --quick"));
        }
        self.parts = found.parts;
        Ok(())
    }

    fn write(&self) -> Result<(), Failure> {
        self.write_to(&self.path)
    }

    /// Writes the data to a file.
    pub fn write_to(&self, path: &Path) -> Result<(), Failure> {
        let text = serde_json::to_vec(self).map_err(|error| Failure::Run(error.to_string()))?;
        Destination::open(path)?.write_bytes(&text)
    }

    /// Returns whether a part is finished.
    pub fn state(&self, part: &Part) -> State {
        self.state_with(part, Tool::is_installed)
    }

    fn state_with(&self, part: &Part, is_installed: fn(Tool) -> bool) -> State {
        let Some(finished) = self.parts.get(&part.name) else {
            return State::Unfinished;
        };
        let Finished {
            data,
            missing_tools,
            build,
            machine,
            earlier,
        } = finished;
        if let Err(error) = (part.check)(data) {
            return State::Outdated(format!("its data are not readable ({error})"));
        }
        if earlier.is_some() || machine.is_some() {
            return State::Finished;
        }
        if let Some(executable) = &part.executable
            && *build != hash(executable).ok()
        {
            return State::Outdated(format!("{} is another build", executable.display()));
        }
        let mut missing = part.tools.iter().copied();
        let installed = missing
            .find(|&tool| missing_tools.iter().any(|name| name == tool.0) && is_installed(tool));
        match installed {
            Some(tool) => State::Outdated(format!("{} is installed now", tool.0)),
            None => State::Finished,
        }
    }

    /// Adds what a part has measured, removes what other parts made of its former data, and writes the
    /// file.
    pub fn add(&mut self, part: &Part, outcome: Outcome, all: &[Part]) -> Result<(), Failure> {
        for other in all {
            if other.source.as_ref() == Some(&part.name) {
                self.parts.remove(&other.name);
            }
        }
        match outcome {
            Outcome::Missing(data) => {
                self.parts.remove(&part.name);
                self.missing.insert(part.name.clone(), data);
            }
            Outcome::Done(data) => {
                let missing_tools = part.tools.iter().filter(|tool| !tool.is_installed());
                let executable = part.executable.as_deref();
                let finished = Finished {
                    data,
                    missing_tools: missing_tools.map(|tool| tool.0.to_string()).collect(),
                    build: executable.and_then(|executable| hash(executable).ok()),
                    machine: self.counts_on.clone(),
                    earlier: None,
                };
                self.parts.insert(part.name.clone(), finished);
            }
        }
        self.write()
    }

    /// Returns the parts whose counts come from another machine than the times, with that machine.
    pub fn on_other_machines(&self) -> Vec<(&str, &str)> {
        let parts = self.parts.iter();
        let parts = parts.filter_map(|(name, part)| Some((&**name, part.machine.as_deref()?)));
        parts.collect()
    }

    /// Returns the tools that were not installed, so that some cells are missing.
    pub fn missing_tools(&self) -> Vec<&str> {
        let tools = self.parts.values().flat_map(|part| &part.missing_tools);
        let mut tools: Vec<_> = tools.map(String::as_str).collect();
        tools.sort_unstable();
        tools.dedup();
        tools
    }

    /// Returns the data of a part.
    pub fn of<T: DeserializeOwned>(&self, part: &str) -> Result<T, Failure> {
        let finished = self.parts.get(part).map(|finished| &finished.data);
        let data = finished.or_else(|| self.missing.get(part));
        let data = data.cloned().unwrap_or_default();
        serde_json::from_value(data).map_err(|error| {
            Failure::Run(format!(
                "{}: the part {part:?} has other data than expected: {error}; delete the file to \
                 measure again",
                self.path.display()
            ))
        })
    }

    /// Checks that there are data for a part, and that the report can read them.
    pub fn check(&self, part: &Part) -> Result<(), Failure> {
        let finished = self.parts.get(&part.name).map(|finished| &finished.data);
        let Some(data) = finished.or_else(|| self.missing.get(&part.name)) else {
            return Err(Failure::in_file(
                &self.path,
                format!(
                    "no part {:?}; it is from another paper, or its run is not finished",
                    part.name
                ),
            ));
        };
        (part.check)(data).map_err(|error| {
            Failure::in_file(
                &self.path,
                format!("the data of {:?} are not readable: {error}", part.name),
            )
        })
    }

    /// Gives the file its final name.
    pub fn finish(mut self, path: &Path) -> Result<(), Failure> {
        self.process = None;
        self.write()?;
        fs::rename(&self.path, path)
            .map_err(|error| Failure::in_file(path, format!("cannot be written: {error}")))
    }
}

/// Returns the file for the results of a paper in this folder. Runs with and without `--quick` have
/// different files, so that neither replaces the other's.
pub fn file(folder: &Path, paper: &str, quick: bool) -> PathBuf {
    let mode = if quick { ".quick" } else { "" };
    folder.join(format!("{paper}{mode}.unfinished.json"))
}

/// Reads the counts of all trials. There must be at least one.
pub fn counts<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let counts: Vec<f64> = Vec::deserialize(deserializer)?;
    match counts.is_empty() {
        true => Err(D::Error::invalid_length(0, &"at least one trial")),
        false => Ok(counts),
    }
}

/// Reads times. There must be at least one, and none is zero.
pub fn times<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let times: Vec<f64> = Vec::deserialize(deserializer)?;
    if times.is_empty() {
        return Err(D::Error::invalid_length(0, &"at least one time"));
    }
    match times.iter().all(|&time| time > 0.0 && time.is_finite()) {
        true => Ok(times),
        false => Err(D::Error::custom("a time is not above zero")),
    }
}

/// Returns a hash of this executable.
fn this_build() -> Result<String, Failure> {
    let build = std::env::current_exe().and_then(|executable| hash(&executable));
    build.map_err(|error| {
        Failure::Run(format!(
            "the executable of purloin cannot be read to recognize its build: {error}"
        ))
    })
}

/// Returns a hash of a file.
fn hash(path: &Path) -> io::Result<String> {
    let mut hasher = DefaultHasher::new();
    hasher.write(&fs::read(path)?);
    Ok(format!("{:016x}", hasher.finish()))
}

/// Returns whether a process of this system runs `purloin`. Returns false where `/proc` does not say.
fn runs_purloin(process: u32) -> bool {
    let executable = fs::read_link(format!("/proc/{process}/exe"));
    let name = executable.ok().and_then(|path| {
        let name = path.file_name()?;
        Some(name.to_string_lossy().into_owned())
    });
    name.is_some_and(|name| name.starts_with("purloin"))
}

/// Gives a file another name, which no other file has, and returns it.
fn set_aside(path: &Path) -> Result<PathBuf, Failure> {
    let name = |ending: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    let mut names = (2..).map(|number| name(&format!(".old{number}")));
    let mut old = name(".old");
    while old.exists() {
        old = names.next().expect("there is always another number");
    }
    fs::rename(path, &old).map_err(|error| {
        Failure::in_file(
            path,
            format!("it does not fit this run and cannot be renamed: {error}; move it away"),
        )
    })?;
    Ok(old)
}

#[cfg(test)]
mod tests;
