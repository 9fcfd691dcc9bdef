//! The cells as tables with an explanation.

use std::collections::BTreeSet;
use std::fmt::Write;

use purloin_command::Machine;
use purloin_command::format::{grouped, time};
use purloin_command::table::{Column, Table};
use purloin_measure::bench::Cell;

/// Returns the tables and the meaning of their columns.
pub fn text(cells: &[Cell]) -> String {
    let machine = Machine::this();
    let mut text = format!("{}, {} cores\n", machine.processor, machine.cores);
    for kernel in tables(cells) {
        let facts = kernel.facts.join("   ");
        let _ = write!(text, "\n{}   {facts}\n{}", kernel.job, kernel.table.text());
    }
    let costs = cost_tables(cells);
    let _ = write!(text, "\n{}", legend(cells));
    if !costs.is_empty() {
        text.push_str("\nCost of steals (medians of all runs)\n");
        for (job, table) in costs {
            let _ = write!(text, "\n{job}\n{}", table.text());
        }
        let _ = write!(text, "\n{COSTS_LEGEND}");
    }
    for warning in warnings(cells) {
        let _ = write!(text, "\n{warning}\n");
    }
    text
}

/// Returns the cells of each kernel.
pub fn kernels(cells: &[Cell]) -> impl Iterator<Item = &[Cell]> {
    cells.chunk_by(|a, b| (a.kernel, &a.input) == (b.kernel, &b.input))
}

/// Returns the width of the column of schedulers.
fn width(cells: &[Cell]) -> usize {
    let names = cells.iter().map(|cell| cell.scheduler.chars().count());
    names.max().unwrap_or(0).max(26)
}

/// The table of a kernel.
pub struct KernelTable {
    /// The kernel and its input.
    pub job: String,
    /// The number of tasks, the serial time and the answer.
    pub facts: [String; 3],
    pub table: Table,
}

/// Returns a table for each kernel.
pub fn tables(cells: &[Cell]) -> Vec<KernelTable> {
    let width = width(cells);
    let table = |cells: &[Cell]| {
        let mut table = Table::new([
            Column::left("scheduler", width),
            Column::right("workers", 7),
            Column::right("time", 9),
            Column::right("±", 4),
            Column::right("× serial", 8),
            Column::right("speed-up", 8),
            Column::right("steals", 7),
            Column::left("right", 5),
        ]);
        for cell in cells {
            table.row([
                cell.scheduler.clone(),
                cell.workers.to_string(),
                time(cell.median()),
                format!("{:.0}%", cell.spread() * 100.0),
                format!("{:.2}", cell.vs_serial()),
                speed_up(cells, cell),
                cell.stats
                    .map_or(String::new(), |stats| grouped(stats.steals)),
                if cell.verified { "✓" } else { "WRONG" }.to_string(),
            ]);
        }
        let first = &cells[0];
        KernelTable {
            job: format!("{}={}", first.kernel, first.input),
            facts: [
                format!("{} tasks", grouped(first.tasks)),
                format!("serial elision: {}", time(first.serial)),
                format!("answer: {}", first.answer),
            ],
            table,
        }
    };
    kernels(cells).map(table).collect()
}

/// Returns the meaning of the columns.
pub fn legend(cells: &[Cell]) -> String {
    let is_parallel_alone = |cell: &Cell| cell.workers == 1 && cell.scheduler != "serial";
    let mut text = format!(
        "time: the median of all runs; half of the runs are within ±\n\
         × serial: time divided by that of the serial elision, the same source without \
         parallelism; below 1 is faster\n\
         speed-up: the time of the same scheduler with one worker, divided by this time{}\n\
         steals: successful steals, in the run with the median time\n",
        match cells.iter().any(is_parallel_alone) {
            true => "",
            false => " (needs --workers 1,…)",
        }
    );
    let foreign = cells.iter().filter(|cell| cell.has_own_baseline);
    let foreign: BTreeSet<_> = foreign.map(|cell| &cell.scheduler[..]).collect();
    for scheduler in foreign {
        let _ = writeln!(
            text,
            "{scheduler}: timed inside its own warm process; × serial compares with the sequential \
             form in the same language"
        );
    }
    text
}

/// Returns the tables of `--stats full`: what steals cost their victims.
pub fn cost_tables(cells: &[Cell]) -> Vec<(String, Table)> {
    let width = width(cells);
    let table = |cells: &[Cell]| {
        let mut table = Table::new([
            Column::left("scheduler", width),
            Column::right("workers", 7),
            Column::right("steal ratio", 11),
            Column::right("steals/ms", 9),
            Column::right("loss/steal", 10),
            Column::right("overhead", 8),
            Column::right("barrier", 7),
            Column::right("waking", 7),
            Column::right("free", 5),
        ]);
        for cell in cells {
            let Some(costs) = cell.steal_costs() else {
                continue;
            };
            let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_string());
            let free = costs.free_steal_share;
            table.row([
                cell.scheduler.clone(),
                cell.workers.to_string(),
                or_dash(costs.steal_ratio.map(|ratio| format!("{ratio:.6}"))),
                format!("{:.2}", costs.steal_rate),
                or_dash(costs.loss_per_steal.map(time)),
                format!("{:.3}%", 100.0 * costs.dynamic_overhead),
                format!("{:.3}%", 100.0 * costs.barrier_cost),
                format!("{:.3}%", 100.0 * costs.waking_cost),
                or_dash(free.map(|share| format!("{:.0}%", 100.0 * share))),
            ]);
        }
        (format!("{}={}", cells[0].kernel, cells[0].input), table)
    };
    let tables = kernels(cells).map(table);
    tables.filter(|(_, table)| !table.is_empty()).collect()
}

/// The meaning of the columns of [`cost_tables`].
pub const COSTS_LEGEND: &str = "\
steal ratio: steals per task
steals/ms: steal rate
loss/steal: the time that victims lose to thieves, divided by the number of steals; – if nothing was stolen
overhead: dynamic overhead, the share of the processor time used that victims lose to thieves
barrier: the part of the overhead in which owners return to public tasks
waking: share of the processor time used in which owners wake thieves that sleep
free: share of steals that needed no request; – if nothing was stolen
";

/// Returns reasons to doubt the times.
pub fn warnings(cells: &[Cell]) -> impl Iterator<Item = &'static str> {
    let short = cells.iter().any(|cell| cell.median() < SHORT).then_some(
        "Some runs are so short that waking the workers distorts their times; try larger inputs.",
    );
    let wide = (cells.iter().any(|cell| cell.spread() > WIDE))
        .then_some("Some times vary widely, as on a busy machine; try more --runs.");
    short.into_iter().chain(wide)
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
