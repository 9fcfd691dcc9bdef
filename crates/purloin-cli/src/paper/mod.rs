//! `purloin paper`: the tables and figures of the papers that Purloin implements, from runs on this
//! machine.
//!
//! A paper is a list of parts. Each part measures something and returns plain data. When all parts
//! are done, the paper makes its report of their data. So an interrupted run keeps the data of the
//! finished parts, and goes on from there.
//!
//! Read `report.rs` (tables, pictures and verdicts) and `trial.rs` (measuring) first, then the file
//! of a paper.

mod asynchws;
mod barriers;
mod channel;
mod report;
mod trial;
mod wool;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use purloin_command::{Destination, Failure, Machine};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::report::Report;
use self::trial::Trial;

/// Regenerate the tables and figures of a paper that Purloin implements, from runs on this machine
///
/// The report has the paper's values beside ours, and a verdict on each statement of the paper's
/// abstract and conclusions. What one machine cannot show is simulated, and the report says so.
///
/// An interrupted run keeps its finished parts. The same command goes on from there.
#[derive(clap::Args)]
#[command(after_help = format!("Papers:\n{}\nExamples:
  purloin paper barriers --quick              a first look, in a few minutes
  purloin paper barriers --out docs/papers    the paper's inputs and repetitions

A tool that is missing, such as a JDK, leaves out what needs it. The report says so.", list()))]
pub struct Args {
    /// The paper's name
    #[arg(value_name = "NAME")]
    paper: String,

    /// Run smaller inputs, a few times each, in some minutes
    #[arg(long)]
    quick: bool,

    /// Write the report NAME.md and its pictures to this folder
    #[arg(long, value_name = "DIR", default_value = "papers")]
    out: PathBuf,
}

/// A paper that Purloin implements.
struct Paper {
    name: &'static str,
    /// The authors, title and place of publication.
    citation: &'static str,
    parts: fn(&Trial) -> Vec<Part>,
    report: fn(&Trial, &Results) -> Result<Report, Failure>,
}

type Measure = dyn Fn(&Trial) -> Result<Value, Failure>;

/// A measurement that is done as a whole or not at all.
struct Part {
    /// The name, by which the report finds the data.
    name: String,
    measure: Box<Measure>,
}

impl Part {
    fn new<T: Serialize>(
        name: impl Into<String>,
        measure: impl Fn(&Trial) -> Result<T, Failure> + 'static,
    ) -> Part {
        let measure = move |trial: &Trial| {
            let data = measure(trial)?;
            serde_json::to_value(data).map_err(|error| Failure::Run(error.to_string()))
        };
        Part {
            name: name.into(),
            measure: Box::new(measure),
        }
    }
}

const PAPERS: &[Paper] = &[
    wool::PAPER,
    channel::PAPER,
    asynchws::PAPER,
    barriers::PAPER,
];

fn list() -> String {
    let lines = PAPERS.iter().map(|paper| {
        let Paper { name, citation, .. } = paper;
        format!("  {name:<10} {citation}\n")
    });
    lines.collect()
}

/// The data of the finished parts.
#[derive(Serialize, Deserialize)]
struct Results {
    /// The data of another version, another machine or the other kind of run does not fit.
    version: String,
    machine: String,
    quick: bool,
    parts: BTreeMap<String, Value>,
}

impl Results {
    /// Returns the results of a run that has just begun.
    fn new(trial: &Trial) -> Results {
        let Machine {
            processor, cores, ..
        } = Machine::this();
        Results {
            version: env!("CARGO_PKG_VERSION").to_string(),
            machine: format!("{processor}, {cores} cores"),
            quick: trial.quick,
            parts: BTreeMap::new(),
        }
    }

    /// Reads the finished parts of an interrupted run, if the file has any that fit this run.
    fn resume(path: &Path, trial: &Trial) -> Results {
        let new = Results::new(trial);
        let text = fs::read_to_string(path).unwrap_or_default();
        let Ok(found) = serde_json::from_str::<Results>(&text) else {
            return new;
        };
        let fits = (&found.version, &found.machine, found.quick)
            == (&new.version, &new.machine, new.quick);
        match fits {
            true => found,
            false => new,
        }
    }

    fn write(&self, path: &Path) -> Result<(), Failure> {
        Destination::open(path)?.write(self)
    }

    /// Returns the data of a part.
    fn of<T: DeserializeOwned>(&self, part: &str) -> Result<T, Failure> {
        let data = self.parts.get(part).cloned().unwrap_or_default();
        serde_json::from_value(data).map_err(|error| Failure::Run(format!("{part}: {error}")))
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let Some(paper) = PAPERS.iter().find(|paper| paper.name == args.paper) else {
        let names: Vec<_> = PAPERS.iter().map(|paper| paper.name).collect();
        return Err(Failure::Usage(format!(
            "no paper {:?}; the papers are {}",
            args.paper,
            names.join(", ")
        )));
    };
    fs::create_dir_all(&args.out)
        .map_err(|error| Failure::in_file(&args.out, format!("cannot be created: {error}")))?;
    let trial = Trial::new(args.quick);
    let unfinished = args.out.join(format!("{}.unfinished.json", paper.name));
    let mut results = Results::resume(&unfinished, &trial);
    let parts = (paper.parts)(&trial);
    for (number, part) in parts.iter().enumerate() {
        let title = format!("part {} of {}: {}", number + 1, parts.len(), part.name);
        if results.parts.contains_key(&part.name) {
            eprintln!("{title} is finished");
            continue;
        }
        eprintln!("{title}");
        let data = (part.measure)(&trial)?;
        results.parts.insert(part.name.clone(), data);
        results.write(&unfinished)?;
    }
    let mut report = (paper.report)(&trial, &results)?;
    report.head(paper, &results);
    report.write(&args.out, paper.name)?;
    // The parts are in the report now. If the file stays, the next run repeats the report.
    let _ = fs::remove_file(&unfinished);
    let path = args.out.join(format!("{}.md", paper.name));
    purloin_command::print(&format!("{}\n", path.display()))
}
