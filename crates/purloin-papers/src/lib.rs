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
mod results;
mod statistics;
mod trial;
mod wool;

use std::fs;
use std::path::PathBuf;

use purloin_command::{Destination, Failure};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use self::report::Report;
use self::results::{Outcome, Results, State};
use self::trial::Trial;

/// Regenerate the tables and figures of a paper that Purloin implements, from runs on this machine
///
/// The report has our values beside the paper's, and a verdict on each of the paper's main statements.
/// Larger machines are simulated, where the simulator can show what a statement is about.
///
/// The measured data go to NAME.json beside the report. An interrupted run keeps its finished parts.
/// The same command, from the same build, goes on from there.
#[derive(clap::Args)]
#[command(after_help = format!("Papers:\n{}\nExamples:
  purloin paper barriers --quick              a first look, in a few minutes
  purloin paper barriers --out docs/papers    the paper's inputs and repetitions
  purloin paper barriers --from docs/papers/barriers.json   write the report again, without measuring
  purloin paper barriers --from papers/barriers.json --again FFT   measure one part of it again

If a tool such as a JDK is missing, the command skips the runs that need it, and the report says so.", list()))]
pub struct Args {
    /// The paper's name
    #[arg(value_name = "NAME")]
    paper: Option<String>,

    /// Run smaller inputs, a few times each, in a few minutes
    #[arg(long)]
    quick: bool,

    /// Write the report from the data of this finished run, NAME.json, without measuring
    #[arg(long, value_name = "FILE", conflicts_with = "quick")]
    from: Option<PathBuf>,

    /// Measure this part of the --from data again, and the parts that use its data. Repeatable
    #[arg(long, value_name = "PART", requires = "from")]
    again: Vec<String>,

    /// Write the report NAME.md, its pictures and the data to this folder
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

type Measure = dyn Fn(&Trial, &Results) -> Result<Outcome, Failure>;

/// A measurement that is done as a whole or not at all.
struct Part {
    /// The name, by which the report finds the data.
    name: String,
    /// The tools for some of the cells. Without them the part has only the others.
    tools: Vec<Tool>,
    /// Another executable of Purloin that measures.
    executable: Option<PathBuf>,
    /// Whether the data are counts. They may come from another machine than the times.
    has_counts_only: bool,
    /// The part whose data this one uses. When that part is measured again, so is this one.
    source: Option<String>,
    measure: Box<Measure>,
    /// Checks that stored data have the type and the lengths that the report expects.
    check: fn(&Value) -> serde_json::Result<()>,
}

impl Part {
    fn new<T: Serialize + DeserializeOwned + 'static>(
        name: impl Into<String>,
        measure: impl Fn(&Trial) -> Result<T, Failure> + 'static,
    ) -> Part {
        Part::unless_missing(name, measure, |_| false)
    }

    /// Creates a part that uses the data of an earlier part.
    fn after<S: DeserializeOwned, T: Serialize + DeserializeOwned + 'static>(
        source: &str,
        name: impl Into<String>,
        measure: impl Fn(&Trial, S) -> Result<T, Failure> + 'static,
    ) -> Part {
        let source = source.to_string();
        let of = source.clone();
        let measure = move |trial: &Trial, results: &Results| measure(trial, results.of(&of)?);
        Part {
            source: Some(source),
            ..Part::of(name, measure, |_| false)
        }
    }

    /// Creates a part whose data may be the reason why nothing could be measured.
    fn unless_missing<T: Serialize + DeserializeOwned + 'static>(
        name: impl Into<String>,
        measure: impl Fn(&Trial) -> Result<T, Failure> + 'static,
        is_missing: fn(&T) -> bool,
    ) -> Part {
        Part::of(name, move |trial, _| measure(trial), is_missing)
    }

    fn of<T: Serialize + DeserializeOwned + 'static>(
        name: impl Into<String>,
        measure: impl Fn(&Trial, &Results) -> Result<T, Failure> + 'static,
        is_missing: fn(&T) -> bool,
    ) -> Part {
        let measure = move |trial: &Trial, results: &Results| {
            let data = measure(trial, results)?;
            let outcome = match is_missing(&data) {
                true => Outcome::Missing,
                false => Outcome::Done,
            };
            let value = serde_json::to_value(data);
            value
                .map(outcome)
                .map_err(|error| Failure::Run(error.to_string()))
        };
        Part {
            name: name.into(),
            tools: Vec::new(),
            executable: None,
            has_counts_only: false,
            source: None,
            measure: Box::new(measure),
            check: |data| T::deserialize(data).map(|_| ()),
        }
    }

    /// Names the executable that measures. The data of another build of it do not count.
    fn by(self, executable: Option<PathBuf>) -> Part {
        Part { executable, ..self }
    }

    /// Says that the data are counts, which may come from another machine than the times.
    fn of_counts(self) -> Part {
        Part {
            has_counts_only: true,
            ..self
        }
    }

    /// Adds a tool that some of the cells need.
    fn using(mut self, tool: Tool) -> Part {
        self.tools.push(tool);
        self
    }
}

