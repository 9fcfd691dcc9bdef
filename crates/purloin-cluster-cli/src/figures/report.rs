//! The results of all figures, as JSON and as text: [`Report`].

use std::fmt::Write;

use purloin_command::Machine;
use purloin_command::format::time;
use serde::Serialize;

use super::figure::{LATENCY_FIGURE, Shows};
use super::table::Table;
use crate::latency::Latencies;

/// The results of all figures.
#[derive(Serialize)]
pub struct Report {
    pub machine: Machine,
    pub ranks: usize,
    pub nodes: usize,
    pub runs: usize,
    pub latency_seconds: f64,
    /// Figure 5.
    pub latencies: Option<Latencies>,
    pub figures: Vec<FigureResult>,
    #[serde(skip)]
    pub latency: String,
}

/// The result of one figure.
#[derive(Serialize)]
pub struct FigureResult {
    pub figure: u32,
    pub title: &'static str,
    pub paper: &'static str,
    /// The command that repeats the figure.
    pub command: String,
    pub rows: Vec<Row>,
    #[serde(skip)]
    pub shows: Shows,
}

/// The result of one kernel.
#[derive(Serialize)]
pub struct Row {
    pub kernel: String,
    /// The median time of a job of one rank, async and adaptive, if the figure shows speed-ups.
    pub one_rank_seconds: Option<f64>,
    /// The best depth for the cut-off by depth, if the figure compares it.
    pub best_depth: Option<u32>,
    pub cells: Vec<Cell>,
}

/// The result of one variant.
#[derive(Serialize)]
pub struct Cell {
    pub variant: String,
    /// The arguments of `purloin-cluster`.
    pub arguments: String,
    /// The median time.
    pub seconds: f64,
    pub all_seconds: Vec<f64>,
    /// The median distance of a run from the median time, relative to the median time.
    pub spread: f64,
    pub profiling_percent: f64,
    /// The median share of the attempts to steal that began while the thief had tasks.
    pub early_percent: f64,
}

impl Row {
    fn speed_up(&self, cell: &Cell) -> f64 {
        self.one_rank_seconds.unwrap_or(f64::NAN) / cell.seconds
    }

    /// Returns how many times as fast the second variant is as the first.
    fn gain(&self) -> f64 {
        match &self.cells[..] {
            [first, second] => first.seconds / second.seconds,
            _ => f64::NAN,
        }
    }

    fn best(&self) -> &str {
        let best = self
            .cells
            .iter()
            .min_by(|a, b| a.seconds.total_cmp(&b.seconds));
        best.map_or("", |cell| &cell.variant)
    }

    /// Returns the largest spread of the row's cells, as text.
    fn spread(&self) -> String {
        if self.cells.iter().any(|cell| cell.all_seconds.len() < FEW) {
            return "–".to_owned();
        }
        let spreads = self.cells.iter().map(|cell| cell.spread);
        format!("{:.0}%", 100.0 * spreads.fold(0.0, f64::max))
    }
}

