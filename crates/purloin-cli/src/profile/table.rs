//! A profile as a table with an explanation.

use std::fmt::Write;
use std::time::Duration;

use purloin::Times;
use purloin_analysis::Profile;
use purloin_command::Machine;
use purloin_command::format::{grouped, time};

use super::Case;

/// A run shorter than this cannot be timed alone.
const SHORT: Duration = Duration::from_millis(1);

/// The time needed to wake a thread.
const WAKING: Duration = Duration::from_micros(100);

/// Returns the profile as a text.
pub fn text(case: &Case) -> String {
    let mut text = String::new();
    write(&mut text, case).expect("writing to a string cannot fail");
    text
}

fn write(text: &mut String, case: &Case) -> std::fmt::Result {
    let profile = &case.profile;
    let machine = Machine::this();
    writeln!(text, "{}, {} cores\n", machine.processor, machine.cores)?;
    writeln!(
        text,
        "{} under {}   {}   answer: {} ✓\n",
        case.job,
        case.scheduler,
        workers(profile.workers),
        case.answer
    )?;
    program(text, profile)?;
    run(text, profile)?;
    breakdown(text, profile)?;
    writeln!(text, "\n{}", diagnosis(profile))?;
    if let Some(warning) = profile.warning() {
        writeln!(text, "\nWarning: {warning}.")?;
    }
    if profile.serial < SHORT {
        writeln!(
            text,
            "\nA run of less than a millisecond is too short to be timed alone. It was repeated {} \
             times serially and {} times on all workers.",
            profile.serial_runs, profile.runs
        )?;
    }
    Ok(())
}

fn workers(number: usize) -> String {
    match number {
        1 => "1 worker".to_string(),
        _ => format!("{number} workers"),
    }
}

fn program(text: &mut String, profile: &Profile) -> std::fmt::Result {
    let row = |text: &mut String, name: &str, value: String, meaning: &str| {
        writeln!(text, "  {name:<26} {value:>12}   {meaning}")
    };
    writeln!(text, "The program")?;
    row(
        text,
        "work",
        time(profile.work),
        "time without parallelism (serial elision)",
    )?;
    row(
        text,
        "tasks",
        grouped(profile.tasks),
        "joins, spawns and futures",
    )?;
    if profile.splits > 0 {
        row(
            text,
            "splits of loops and sorts",
            grouped(profile.splits),
            "up to 1,023 for each; a pool splits on demand",
        )?;
    }
    if profile.tasks > 0 {
        row(
            text,
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
        row(text, &name, time(span.span), &meaning)?;
    }
    Ok(())
}

fn run(text: &mut String, profile: &Profile) -> std::fmt::Result {
    let (low, high) = profile.expected_speed_up(profile.workers);
    writeln!(
        text,
        "\nOn {}: {}, speed-up {:.2} (expected from work and span: {low:.2} to {high:.2})",
        workers(profile.workers),
        time(profile.parallel.as_secs_f64()),
        profile.speed_up(),
    )?;
    match (profile.steal_interval(), profile.steal_cost()) {
        (Some(interval), Some(cost)) => writeln!(
            text,
            "Steals: {:.1} per run, one per {} of work (steal interval I_S); a steal takes {}",
            profile.steals(),
            time(interval),
            time(cost)
        ),
        _ => writeln!(text, "Steals: none"),
    }
}

fn breakdown(text: &mut String, profile: &Profile) -> std::fmt::Result {
    writeln!(
        text,
        "\nWhere the time goes, in % of each worker's time (in join: waiting for a stolen task)\n"
    )?;
    writeln!(
        text,
        "  {:<8} {:>23} {:>21} {:>21}",
        "", "application", "stealing", "searching"
    )?;
    writeln!(
        text,
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
            shares(text, &name, times)?;
        }
    }
    shares(text, "all", &all)
}

fn shares(text: &mut String, name: &str, times: &Times) -> std::fmt::Result {
    write!(text, "  {name:<8}")?;
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
        write!(text, "{:>width$.2}", 100.0 * share(kind, times.total()))?;
    }
    writeln!(text)
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
            match profile.burdened.parallelism < 4.0 * workers {
                true => "Workers find no tasks, because the program has too little parallelism. \
                         Shorten the longest chain, or make more of it parallel."
                    .to_string(),
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

/// Formats a parallelism.
pub fn parallelism(parallelism: f64) -> String {
    match parallelism {
        p if p >= 1000.0 => grouped(p.round() as u64),
        p => format!("{p:.1}"),
    }
}
