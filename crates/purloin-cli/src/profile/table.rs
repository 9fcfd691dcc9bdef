//! A profile as a text that explains itself.

use std::fmt::Write;
use std::time::Duration;

use purloin::Times;

use purloin_analysis::Profile;

use super::Case;
use purloin_command::Machine;
use purloin_command::format::{grouped, time};

/// A run shorter than this is too short to be timed alone.
const SHORT: Duration = Duration::from_millis(1);

/// What it takes to wake a thread.
const WAKING: Duration = Duration::from_micros(100);

pub fn text(case: &Case) -> String {
    let mut text = String::new();
    write(&mut text, case).expect("a string takes everything");
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
    if profile.serial < SHORT {
        writeln!(
            text,
            "\nA run takes less than a millisecond, too short to be timed alone; it was \
             repeated {} times serially and {} times on all workers.",
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
        "what all of it takes without any parallelism",
    )?;
    row(text, "tasks", grouped(profile.tasks), "joins and spawns")?;
    row(
        text,
        "mean task size S_T",
        time(profile.task_size()),
        "work between one task and the next",
    )?;
    let filter = match profile.is_filtered {
        true => "",
        false => " (with interrupts)",
    };
    for span in [profile.ideal, profile.burdened] {
        let name = match span.cost.is_zero() {
            true => "span, if steals are free".to_string(),
            false => format!("span, if they cost {}", short(span.cost)),
        };
        let meaning = format!(
            "parallelism {}: no use for more workers than that{filter}",
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
        "\nOn {}: {}, {:.2} times as fast as serially; to be expected by the span: {low:.2} to {high:.2}",
        workers(profile.workers),
        time(profile.parallel.as_secs_f64()),
        profile.speed_up(),
    )?;
    match (profile.steal_interval(), profile.steal_cost()) {
        (Some(interval), Some(cost)) => writeln!(
            text,
            "Steals: {:.1} a run, one for each {} of work (I_S); each takes {}",
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
        "\nWhere the time goes, in % of each worker's (in join: blocked, until a stolen task is done)\n"
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
        // Of many, the sum tells enough.
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

/// The likeliest reason why the program is not faster.
fn diagnosis(profile: &Profile) -> String {
    let workers = profile.workers as f64;
    if profile.workers == 1 {
        return "With one worker there is nothing to gain; try --workers.".to_string();
    }
    if profile.speed_up() >= 0.9 * workers {
        return "It is about as fast as so many workers can make it.".to_string();
    }
    if profile.serial < WAKING {
        return "A run is so short that it is over before another worker is awake.".to_string();
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
                "The workers together run the program for {inflation:.2} times as long as one \
                 alone would: tasks are so small that creating them counts, or the workers \
                 share caches, memory bandwidth or cores."
            ),
        ),
        (
            of_all(all.stealing + all.stealing_in_join),
            "Steals take much of the time: they move little work each. Larger or fewer parallel \
             parts would help."
                .to_string(),
        ),
        (
            of_all(all.searching),
            match profile.burdened.parallelism < 4.0 * workers {
                true => "Workers find nothing to do, because there is too little parallelism: \
                         make the longest chain shorter, or more of it parallel."
                    .to_string(),
                false => "Workers find nothing to do for much of the time, although there is \
                          enough parallelism on average: it may be over between one phase and \
                          the next, or a run be too short for all to wake up."
                    .to_string(),
            },
        ),
        (
            of_all(all.searching_in_join),
            "Workers wait in joins for stolen tasks that offer no parallelism of their own: \
             split those, or join later."
                .to_string(),
        ),
    ];
    let (_, reason) = losses
        .into_iter()
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .expect("there are several");
    reason
}

/// A round time, such as one that the user has given.
fn short(duration: Duration) -> String {
    match duration.as_nanos() {
        n if n % 1_000_000 == 0 => format!("{} ms", n / 1_000_000),
        n if n % 1_000 == 0 => format!("{} µs", n / 1_000),
        n => format!("{n} ns"),
    }
}

pub fn parallelism(parallelism: f64) -> String {
    match parallelism {
        p if p >= 1000.0 => grouped(p.round() as u64),
        p => format!("{p:.1}"),
    }
}
