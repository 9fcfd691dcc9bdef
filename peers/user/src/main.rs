//! Plain programs, as a user writes and builds them, on Purloin and on other Rust libraries.
//!
//! The package lies outside Purloin's workspace, so cargo builds it in its default release profile.
//! The contestants run interleaved: each run measures every contestant once.

mod boxes;
mod cold;
mod contestants;
mod everyday;
mod fib;
mod forks;
mod irregular;
mod nested;
mod pagerank;
mod public_suite;
mod table;

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::Parser;

use contestants::Pools;

/// Measures plain programs, built as a user builds them, on Purloin, chili and rayon.
///
/// Every answer is checked. The exit status is 1 if one is wrong, and 2 for a wrong argument.
#[derive(Parser)]
#[command(name = "purloin-user")]
struct Arguments {
    /// Measure loops, sorts and graphs of everyday programs instead. PageRank also runs under OpenMP if `./x` can build it
    /// (two minutes)
    #[arg(long)]
    everyday: bool,
    /// Measure the programs of the public suite runtime-benchmarks instead, also under oneTBB if `./x` can build them
    /// (minutes for each run)
    #[arg(long, conflicts_with = "everyday")]
    suite: bool,
    /// Measure only the rows whose names contain this text
    #[arg(long, value_name = "TEXT")]
    row: Option<String>,
    /// Numbers of workers, separated by commas; rows about forks are left out with one worker
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [1, 2],
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Vec<u16>,
    /// Number of runs of each row; the table shows their medians
    #[arg(long, value_name = "N", default_value_t = 7,
          value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Write the medians as JSON to this file, or to standard output if it is -
    #[arg(long, value_name = "FILE|-")]
    json: Option<String>,
}

/// One program.
pub struct Row {
    /// Its name.
    what: &'static str,
    /// Returns the ideal time with this number of workers, if the program computes by the clock.
    /// Any other program has the contestant `serial` to compare with.
    ideal: Option<fn(usize) -> f64>,
    /// Minimum number of workers.
    workers: usize,
    contestants: &'static [Contestant],
}

/// A form of a program: the name of the library or of its form, and a function that runs the
/// program once. It returns the time in seconds, or nothing if the answer is wrong.
type Contestant = (&'static str, fn(&Pools) -> Option<f64>);

/// The medians of one row with one number of workers, in seconds.
pub struct Measured {
    row: &'static Row,
    workers: usize,
    seconds: Vec<(&'static str, f64)>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let groups = match (arguments.everyday, arguments.suite) {
        (true, _) => &[everyday::ROWS, pagerank::ROWS][..],
        (_, true) => &[public_suite::ROWS],
        _ => &[
            fib::ROWS,
            forks::ROWS,
            cold::ROWS,
            irregular::ROWS,
            nested::ROWS,
            boxes::ROWS,
        ],
    };
    let all = || groups.iter().copied().flatten();
    let rows: Vec<&Row> = all()
        .filter(|row| {
            arguments
                .row
                .as_ref()
                .is_none_or(|text| row.what.contains(text.as_str()))
        })
        .collect();
    if rows.is_empty() {
        eprintln!("purloin-user: no row has this text in its name; the rows are:");
        for row in all() {
            eprintln!("  {}", row.what);
        }
        return ExitCode::from(2);
    }
    let mut measured = Vec::new();
    for &workers in &arguments.workers {
        let workers = usize::from(workers);
        let pools = match Pools::new(workers) {
            Ok(pools) => pools,
            Err(error) => {
                eprintln!("purloin-user: cannot start {workers} workers: {error}");
                return ExitCode::from(2);
            }
        };
        for &row in rows.iter().filter(|row| row.workers <= workers) {
            match measure(row, workers, &pools, arguments.runs) {
                Ok(row) => measured.push(row),
                Err(contestant) => {
                    eprintln!(
                        "purloin-user: {contestant} failed or gave a wrong answer in {}",
                        row.what
                    );
                    return ExitCode::FAILURE;
                }
            }
        }
    }
    let Some(file) = arguments.json else {
        table::print(&measured);
        return ExitCode::SUCCESS;
    };
    let json = json(&measured).to_string();
    if file == "-" {
        println!("{json}");
    } else if let Err(error) = std::fs::write(&file, json + "\n") {
        eprintln!("purloin-user: cannot write {file}: {error}");
        return ExitCode::from(2);
    }
    ExitCode::SUCCESS
}

/// Measures a row. Fails with the name of a contestant whose answer is wrong.
fn measure(
    row: &'static Row,
    workers: usize,
    pools: &Pools,
    runs: u32,
) -> Result<Measured, &'static str> {
    let is_built = |name| match name {
        "tbb" => std::env::var_os(public_suite::TBB).is_some(),
        "openmp" => std::env::var_os(pagerank::OPENMP).is_some(),
        _ => true,
    };
    let contestants: Vec<&Contestant> = row
        .contestants
        .iter()
        .filter(|(name, _)| is_built(*name))
        .collect();
    let mut times = vec![Vec::new(); contestants.len()];
    for run in 1..=runs {
        table::progress(&format!(
            "{}, {workers} workers: run {run} of {runs}",
            row.what
        ));
        for ((name, contestant), times) in contestants.iter().zip(&mut times) {
            fib::warm_up(name, pools);
            times.push(contestant(pools).ok_or(*name)?);
        }
    }
    table::progress("");
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let names = contestants.iter().map(|(name, _)| *name);
    let seconds = names.zip(times.into_iter().map(median)).collect();
    Ok(Measured {
        row,
        workers,
        seconds,
    })
}

fn json(measured: &[Measured]) -> serde_json::Value {
    let row = |measured: &Measured| {
        let mut row = serde_json::json!({
            "what": measured.row.what,
            "workers": measured.workers,
            "seconds": measured.seconds.iter().copied().collect::<BTreeMap<_, _>>(),
        });
        if let Some(ideal) = measured.row.ideal {
            row["ideal"] = ideal(measured.workers).into();
        }
        row
    };
    serde_json::json!({ "rows": measured.iter().map(row).collect::<Vec<_>>() })
}
