//! `purloin top`.
//!
//! - [`programs`]: the programs that can be watched, and their snapshots, which [`read`] reads.
//! - [`figures`]: what happened between two snapshots.
//! - [`picture`]: the figures as lines of text.
//! - [`screen`]: the terminal.

mod figures;
mod picture;
mod programs;
mod read;
mod screen;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use purloin_command::{Destination, Failure, print};

use self::figures::Figures;
use self::programs::{ANSWER_TIMEOUT, Lost, Program};

/// Watch the pools of a running program
///
/// Start the program with PURLOIN_MONITOR=1. It needs no special build. The screen shows
/// every pool, including the pools behind token-free calls and rayon's interface. Other users cannot
/// watch your programs. The variable and this command exist on Unix only.
///
/// For each worker, the screen shows what the worker does now, where its time has gone since the last
/// update, its use of a processor, its steals, the tasks on its stack that no worker has begun, its
/// span, and what it waits for. A bar has a letter for each share of the time:
///
///   R  runs the program
///   P  runs the program, but other threads have the processors
///   L  is blocked in the program, for example by a lock, a channel or a file
///   W  waits in a join, at the end of a finish, for a future or for another pool
///   s  searches for work
///   z  sleeps, because there is no work
///
/// P and L are known on Linux only. Elsewhere they count as R.
#[derive(clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Keys: q or Esc quits, p or the space bar pauses, arrows and PgUp/PgDn scroll.

Examples:
  PURLOIN_MONITOR=1 ./server &
  purloin top                     the only program that can be watched
  purloin top 1234 --interval 0.5
  purloin top 1234 --once         the figures of one interval, as text
  purloin top 1234 --json -       the figures of one interval, for a script

JSON: program, pid, seconds (the interval) and pools. Each pool has id, regular_workers,
max_spare_workers, waiting (calls and jobs from outside), idle_share, steals_per_second, stuck (null,
or seconds and likely_reason) and workers. Each worker has number, is_spare, state (runs, blocked,
waits_for_task, waits_for_scope, waits_for_other, searches or sleeps), waits_for_worker (or null),
state_seconds, shares of the time (running, without_processor, blocked, waiting, searching, asleep),
processor_share (null if unknown), steals_per_second, attempts_per_second, tasks and span (or null)."
)]
pub struct Args {
    /// The process ID of the program; without it, the only program that can be watched
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pid: Option<u32>,

    /// Time between two updates, in seconds, from 0.1 to 3600
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = parse_interval)]
    interval: Duration,

    /// Print the figures of one interval as text, and exit; the default if standard output is not a
    /// terminal
    #[arg(long, conflicts_with = "json")]
    once: bool,

    /// Write the figures of one interval as JSON to this file, or to standard output with -
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
}

fn parse_interval(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|s| (0.1..=3600.0).contains(s));
    let seconds = seconds.ok_or("must be a number of seconds from 0.1 to 3600, such as 0.5")?;
    Ok(Duration::from_secs_f64(seconds))
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let program = match args.pid {
        Some(pid) => Program::find(pid)?,
        None => Program::the_only_one()?,
    };
    if let Some(path) = &args.json {
        let destination = Destination::open(path)?;
        return destination.write(&look(&program, args.interval)?);
    }
    if args.once || !std::io::stdout().is_terminal() {
        let figures = look(&program, args.interval)?;
        return print(&picture::text(&figures));
    }
    match screen::watch(&program, args.interval)? {
        screen::End::Quit => Ok(()),
        screen::End::Program => print(&format!("program {} has ended\n", program.pid)),
    }
}

/// Returns what happens within one interval.
fn look(program: &Program, interval: Duration) -> Result<Figures, Failure> {
    let failed = |lost: Lost| Failure::Run(program.explain(&lost));
    let before = program.look(ANSWER_TIMEOUT).map_err(failed)?;
    sleep(interval);
    let after = program.look(ANSWER_TIMEOUT).map_err(failed)?;
    Ok(Figures::between(&before, &after))
}
