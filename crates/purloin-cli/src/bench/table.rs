//! The cells as a table with an explanation.

use std::collections::BTreeSet;
use std::fmt::Write;

use purloin_command::Machine;
use purloin_command::format::{grouped, time};
use purloin_measure::bench::Cell;

/// Returns the table and the meaning of its columns.
pub fn text(cells: &[Cell]) -> String {
    let mut text = String::new();
    write(&mut text, cells).expect("writing to a string cannot fail");
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
        "\ntime: the median of all runs; half of the runs are within ±\n\
         × serial: time divided by that of the serial elision, the same source without \
         parallelism; below 1 is faster\n\
         speed-up: the time of the same scheduler with one worker, divided by this time{}\n\
         steals: successful steals, in the run with the median time",
        match cells
            .iter()
            .any(|cell| cell.workers == 1 && cell.scheduler != "serial")
        {
            true => "",
            false => " (needs --workers 1,…)",
        }
    )?;
    let foreign = cells.iter().filter(|cell| cell.has_own_baseline);
    let foreign: BTreeSet<_> = foreign.map(|cell| &cell.scheduler[..]).collect();
    for scheduler in foreign {
        writeln!(
            text,
            "{scheduler}: timed inside its own warm process; × serial compares with the sequential \
             form in the same language"
        )?;
    }
    steal_costs(text, cells, width)?;
    if cells.iter().any(|cell| cell.median() < SHORT) {
        writeln!(
            text,
            "\nSome runs are so short that waking the workers distorts their times; try larger \
             inputs."
        )?;
    }
    if cells.iter().any(|cell| cell.spread() > WIDE) {
        writeln!(
            text,
            "\nSome times vary widely, as on a busy machine; try more --runs."
        )?;
    }
    Ok(())
}

/// Writes the table of `--stats full`: what steals cost their victims.
fn steal_costs(text: &mut String, cells: &[Cell], width: usize) -> std::fmt::Result {
    if cells.iter().all(|cell| cell.steal_costs.is_empty()) {
        return Ok(());
    }
    writeln!(text, "\nCost of steals (medians of all runs)")?;
    let mut job = ("", "");
    for cell in cells {
        let Some(costs) = cell.steal_costs() else {
            continue;
        };
        if job != (cell.kernel, &cell.input) {
            job = (cell.kernel, &cell.input);
            writeln!(
                text,
                "\n{}={}\n  {:<width$} {:>7} {:>11} {:>10} {:>10} {:>9} {:>8} {:>8} {:>6}",
                cell.kernel,
                cell.input,
                "scheduler",
                "workers",
                "steal ratio",
                "steals/ms",
                "loss/steal",
                "overhead",
                "barrier",
                "waking",
                "free"
            )?;
        }
        writeln!(
            text,
            "  {:<width$} {:>7} {:>11} {:>10.2} {:>10} {:>8.3}% {:>7.3}% {:>7.3}% {:>6}",
            cell.scheduler,
            cell.workers,
            costs
                .steal_ratio
                .map_or("–".to_string(), |ratio| format!("{ratio:.6}")),
            costs.steal_rate,
            costs.loss_per_steal.map_or("–".to_string(), time),
            100.0 * costs.dynamic_overhead,
            100.0 * costs.barrier_cost,
            100.0 * costs.waking_cost,
            costs
                .free_steal_share
                .map_or("–".to_string(), |share| format!("{:.0}%", 100.0 * share)),
        )?;
    }
    writeln!(
        text,
        "\nsteal ratio: steals per task\n\
         steals/ms: steal rate\n\
         loss/steal: the time that victims lose to thieves, divided by the number of steals; – if \
         nothing was stolen\n\
         overhead: dynamic overhead, the share of the processor time used that victims lose to thieves\n\
         barrier: the part of the overhead in which owners return to public tasks\n\
         waking: share of the processor time used in which owners wake thieves that sleep\n\
         free: share of steals that needed no request; – if nothing was stolen"
    )
}

/// The time below which waking the workers distorts a result, in seconds.
const SHORT: f64 = 2e-3;

/// The spread above which a median is unreliable.
const WIDE: f64 = 0.05;

/// Formats the speed-up over the same scheduler with one worker, if that was measured.
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
