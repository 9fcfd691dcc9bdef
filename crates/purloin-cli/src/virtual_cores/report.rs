//! The results of `purloin virtual`, as a table and as JSON.

use purloin::Stats;
use purloin_command::format::time;
use purloin_command::table::{Column, Table};
use purloin_virtual::{Operation, Tally};
use serde::Serialize;

/// A kernel on a machine.
#[derive(Serialize)]
pub struct Report {
    pub kernel: &'static str,
    pub input: String,
    pub machine: String,
    pub seed: u64,
    pub series: Vec<Series>,
}

/// The results of one scheduler.
#[derive(Serialize)]
pub struct Series {
    pub scheduler: String,
    /// The time of one worker on the machine at hand.
    pub one_worker_seconds: f64,
    /// The time of a unit of counted work that follows from it.
    pub picoseconds_of_a_byte: f64,
    pub cells: Vec<Cell>,
}

/// The result for one number of cores.
#[derive(Serialize)]
pub struct Cell {
    cores: usize,
    seconds: f64,
    speed_up: f64,
    answer: String,
    verified: bool,
    steals: u64,
    steal_attempts: u64,
    sleeps: u64,
    wakes: u64,
    events: u64,
    fingerprint: String,
    operations: Vec<Cost>,
}

/// The costs of one kind of operation.
#[derive(Serialize)]
struct Cost {
    kind: &'static str,
    count: u64,
    /// For one operation: cache lines that other cores use, transfers of cache lines, and cores interrupted.
    lines: f64,
    transfers: f64,
    interrupts: f64,
    seconds: f64,
}

impl Cell {
    pub fn new(
        (cores, seconds, speed_up): (usize, f64, f64),
        (answer, verified): (String, bool),
        stats: Stats,
        tally: &Tally,
    ) -> Cell {
        let operations = Operation::ALL[1..].iter().map(|&kind| {
            let cost = tally.of(kind);
            let of_one = |sum: u64| sum as f64 / cost.count.max(1) as f64;
            Cost {
                kind: kind.name(),
                count: cost.count,
                lines: of_one(cost.lines),
                transfers: of_one(cost.transfers),
                interrupts: of_one(cost.interrupts),
                seconds: of_one(cost.picoseconds) * 1e-12,
            }
        });
        Cell {
            cores,
            seconds,
            speed_up,
            answer,
            verified,
            steals: stats.steals,
            steal_attempts: stats.steal_attempts,
            sleeps: stats.sleeps,
            wakes: tally.wakes,
            events: tally.events,
            fingerprint: format!("{:016x}", tally.fingerprint),
            operations: operations.collect(),
        }
    }
}

impl Report {
    /// Returns whether all answers are right.
    pub fn is_right(&self) -> bool {
        let mut cells = self.series.iter().flat_map(|series| &series.cells);
        cells.all(|cell| cell.verified)
    }

    /// Returns the table.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{}={} on {}, seed {}\n",
            self.kernel, self.input, self.machine, self.seed
        );
        for series in &self.series {
            let single = time(series.one_worker_seconds);
            text += &format!(
                "\n{}: one worker takes {single} on the machine at hand\n",
                series.scheduler
            );
            let mut table = Table::new(vec![
                Column::right("cores", 0),
                Column::right("time", 0),
                Column::right("speed-up", 0),
                Column::right("steals", 0),
                Column::right("sleeps", 0),
                Column::right("wake-ups", 0),
                Column::right("lines: steal", 0),
                Column::right("sleep", 0),
                Column::right("wake-up", 0),
                Column::right("interrupts", 0),
                Column::left("answer", 0),
            ]);
            for cell in &series.cells {
                let lines = |kind: Operation| {
                    let cost = cell.operations.iter().find(|cost| cost.kind == kind.name());
                    let cost = cost.filter(|cost| cost.count > 0);
                    cost.map_or("-".to_string(), |cost| format!("{:.1}", cost.lines))
                };
                let interrupts = cell
                    .operations
                    .iter()
                    .map(|cost| cost.interrupts * cost.count as f64);
                table.row(vec![
                    cell.cores.to_string(),
                    time(cell.seconds),
                    format!("{:.2}", cell.speed_up),
                    cell.steals.to_string(),
                    cell.sleeps.to_string(),
                    cell.wakes.to_string(),
                    lines(Operation::Steal),
                    lines(Operation::Sleep),
                    lines(Operation::Wake),
                    format!("{:.0}", interrupts.sum::<f64>()),
                    if cell.verified { "right" } else { "WRONG" }.to_string(),
                ]);
            }
            text += &table.text();
        }
        text += "\nlines: cache lines of other cores that an idle worker's steal, a sleep and a wake-up touched, on average\n";
        text
    }
}
