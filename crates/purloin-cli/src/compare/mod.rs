//! `purloin compare`.

mod interval;
mod output;
mod pairs;
mod read;

use std::path::PathBuf;

use purloin_command::{Destination, Failure, print};

use self::pairs::Comparison;
use self::read::Bench;

/// Compare two reports of `purloin bench --json`, and say which differences are more than noise
///
/// A cell of A is compared with the cell of B that has the same kernel, input, scheduler and number
/// of workers. B/A is the median of the ratios of each time of B to each time of A (Hodges and
/// Lehmann), with the 95 % confidence interval of the Mann–Whitney test. The interval assumes no
/// normal distribution. With the same number of runs on both sides, it needs at least four each; nine
/// are better.
///
/// The verdict is "the same" if the whole interval is within --margin of 1; otherwise "faster" or
/// "slower" if the whole interval is below or above 1, and does not overlap that of the kernel's
/// serial elision; otherwise "cannot tell".
///
/// About one in twenty unchanged cells looks faster or slower by chance. The intervals cover the noise
/// between the runs of one report. They do not cover changes between two reports, such as another
/// clock rate. So the command warns if the times of the serial elisions differ by more than 3 %.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  purloin bench --kernel fib=38 --kernel uts=T3 --runs 9 --json before.json
  (change something, build)
  purloin bench --kernel fib=38 --kernel uts=T3 --runs 9 --json after.json
  purloin compare before.json after.json
  purloin compare before.json after.json --margin 5 --fail-if-slower --html compared.html

JSON: each cell has kernel, input, scheduler, workers, a_runs, b_runs, a_median_seconds,
b_median_seconds, ratio (B/A), low and high (its interval, or null), verdict (faster, slower, same or
cannot-tell) and reason (why it cannot tell: wrong-answer, few-runs or noise; otherwise null).
only_in_a and only_in_b name the cells without a partner; summary has the counts and the geometric
mean of B/A over the cells with right answers.

Exit status: 0 whatever the verdicts are, 1 if --fail-if-slower is set and a cell is slower by more
than the margin, 2 for a mistake in the arguments or files.")]
pub struct Args {
    /// The baseline report
    #[arg(value_name = "A.json")]
    a: PathBuf,

    /// The report to compare with the baseline
    #[arg(value_name = "B.json")]
    b: PathBuf,

    /// Call a cell the same if its whole interval is within this percentage of 1
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0, value_parser = parse_margin)]
    margin: f64,

    /// Exit with status 1 if a cell is slower by more than the margin, so that its whole interval is
    /// above 1 + margin. The serial elision does not count
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
    let margin = args.margin / 100.0;
    let comparison = Comparison::of(a, b, margin);
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
    if let Some(json) = json {
        json.write(&output::Report::of(&about, &comparison))?;
    }
    if let Some(html) = html {
        html.write_page(&output::page(&about, &comparison))?;
    }
    match comparison.slower_than(margin) {
        slower @ 1.. if args.fail_if_slower => Err(Failure::Run(format!(
            "{slower} of {} cells {} slower in {path_b} by more than {} %",
            comparison.pairs.len(),
            if slower == 1 { "is" } else { "are" },
            args.margin
        ))),
        _ => Ok(()),
    }
}
