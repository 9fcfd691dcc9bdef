//! The figures as lines of text, for the screen and for a pipe.

use std::fmt::Write;

use purloin_trace::format::{grouped, workers};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::figures::{Figures, PoolFigures, Shares, State, WorkerFigures};

/// Number of letters in the bar of a worker's time.
const BAR: usize = 20;

/// Width of a text that goes to no terminal, for long sentences.
const WIDTH: usize = 100;

/// The heads of the columns, as [`row`] writes them.
const HEAD: &str =
    "  worker   state      time                   cpu  steals/s   tasks  for how long, and where";

/// The meaning of the letters.
pub const LEGEND: &str =
    "R runs, P wants a processor, L blocked in the program, W waits, s searches, z sleeps";

/// Returns everything as text.
pub fn text(figures: &Figures) -> String {
    let mut text = String::new();
    for line in std::iter::once(header(figures)).chain(body(figures, WIDTH)) {
        let line = line.to_string();
        // Writing to a string cannot fail.
        _ = writeln!(text, "{}", line.trim_end());
    }
    text + "\n" + LEGEND + "\n"
}

/// Returns the line about the program.
pub fn header(figures: &Figures) -> Line<'static> {
    let time = match figures.seconds {
        0.0 => "since the pools were built".into(),
        seconds => format!("last {seconds:.1} s"),
    };
    let pools = match figures.pools.len() {
        1 => "1 pool".into(),
        pools => format!("{pools} pools"),
    };
    Line::from(vec![
        Span::styled(clean(&figures.program), Modifier::BOLD),
        format!("  process {}, {pools}, {time}", figures.pid).into(),
    ])
}

/// Returns the lines about the pools. Sentences end before `width`.
pub fn body(figures: &Figures, width: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for pool in &figures.pools {
        lines.push(Line::default());
        lines.push(summary(pool));
        if let Some(stuck) = &pool.stuck {
            let time = duration(stuck.seconds);
            let text = format!("No progress for {time}. {}", clean(&stuck.likely_reason));
            let style = Style::from(Color::Red).add_modifier(Modifier::BOLD);
            let sentences = wrap(&text, width.saturating_sub(2)).into_iter();
            lines.extend(sentences.map(|line| Line::styled(format!("  {line}"), style)));
        }
        lines.push(Line::styled(HEAD, Modifier::DIM));
        lines.extend(
            pool.workers
                .iter()
                .filter(|worker| is_of_interest(worker))
                .map(row),
        );
    }
    lines
}

fn summary(pool: &PoolFigures) -> Line<'static> {
    let started = pool.workers.len() - pool.regular_workers.min(pool.workers.len());
    let waits = match pool.waiting {
        1 => "1 call or job waits".into(),
        waiting => format!("{waiting} calls or jobs wait"),
    };
    Line::from(vec![
        Span::styled(format!("pool {}", pool.id), Modifier::BOLD),
        format!(
            ": {}, idle {}, {} steals/s, {waits} outside, {started} of {} spare workers started",
            workers(pool.regular_workers),
            percent(pool.idle_share),
            rate(pool.steals_per_second),
            pool.max_spare_workers,
        )
        .into(),
    ])
}

/// Returns whether a worker is a regular one, or a spare one that has done anything.
fn is_of_interest(worker: &WorkerFigures) -> bool {
    let Shares {
        searching, asleep, ..
    } = worker.shares;
    let is_idle = matches!(worker.state, State::Searches | State::Sleeps);
    !worker.is_spare || !is_idle || searching + asleep < 0.9995
}

fn row(worker: &WorkerFigures) -> Line<'static> {
    let (letter, word, color) = match worker.state {
        State::Runs => ('R', "runs", Color::Green),
        State::Blocked => ('L', "blocked", Color::Red),
        State::WaitsForTask | State::WaitsForScope | State::WaitsForOther => {
            ('W', "waits", Color::Yellow)
        }
        State::Searches => ('s', "searches", Color::Cyan),
        State::Sleeps => ('z', "sleeps", Color::DarkGray),
    };
    let name = if worker.is_spare { "spare" } else { "" };
    let processor = worker.processor_share.map_or("?".into(), percent);
    let mut spans = vec![
        format!("  {name:<5}{:>3}  ", worker.number).into(),
        Span::styled(format!("{letter} {word:<8} "), color),
    ];
    spans.extend(bar(&worker.shares));
    spans.push(
        format!(
            " {processor:>5}  {:>8}  {:>6}  {}",
            rate(worker.steals_per_second),
            grouped(worker.tasks as u64),
            detail(worker)
        )
        .into(),
    );
    Line::from(spans)
}

/// Returns for how long a worker has been in its state, in which span, and what it waits for.
fn detail(worker: &WorkerFigures) -> String {
    let mut text = duration(worker.state_seconds);
    match (worker.state, worker.waits_for_worker) {
        (State::WaitsForTask, Some(holder)) => {
            _ = write!(text, ", for a task that worker {holder} runs");
        }
        (State::WaitsForScope, _) => text += ", for the tasks of a finish",
        (State::WaitsForOther, _) => text += ", for another pool or an asynchronous program",
        _ => (),
    }
    if let Some(span) = &worker.span {
        _ = write!(text, ", in \"{}\"", clean(span));
    }
    text
}

/// Returns a bar with a letter for each part of the time.
fn bar(shares: &Shares) -> Vec<Span<'static>> {
    let parts = [
        ("R", shares.running, Color::Green),
        ("P", shares.without_processor, Color::Magenta),
        ("L", shares.blocked, Color::Red),
        ("W", shares.waiting, Color::Yellow),
        ("s", shares.searching, Color::Cyan),
        ("z", shares.asleep, Color::DarkGray),
    ];
    let (mut sum, mut drawn) = (0.0, 0);
    let spans = parts.map(|(letter, share, color)| {
        sum += share;
        // The ends are rounded, so that the lengths add up.
        let end = (sum * BAR as f64).round() as usize;
        let length = end.clamp(drawn, BAR) - drawn;
        drawn += length;
        Span::styled(letter.repeat(length), color)
    });
    let rest = Span::raw(" ".repeat(BAR - drawn));
    spans.into_iter().chain([rest]).collect()
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn rate(per_second: f64) -> String {
    match per_second {
        rate if rate < 9.95 => format!("{rate:.1}"),
        rate => grouped(rate.round() as u64),
    }
}

fn duration(seconds: f64) -> String {
    let whole = seconds as u64;
    match seconds {
        s if s < 1e-3 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 60.0 => format!("{s:.1} s"),
        s if s < 3600.0 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole / 60 % 60),
    }
}

/// Replaces the characters that would act on the terminal.
pub fn clean(text: &str) -> String {
    text.replace(char::is_control, "?")
}

/// Breaks a text into lines between words.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a line");
        let length = line.chars().count() + 1 + word.chars().count();
        if line.is_empty() {
            line.push_str(word);
        } else if length <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.into());
        }
    }
    lines
}