impl FigureResult {
    fn table(&self) -> Table {
        match self.shows {
            Shows::Profiling => self.profiling(),
            Shows::SpeedUps | Shows::Gain => self.speed_ups(),
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let cells = self.rows.first().map_or(&[][..], |row| &row.cells);
        cells.iter().map(|cell| cell.variant.as_str())
    }

    fn profiling(&self) -> Table {
        let mut table = Table::new(["kernel"].into_iter().chain(self.names()));
        let percent = |value: f64| format!("{value:.2}");
        for row in &self.rows {
            let cells = row.cells.iter().map(|cell| percent(cell.profiling_percent));
            let name = [row.kernel.clone()];
            table.row(name.into_iter().chain(cells).collect());
        }
        let mean = |place: usize| {
            let cells = self.rows.iter().map(|row| &row.cells[place]);
            let sum: f64 = cells.map(|cell| cell.profiling_percent).sum();
            percent(sum / self.rows.len() as f64)
        };
        let means = (0..self.names().count()).map(mean);
        table.row(["mean".to_owned()].into_iter().chain(means).collect());
        table
    }

    fn speed_ups(&self) -> Table {
        let is_tuned = self.rows.iter().any(|row| row.best_depth.is_some());
        let last = match self.shows {
            Shows::Gain => "times as fast",
            _ => "best",
        };
        let headings = ["kernel", "one rank"].into_iter().chain(self.names());
        let headings = headings.chain(is_tuned.then_some("D"));
        let mut table = Table::new(headings.chain([last, "±"]));
        for row in &self.rows {
            let one_rank = time(row.one_rank_seconds.unwrap_or(f64::NAN));
            let mut cells = vec![row.kernel.clone(), one_rank];
            let speed_ups = row
                .cells
                .iter()
                .map(|cell| format!("{:.2}", row.speed_up(cell)));
            cells.extend(speed_ups);
            cells.extend(row.best_depth.map(|depth| depth.to_string()));
            cells.push(match self.shows {
                Shows::Gain => format!("{:.2}", row.gain()),
                _ => row.best().to_owned(),
            });
            cells.push(row.spread());
            table.row(cells);
        }
        table
    }
}

/// The spread above which a median says little.
const WIDE: f64 = 0.05;

/// The time, in seconds, below which starting and ending a run matter more than the kernel.
const SHORT: f64 = 5e-3;

/// The number of runs from which a spread is computed.
const FEW: usize = 3;

/// Wraps a text at the width of a terminal.
fn wrapped(text: &str) -> String {
    const WIDTH: usize = 90;
    let mut lines = String::new();
    let mut width = 0;
    for word in text.split_whitespace() {
        let more = word.chars().count() + 1;
        let is_new = width + more > WIDTH;
        lines += match (is_new, width) {
            (_, 0) => "",
            (true, _) => "\n",
            (false, _) => " ",
        };
        lines += word;
        width = if is_new { more } else { width + more };
    }
    lines
}

impl Report {
    /// Returns the report as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text).expect("writing to a string succeeds");
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        let Report {
            machine,
            ranks,
            nodes,
            runs,
            latency,
            latencies,
            figures,
            ..
        } = self;
        writeln!(text, "{}, {} cores", machine.processor, machine.cores)?;
        if let Some(latencies) = latencies {
            let title =
                format!("Figure {LATENCY_FIGURE}. The time of a get from another rank, by size.");
            writeln!(
                text,
                "\n{title}\nHere: {} ranks on {} node(s), no artificial latency, medians of 1001 gets.\n{}\n\n{}",
                latencies.ranks,
                latencies.nodes,
                wrapped(
                    "In the paper, between two nodes: 3.7 ms for 120 bytes to 5.2 ms for 1.4 kB, \
                     which is a thousand times the latency of such a network."
                ),
                latencies.text()
            )?;
        }
        if figures.is_empty() {
            return Ok(());
        }
        for figure in figures {
            let title = format!("Figure {}. {}", figure.figure, figure.title);
            let paper = format!("In the paper, with 384 threads: {}", figure.paper);
            writeln!(
                text,
                "\n{}\nHere: {ranks} ranks on {nodes} node(s), latency {latency}, medians of \
                 {runs} run(s).\n{}\n\n{}\nTo repeat: {}",
                wrapped(&title),
                wrapped(&paper),
                figure.table().text(),
                figure.command
            )?;
        }
        if figures
            .iter()
            .any(|figure| figure.shows != Shows::Profiling)
        {
            writeln!(
                text,
                "\none rank: the time of a job of one rank, async and adaptive.\n\
                 speed-up: that time divided by the time on {ranks} ranks; above 1 is a gain.\n\
                 times as fast: the time of the first variant divided by that of the second.\n\
                 ±: the spread; in each cell, half of the runs are this close to the median. \
                 Smaller\ndifferences mean nothing."
            )?;
        }
        writeln!(
            text,
            "latency: an artificial delay of operations on other ranks, as on a slower network."
        )?;
        if *ranks > nodes * machine.cores {
            writeln!(
                text,
                "\nThere are more ranks than cores, so the ranks take turns and all speed-ups are \
                 low."
            )?;
        }
        let rows = || figures.iter().flat_map(|figure| &figure.rows);
        let has = |is: fn(&Cell) -> bool| rows().flat_map(|row| &row.cells).any(is);
        if has(|cell| cell.seconds < SHORT) {
            writeln!(
                text,
                "\nSome times are so short that starting and ending a run matters; try larger \
                 inputs."
            )?;
        }
        if *runs < FEW || has(|cell| cell.spread > WIDE) {
            writeln!(
                text,
                "\nThe runs are few, or their times vary much, so the medians may say little; try \
                 more --runs."
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kernel: &str, times: &[(&str, f64)]) -> Row {
        let cell = |&(variant, seconds): &(&str, f64)| Cell {
            variant: variant.to_owned(),
            arguments: String::new(),
            seconds,
            all_seconds: vec![seconds; 3],
            spread: 0.1,
            profiling_percent: 10.0 * seconds,
            early_percent: 0.0,
        };
        Row {
            kernel: kernel.to_owned(),
            one_rank_seconds: Some(1.0),
            best_depth: None,
            cells: times.iter().map(cell).collect(),
        }
    }

    fn result(shows: Shows, rows: Vec<Row>) -> FigureResult {
        FigureResult {
            figure: 6,
            title: "",
            paper: "",
            command: String::new(),
            rows,
            shows,
        }
    }

    #[test]
    fn long_sentences_are_wrapped() {
        assert_eq!(wrapped("a few  words"), "a few words");
        let text = wrapped(&"word ".repeat(40));
        assert_eq!(text.lines().count(), 3);
        assert!(text.lines().all(|line| line.len() < 90));
    }

    #[test]
    fn two_runs_are_too_few_for_a_spread() {
        let mut row = row("fib=40", &[("queue", 0.8)]);
        assert_eq!(row.spread(), "10%");
        row.cells[0].all_seconds.pop();
        assert_eq!(row.spread(), "–");
    }

    #[test]
    fn shares_of_profiling_have_their_mean_below() {
        let rows = vec![
            row("a", &[("local", 0.1), ("global", 2.0)]),
            row("b", &[("local", 0.3), ("global", 4.0)]),
        ];
        let text = "  kernel  local  global\n  a        1.00   20.00\n  b        3.00   40.00\n  \
                    mean     2.00   30.00\n";
        assert_eq!(result(Shows::Profiling, rows).table().text(), text);
    }

    #[test]
    fn the_best_variant_and_the_best_depth_are_named() {
        let mut row = row("fib=40", &[("queue", 0.8), ("depth", 0.5)]);
        row.best_depth = Some(12);
        let text = result(Shows::SpeedUps, vec![row]).table().text();
        let lines = [
            "  kernel  one rank  queue  depth   D   best    ±",
            "  fib=40   1.000 s   1.25   2.00  12  depth  10%",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn times_as_fast_is_the_ratio_of_the_times() {
        let rows = vec![row("uts=T3", &[("sync", 0.6), ("async", 0.5)])];
        let text = result(Shows::Gain, rows).table().text();
        let lines = [
            "  kernel  one rank  sync  async  times as fast    ±",
            "  uts=T3   1.000 s  1.67   2.00           1.20  10%",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), lines);
    }
}