/// A program that a peer needs. A peer whose library is missing is left out, too, but does not count as not
/// installed.
#[derive(Clone, Copy)]
struct Tool(&'static str);

impl Tool {
    /// Returns whether one of the folders in `PATH` has the program.
    fn is_installed(self) -> bool {
        let name = format!("{}{}", self.0, std::env::consts::EXE_SUFFIX);
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(&name).is_file())
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

fn find(name: Option<&str>) -> Result<&'static Paper, Failure> {
    let paper = PAPERS.iter().find(|paper| Some(paper.name) == name);
    paper.ok_or_else(|| {
        let names: Vec<_> = PAPERS.iter().map(|paper| paper.name).collect();
        let names = names.join(", ");
        Failure::Usage(match name {
            Some(name) => format!("no paper {name:?}; the papers are {names}"),
            None => format!("name a paper: {names}"),
        })
    })
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let paper = find(args.paper.as_deref())?;
    fs::create_dir_all(&args.out)
        .map_err(|error| Failure::in_file(&args.out, format!("cannot be created: {error}")))?;
    let name = paper.name;
    let [report_file, data_file] =
        ["md", "json"].map(|ending| args.out.join(format!("{name}.{ending}")));
    for file in [&report_file, &data_file] {
        // Finds out now whether the file can be written.
        Destination::open(file)?;
    }
    let (trial, results) = match &args.from {
        Some(file) if args.again.is_empty() => {
            let results = Results::read(file)?;
            let trial = Trial::on(results.cores, results.nanoseconds_per_tick, results.quick);
            (paper.parts)(&trial)
                .iter()
                .try_for_each(|part| results.check(part))?;
            (trial, results)
        }
        Some(file) => {
            let earlier = Results::read(file)?;
            let trial = Trial::on(earlier.cores, earlier.nanoseconds_per_tick, earlier.quick);
            let unfinished = results::file(&args.out, name, earlier.quick);
            let again = &args.again;
            let mut results = earlier.without(again, &(paper.parts)(&trial), &unfinished)?;
            measure(paper, &trial, &mut results)?;
            (trial, results)
        }
        None => {
            let trial = Trial::new(args.quick);
            let unfinished = results::file(&args.out, name, args.quick);
            let mut results = Results::resume(&unfinished, args.quick)?;
            measure(paper, &trial, &mut results)?;
            (trial, results)
        }
    };
    let mut report = (paper.report)(&trial, &results)?;
    report.head(paper, &results);
    report.write(&args.out, name)?;
    match args.from.is_some() && args.again.is_empty() {
        true => results.write_to(&data_file)?,
        false => results.finish(&data_file)?,
    }
    purloin_command::print(&format!("{}\n", report_file.display()))
}

/// Measures the parts that the results do not have.
fn measure(paper: &Paper, trial: &Trial, results: &mut Results) -> Result<(), Failure> {
    let parts = (paper.parts)(trial);
    for (number, part) in parts.iter().enumerate() {
        let title = format!("part {} of {}: {}", number + 1, parts.len(), part.name);
        match results.state(part) {
            State::Finished => {
                eprintln!("{title} is finished");
                continue;
            }
            State::Unfinished => eprintln!("{title}"),
            State::Outdated(reason) => eprintln!("{title} is measured again: {reason}"),
        }
        let outcome = (part.measure)(trial, results)?;
        if let Outcome::Missing(data) = &outcome {
            let reason = data.as_object().and_then(|data| data.values().next());
            let reason = reason.and_then(Value::as_str).unwrap_or_default();
            eprintln!("{title} is left out: {reason}");
        }
        results.add(part, outcome, &parts)?;
    }
    Ok(())
}
