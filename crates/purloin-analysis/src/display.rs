//! A profile as a table, with the likely reason why the program is not faster.

use std::fmt::{Display, Formatter, Result};
use std::time::Duration;

use purloin::Times;
use purloin::trace::format::{grouped, parallelism, time, workers};

use crate::Profile;

/// A run shorter than this cannot be timed alone.
const SHORT: Duration = Duration::from_millis(1);

/// A program with a parallelism of fewer than this many times the number of workers has too little.
const FEW: f64 = 4.0;

/// The time needed to wake a thread.
const WAKING: Duration = Duration::from_micros(100);

impl Display for Profile {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        program(f, self)?;
        run(f, self)?;
        breakdown(f, self)?;
        if self.burdened.parallelism < FEW * self.workers as f64 {
            let span = time(self.burdened.span);
            writeln!(
                f,
                "\nWhere the span of {span} is (work there / time = parallelism)\n\n{}",
                self.critical_path
            )?;
        }
        writeln!(f, "\n{}", diagnosis(self))?;
        if let Some(warning) = self.warning() {
            writeln!(f, "\nWarning: {warning}.")?;
        }
        if self.serial < SHORT {
            writeln!(
                f,
                "\nA run of less than a millisecond is too short to be timed alone. It was repeated {} times \
                 serially and {} times on all workers.",
                self.serial_runs, self.runs
            )?;
        }
        Ok(())
    }
}

fn program(f: &mut Formatter<'_>, profile: &Profile) -> Result {
    let row = |f: &mut Formatter<'_>, name: &str, value: String, meaning: &str| {
        writeln!(f, "  {name:<26} {value:>12}   {meaning}")
    };
    writeln!(f, "The program")?;
    row(
        f,
        "work",
        time(profile.work),
        "time without parallelism (serial elision)",
    )?;
    row(
        f,
        "tasks",
        grouped(profile.tasks),
        "joins, spawns and futures",
    )?;
    if profile.splits > 0 {
        row(
            f,
            "splits of loops and sorts",
            grouped(profile.splits),
            "up to 1,023 for each loop, and more for a large sort",
        )?;
    }
    if profile.tasks > 0 {
        row(
            f,
            "mean task size S_T",
            time(profile.task_size()),
            "serial time / tasks",
        )?;
    }
    let filter = match profile.is_filtered {
        true => "",
        false => " (includes interrupts)",
    };
    for span in [profile.ideal, profile.burdened] {
        let name = match span.cost.is_zero() {
            true => "span with free steals".to_string(),
            false => format!("span with steals of {}", short(span.cost)),
        };
        let meaning = format!(
            "parallelism {}, the number of workers it can use{filter}",
            parallelism(span.parallelism)
        );
        row(f, &name, time(span.span), &meaning)?;
    }
    Ok(())
}

fn run(f: &mut Formatter<'_>, profile: &Profile) -> Result {
    let (low, high) = profile.expected_speed_up(profile.workers);
    writeln!(
        f,
        "\nOn {}: {}, speed-up {:.2} (expected from work and span: {low:.2} to {high:.2})",
        workers(profile.workers),
        time(profile.parallel.as_secs_f64()),
        profile.speed_up(),
    )?;
    match (profile.steal_interval(), profile.steal_cost()) {
        (Some(interval), Some(cost)) => writeln!(
            f,
            "Steals: {:.1} per run, one per {} of work (steal interval I_S); a steal takes {}",
            profile.steals(),
            time(interval),
            time(cost)
        ),
        _ => writeln!(f, "Steals: none"),
    }
}

fn breakdown(f: &mut Formatter<'_>, profile: &Profile) -> Result {
    writeln!(
        f,
        "\nWhere the time goes, in % of each worker's time (in join: waiting for a stolen task)\n"
    )?;
    writeln!(
        f,
        "  {:<8} {:>23} {:>21} {:>21}",
        "", "application", "stealing", "searching"
    )?;
    writeln!(
        f,
        "  {:<8} {:>12} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "worker", "", "in join", "", "in join", "", "in join"
    )?;
    let mut all = Times::default();
    for (worker, times) in profile.times.iter().enumerate() {
        all += *times;
        // Omits single workers if there are many, because the table would be long and the sum is
        // enough.
        if profile.times.len() <= 16 {
            let name = match worker.checked_sub(profile.workers) {
                None => worker.to_string(),
                Some(spare) => format!("spare {spare}"),
            };
            shares(f, &name, times)?;
        }
    }
    shares(f, "all", &all)
}

fn shares(f: &mut Formatter<'_>, name: &str, times: &Times) -> Result {
    write!(f, "  {name:<8}")?;
    let kinds = [
        times.application,
        times.application_in_join,
        times.stealing,
        times.stealing_in_join,
        times.searching,
        times.searching_in_join,
    ];
    for (place, kind) in kinds.into_iter().enumerate() {
        let width = if place == 0 { 13 } else { 11 };
        write!(f, "{:>width$.2}", 100.0 * share(kind, times.total()))?;
    }
    writeln!(f)
}

fn share(part: Duration, whole: Duration) -> f64 {
    part.as_secs_f64() / whole.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// Returns the most likely reason why the program is not faster.
fn diagnosis(profile: &Profile) -> String {
    let workers = profile.workers as f64;
    if profile.workers == 1 {
        return "One worker gains nothing; try more --workers.".to_string();
    }
    if profile.speed_up() >= 0.9 * workers {
        return "It is about as fast as this number of workers allows.".to_string();
    }
    if profile.serial < WAKING {
        return "A run ends before another worker has woken up.".to_string();
    }
    let mut all = Times::default();
    profile.times.iter().for_each(|times| all += *times);
    let of_all = |part: Duration| share(part, all.total());
    let application = (all.application + all.application_in_join).as_secs_f64();
    let inflation = application / (profile.serial.as_secs_f64() * profile.runs as f64);
    let losses = [
        (
            1.0 - 1.0 / inflation.max(1.0),
            format!(
                "The workers together need {inflation:.2} times the serial time for the program \
                 itself: tasks are so small that creating them takes noticeable time, or the \
                 workers compete for caches, memory bandwidth or cores."
            ),
        ),
        (
            of_all(all.stealing + all.stealing_in_join),
            "Steals take much of the time, because each moves little work. Make parallel parts \
             larger or fewer."
                .to_string(),
        ),
        (
            of_all(all.searching),
            match profile.burdened.parallelism < FEW * workers {
                true => {
                    let place = profile.critical_path.sentence();
                    format!(
                        "Workers find no tasks, because the program has too little parallelism. Shorten the longest \
                         chain, or make more of it parallel. {}",
                        place.unwrap_or_default()
                    )
                    .trim_end()
                    .to_string()
                }
                false => {
                    "Workers often find no tasks, although the program has enough parallelism \
                          on average. Perhaps there is little of it between two phases, a run is \
                          too short for all workers to wake up, or other programs use the \
                          processors."
                        .to_string()
                }
            },
        ),
        (
            of_all(all.searching_in_join),
            "Workers wait in joins for stolen tasks that contain no parallelism. Split these \
             tasks, or join later."
                .to_string(),
        ),
    ];
    let (_, reason) = losses
        .into_iter()
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .expect("there are four losses");
    reason
}

/// Formats a whole number of milliseconds, microseconds or nanoseconds.
fn short(duration: Duration) -> String {
    match duration.as_nanos() {
        n if n % 1_000_000 == 0 => format!("{} ms", n / 1_000_000),
        n if n % 1_000 == 0 => format!("{} µs", n / 1_000),
        n => format!("{n} ns"),
    }
}
