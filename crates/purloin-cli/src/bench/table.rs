//! The results as a table that explains itself.

use std::fmt::Write;

use super::Cell;
use purloin_command::Machine;
use purloin_command::format::{grouped, time};

/// The table, as a text.
pub fn text(cells: &[Cell]) -> String {
    let mut text = String::new();
    write(&mut text, cells).expect("a string takes everything");
    text
}

fn write(text: &mut String, cells: &[Cell]) -> std::fmt::Result {
    let machine = Machine::this();
    writeln!(text, "{}, {} cores", machine.processor, machine.cores)?;
    let names = cells.iter().map(|cell| cell.scheduler.chars().count());
    let width = names.max().unwrap_or(0).max(26);
    let mut job = ("", "");
    for cell in cells {
        if job != (cell.kernel, &cell.input) {
            job = (cell.kernel, &cell.input);
            writeln!(
                text,
                "\n{}={}   {} tasks   serial elision: {}   answer: {}",
                cell.kernel,
                cell.input,
                grouped(cell.tasks),
                time(cell.serial),
                cell.answer
            )?;
            writeln!(
                text,
                "  {:<width$} {:>7} {:>10} {:>5} {:>9} {:>9} {:>8}  right",
                "scheduler", "workers", "time", "±", "× serial", "speed-up", "steals"
            )?;
        }
        writeln!(
            text,
            "  {:<width$} {:>7} {:>10} {:>5} {:>9.2} {:>9} {:>8}  {}",
            cell.scheduler,
            cell.workers,
            time(cell.median()),
            format!("{:.0}%", cell.spread() * 100.0),
            cell.vs_serial(),
            speed_up(cells, cell),
            cell.stats
                .map_or("".to_string(), |stats| grouped(stats.steals)),
            if cell.verified { "✓" } else { "WRONG" },
        )?;
    }
    writeln!(
        text,
        "\ntime: the median; half of the runs were within ± of it.\n\
         × serial: relative to the same source without any parallelism (serial elision); \
         below 1 is a gain.\n\
         speed-up: how many times as fast as the same scheduler with one worker."
    )?;
    if cells.iter().any(Cell::is_foreign) {
        writeln!(
            text,
            "forkjoin: timed inside a warm JVM, and × serial relative to sequential Java."
        )?;
    }
    dynamics(text, cells, width)?;
    if cells.iter().any(|cell| cell.median() < SHORT) {
        writeln!(
            text,
            "\nSome times are so short that starting and ending counts; try larger inputs."
        )?;
    }
    if cells.iter().any(|cell| cell.spread() > WIDE) {
        writeln!(
            text,
            "\nSome times vary a lot, as on a busy machine; try more --runs."
        )?;
    }
    Ok(())
}

/// What steals cost the victims, where that was asked for.
fn dynamics(text: &mut String, cells: &[Cell], width: usize) -> std::fmt::Result {
    if cells.iter().all(|cell| cell.dynamics.is_none()) {
        return Ok(());
    }
    writeln!(text, "\nWhat steals cost: medians of all runs")?;
    let mut job = ("", "");
    for cell in cells {
        let Some(dynamics) = cell.dynamics else {
            continue;
        };
        if job != (cell.kernel, &cell.input) {
            job = (cell.kernel, &cell.input);
            writeln!(
                text,
                "\n{}={}\n  {:<width$} {:>7} {:>11} {:>10} {:>9} {:>8} {:>6}",
                cell.kernel,
                cell.input,
                "scheduler",
                "workers",
                "steal ratio",
                "steals/ms",
                "overhead",
                "barrier",
                "free"
            )?;
        }
        writeln!(
            text,
            "  {:<width$} {:>7} {:>11} {:>10.2} {:>8.3}% {:>7.3}% {:>5.0}%",
            cell.scheduler,
            cell.workers,
            dynamics
                .steal_ratio
                .map_or("–".to_string(), |ratio| format!("{ratio:.6}")),
            dynamics.steal_rate,
            100.0 * dynamics.dynamic_overhead,
            100.0 * dynamics.barrier_cost,
            100.0 * dynamics.free_steal_share,
        )?;
    }
    writeln!(
        text,
        "\nsteal ratio: steals by tasks. overhead: the part of the workers' time that victims \
         lose to thieves;\nbarrier: of that, coming back to tasks that were public. free: \
         steals that needed no request."
    )
}

/// Seconds, below which a time says little about the kernel.
const SHORT: f64 = 2e-3;

/// The spread above which a median says little.
const WIDE: f64 = 0.05;

/// Relative to the same scheduler with one worker, if that was measured.
fn speed_up(cells: &[Cell], cell: &Cell) -> String {
    let alone = cells.iter().find(|other| {
        (other.kernel, &other.input, &other.scheduler)
            == (cell.kernel, &cell.input, &cell.scheduler)
            && other.workers == 1
    });
    match alone {
        Some(alone) if cell.workers > 1 => format!("{:.2}", alone.median() / cell.median()),
        _ => String::new(),
    }
}
