//! `purloin compare`.

mod interval;
mod output;
mod pairs;
mod read;

use std::path::PathBuf;

use purloin_command::{Destination, Failure, print};

use self::pairs::{Comparison, Verdict};
use self::read::Bench;

/// Compare two reports of `purloin bench --json`, and say which differences are more than noise
///
/// A cell of A is compared with the cell of B that has the same kernel, input, scheduler and number
/// of workers. B/A is the median of the ratios of each time of B to each time of A (Hodges and
/// Lehmann), with the 95 % confidence interval of the Mann–Whitney test. The interval assumes no
/// normal distribution, and needs at least four runs on each side; nine are better.
///
/// The verdict is "the same" if the whole interval is within --margin of 1, "faster" or "slower" if the whole
/// interval is below or above 1, and otherwise "cannot tell". About one of twenty
/// unchanged cells looks faster or slower by chance. The intervals know the noise between the runs
/// of one report. They do not know what changes from one report to the next, such as the machine's
/// clock rate, so the command warns if the serial elisions take another time.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  purloin bench --kernel fib=38 --kernel uts=T3 --runs 9 --json before.json
  (change something, build)
  purloin bench --kernel fib=38 --kernel uts=T3 --runs 9 --json after.json
  purloin compare before.json after.json
  purloin compare before.json after.json --margin 5 --fail-if-slower --html compared.html

JSON: each cell has kernel, input, scheduler, workers, a_runs, b_runs, a_median_seconds,
b_median_seconds, ratio (B/A), low and high (its interval, or null), and verdict (faster, slower,
same or cannot-tell). only_in_a and only_in_b name the cells without a partner; summary has the
counts and the geometric mean.

Exit status: 0 whatever the verdicts are, 1 if a cell is slower and --fail-if-slower is set, 2 for a
mistake in the arguments or files.")]
pub struct Args {
    /// The report to compare with
    #[arg(value_name = "A.json")]
    a: PathBuf,

    /// The report that may be faster or slower
    #[arg(value_name = "B.json")]
    b: PathBuf,

    /// Differences up to this percentage count as the same
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0, value_parser = parse_margin)]
    margin: f64,

    /// Exit with status 1 if a cell is slower
    #[arg(long)]
    fail_if_slower: bool,

    /// Write the result as JSON to this file, or to standard output with -
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,

    /// Write the result as a page to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

fn parse_margin(text: &str) -> Result<f64, String> {
    match text.strip_suffix('%').unwrap_or(text).trim().parse() {
        Ok(percent) if (0.0..=50.0).contains(&percent) => Ok(percent),
        _ => Err("the margin must be a percentage from 0 to 50".to_string()),
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let (a, b) = (read::bytes(&args.a)?, read::bytes(&args.b)?);
    let (path_a, path_b) = (args.a.display(), args.b.display());
    if a == b {
        return Err(Failure::usage(format_args!(
            "{path_a} and {path_b} are the same report; measure twice, with purloin bench --json FILE"
        )));
    }
    let (a, b) = (Bench::parse(&args.a, &a)?, Bench::parse(&args.b, &b)?);
    let comparison = Comparison::of(a, b, args.margin / 100.0);
    if comparison.pairs.is_empty() {
        return Err(Failure::usage(format_args!(
            "{path_a} and {path_b} have no cell in common; measure the same kernels, inputs, schedulers and numbers \
             of workers"
        )));
    }
    let json = args.json.as_deref().map(Destination::open).transpose()?;
    let html = args.html.as_deref().map(Destination::open_page);
    let html = html.transpose()?;
    let about = output::About {
        a: path_a.to_string(),
        b: path_b.to_string(),
        margin: args.margin,
    };
    if !json.as_ref().is_some_and(Destination::is_standard_output) {
        print(&output::text(&about, &comparison))?;
    }
    if let Some(html) = html {
        html.write_page(&output::page(&about, &comparison))?;
    }
    if let Some(json) = json {
        json.write(&output::Report::of(&about, &comparison))?;
    }
    match comparison.count(Verdict::Slower) {
        slower @ 1.. if args.fail_if_slower => Err(Failure::Run(format!(
            "{slower} of {} cells are slower in {path_b}",
            comparison.pairs.len()
        ))),
        _ => Ok(()),
    }
}
