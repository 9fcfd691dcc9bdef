//! The report: tables, pictures and verdicts. Figures 5 and 6 are in `scaling.rs`, and those on sampling in
//! `sampling.rs`.

use purloin_command::Failure;
use purloin_command::format::{grouped, time};
use purloin_measure::bench::median;
use purloin_sim::Estimate;

use super::{
    CORES, Profiled, ROWS, Replay, Row, SIMULATED_STEAL, Sampled, Selection, TWO_FIELDS, WOOL,
    repetition, sampling, scaling,
};
use crate::Results;
use crate::report::{Report, Verdict, or_dash, with_margin};
use crate::trial::{Measured, Trial};

pub(super) fn report(trial: &Trial, results: &Results) -> Result<Report, Failure> {
    let mut report = Report::default();
    report.section("Names and methods");
    report.paragraph(&format!(
        "**Wool** is `{WOOL}`: blocked workers leapfrog and do nothing else. **RAND** draws each victim at \
         random; the paper's thieves follow a fixed random order. A thief under **SET** tries only the \
         victims of its set while other thieves are active. **SAMP** and **SAMP+SET** first look at several \
         victims (up to the square root of the number of cores, 8 of 63), and steal the task that is \
         probably the largest.\n\n\
         Measured times are in cycles of this machine ({:.2} ns). The paper's are those of a TILEPro64 at \
         700 MHz. We simulate everything that needs more than this machine's {} processors. We record the \
         serial elision of each program, and simulated thieves steal its tasks. **Simulated times are in the \
         paper's cycles**: we stretch each recording, so that a repetition takes as many cycles as in the \
         paper's Table 1. We simulate fib and nqueens with smaller inputs, and use the stretch factor of the \
         paper's inputs. The paper's repetitions include Wool's overhead for tasks, about 30 cycles each. \
         Stretching adds it to the work, so the simulator charges nothing more for spawns and joins. A steal \
         takes {SIMULATED_STEAL} cycles, and a look at a victim or a failed attempt half as long. The paper \
         says only that a steal takes hundreds of cycles. The simulator has no caches. With `--quick`, the \
         page leaves out 13 of the 24 rows of Table 1, and we simulate 55 and 63 cores.\n\n\
         In these points, the measured Wool differs from the paper's: Its idle thieves fall asleep, and an owner \
         wakes them. The paper's thieves never back off, so the measured search times are too low. Before a \
         thief touches the two cache lines of the paper (that of `bottom`, the paper's *bot*, and that of the \
         task), it reads whether its victim is active, and whether it searches itself. Each attempt reads the \
         clock, and reads it again if it succeeds. These readings are a part of the cost of a steal. In the \
         library's victim sets, a thief that sleeps does not count as one of the *t* thieves. No table of this \
         page has measured sets.\n\n\
         These statements of the paper's text are not tested here. *A thief backs out of less than 1 % of \
         successful steals*: with two workers there are too few steals, and simulated thieves never read a \
         stale `bottom`. *A test-and-set takes 8 cycles and a fence 14*: this is a property of the TILEPro64. \
         *Victim sets are insensitive to W and m*: the simulator has the paper's values only, W = 12 and m = 4. \
         *A sample costs half of a steal*: this is an assumption of our simulations.",
        trial.nanoseconds_per_tick,
        trial.most_workers(),
    ));
    let mut profiled: Vec<(&Row, Profiled)> = Vec::new();
    let mut simulated: Vec<(&Row, Replay, Replay)> = Vec::new();
    for row in ROWS {
        if row.job(trial).is_some() {
            profiled.push((row, results.of(&row.part("profiled"))?));
        }
        if row.is_simulated(trial) {
            let [plain, delayed] = results.of(&row.part("simulated"))?;
            simulated.push((row, plain, delayed));
        }
    }
    table1(trial, &profiled, &mut report)?;
    intervals(trial, &simulated, &mut report);
    sampling::sampling(&results.of::<Vec<Sampled>>("Figure 4")?, &mut report);
    scaling::speed_ups(&profiled, &simulated, &mut report);
    scaling::breakdown(&profiled, &simulated, &mut report);
    sampling::closer_look(&simulated, &mut report);
    fields(trial, results, &mut report)?;
    Ok(report)
}

fn cycles(trial: &Trial, seconds: f64) -> f64 {
    seconds * 1e9 / trial.nanoseconds_per_tick
}

/// Writes our value and the paper's, which may be a whole number.
fn pair(ours: f64, paper: f64) -> String {
    let digits = |value: f64| match value {
        value if value >= 100.0 => grouped(value.round() as u64),
        value => format!("{value:.1}"),
    };
    let paper = match paper.fract() {
        0.0 => grouped(paper as u64),
        _ => digits(paper),
    };
    format!("{} / {paper}", digits(ours))
}

fn table1(
    trial: &Trial,
    profiled: &[(&Row, Profiled)],
    report: &mut Report,
) -> Result<(), Failure> {
    report.section("Table 1: characteristics of the benchmarks");
    let mut rows = Vec::new();
    for (row, profile) in profiled {
        let repetition = repetition(&profile.job, profile.serial)?;
        let of_paper = &row.paper;
        rows.push(vec![
            of_paper.parameter.to_string(),
            format!("`{}`", profile.job),
            pair(
                repetition / profile.task,
                1e3 * of_paper.repetition / of_paper.task,
            ),
            pair(profile.parallelism[0], row.paper.parallelism[0]),
            pair(profile.parallelism[1], row.paper.parallelism[1]),
            pair(cycles(trial, repetition) / 1e3, row.paper.repetition),
            pair(cycles(trial, profile.task), row.paper.task),
            or_dash(profile.steal, |steal| {
                grouped(cycles(trial, steal).round() as u64)
            }),
        ]);
    }
    report.table(
        &[
            "program (paper)",
            "our input",
            "tasks of a repetition",
            "parallelism, free steals",
            "parallelism, steals of 1,000 cycles",
            "repetition, 1,000 cycles",
            "task size S_T, cycles",
            "our cost of a steal, cycles",
        ],
        &rows,
    );
    report.paragraph(&format!(
        "Each cell has our value, then the paper's. The second number of an input is the number of \
         repetitions, which is the paper's without `--quick`. Stress takes no number of repetitions; we run \
         a 64th of the paper's. We convert the 1,000 cycles of a steal to this machine's time with the \
         factor of the simulations, and round to whole nanoseconds. The paper's tasks are the repetition \
         size divided by S_T. The paper's row ssf 12 has 143 tasks; our `ssf=11` has the same number, so our \
         inputs of ssf are the paper's minus one. The paper does not state the cut-offs of multisort; we \
         chose those that give about as many tasks. The paper's nqueens makes a task for each square that it \
         tries; ours makes one only where a row has several safe squares. Our cholesky has four non-zeros \
         per row in the lower half, with the diagonal. It computes each operation on blocks 32 times, \
         because the TILEPro64 computes floating-point numbers in software. The cost of a steal is that of a \
         successful attempt; failed ones before it count as searching. Two virtual processors may share the \
         caches of one core, and then a steal takes less time than between cores.\n\n\
         In the paper, the span of stress 10 with free steals is 3.7 tasks long, so it seems to contain \
         overhead on each level of the tree. Our stress has no such overhead. The tasks of fib are shorter \
         than a clock reading, so we overestimate its span. The tasks of our nqueens are fewer and larger \
         than the paper's. Interruptions of a profiled run may lengthen a span, too{}.{}",
        trial.choose(
            "",
            ", so the recordings of Figure 5, which have fewer repetitions, may have more parallelism"
        ),
        furthest(profiled).unwrap_or_default()
    ));

    let costs = profiled.iter().filter_map(|(_, profile)| profile.steal);
    let costs: Vec<_> = costs.map(|cost| cycles(trial, cost)).collect();
    if !costs.is_empty() {
        let median = median(&costs);
        let many = costs.iter().filter(|&&cost| cost >= 1000.0).count();
        report.verdict(
            "it is possible to achieve stealing overheads counted in hundreds of cycles rather than \
             thousands",
            Verdict::confirmed_if(median < 1000.0),
            format!(
                "a steal that succeeds takes {} cycles, the median over {} programs; we require less than \
                 1,000. Number of programs in which it takes 1,000 or more: {many}",
                grouped(median.round() as u64),
                costs.len()
            ),
        );
    }
    Ok(())
}

/// Says for which program the parallelism with free steals is furthest from the paper's, of those with the
/// paper's input.
fn furthest(profiled: &[(&Row, Profiled)]) -> Option<String> {
    let same = profiled
        .iter()
        .filter(|(row, profile)| row.has_full_input(&profile.job));
    let ratios = same.map(|(row, profile)| {
        let ratio = profile.parallelism[0] / row.paper.parallelism[0];
        (row.paper.parameter, ratio)
    });
    let ratios = ratios.filter(|(_, ratio)| *ratio > 0.0);
    let distance = |ratio: f64| ratio.ln().abs();
    let (name, ratio) = ratios.max_by(|(_, a), (_, b)| distance(*a).total_cmp(&distance(*b)))?;
    Some(format!(
        " Of the programs with the paper's input, {name} has the parallelism with free steals that is \
         furthest from the paper's: {ratio:.2} times as much."
    ))
}

/// The columns of Table 1 that need many processors.
fn intervals(trial: &Trial, simulated: &[(&Row, Replay, Replay)], report: &mut Report) {
    report.section("Table 1, continued: steal intervals (simulated)");
    let cores = &trial.choose(&CORES[6..], &CORES[..]);
    let mut ratios = Vec::new();
    let rows = simulated.iter().map(|(row, replay, _)| {
        let mut cells = vec![row.paper.parameter.to_string()];
        for cores in *cores {
            let place = CORES.iter().position(|size| size == cores);
            let paper = place.map(|place| f64::from(row.paper.intervals[place]));
            let mut runs = replay.with(Selection::Random);
            let run = runs.find(|run| run.cores == *cores);
            let ours = run.filter(|run| run.steals > 0.0);
            let ours = ours.map(|run| replay.cycles(run.work / run.steals) / 1e3);
            cells.push(or_dash(ours.zip(paper), |(ours, paper)| pair(ours, paper)));
            if row.has_full_input(row.simulated) {
                let ratio = ours.zip(paper).map(|(ours, paper)| ours / paper);
                ratios.extend(ratio.map(|ratio| (ratio, row.paper.parameter)));
            }
        }
        cells
    });
    let rows: Vec<_> = rows.collect();
    let heads: Vec<_> = cores.iter().map(|cores| format!("{cores} cores")).collect();
    let mut head = vec!["program"];
    head.extend(heads.iter().map(String::as_str));
    report.table(&head, &rows);
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    let quartile = |share: usize| ratios.get(ratios.len() * share / 4).map(|ratio| ratio.0);
    let lowest = ratios.first().map(|(ratio, program)| {
        format!(
            " The lowest is {ratio:.2} ({program}). The paper gives whole thousands, so a 3 there means 2.5 \
             to 3.5."
        )
    });
    report.paragraph(&format!(
        "The work for each steal (I_S), in thousands of cycles: our value, then the paper's. We use RAND; \
         the paper does not say which selection it uses. fib and nqueens have smaller inputs than in the \
         paper, so each steal gets less work.{}",
        match (quartile(1), quartile(2), quartile(3)) {
            (Some(low), Some(median), Some(high)) => format!(
                " For the other programs, the median of our value divided by the paper's is \
                 {median:.2}, and half of the ratios are between {low:.2} and {high:.2}.{}",
                lowest.unwrap_or_default()
            ),
            _ => String::new(),
        }
    ));
}

fn fields(trial: &Trial, results: &Results, report: &mut Report) -> Result<(), Failure> {
    report.section("Section 3: the two-field algorithm");
    let cells: Vec<Measured> = results.of("one field and two")?;
    let rows: Vec<_> = cells
        .iter()
        .map(|cell| {
            let milliseconds: Vec<_> = cell.seconds.iter().map(|seconds| 1e3 * seconds).collect();
            let milliseconds = Estimate::new(&milliseconds);
            vec![
                format!("`{}`, `{}`", cell.job, cell.scheduler),
                cell.workers.to_string(),
                time(cell.median),
                with_margin(milliseconds, 2),
                grouped(cell.steals),
            ]
        })
        .collect();
    report.table(
        &["program", "workers", "median", "mean, ms", "steals"],
        &rows,
    );
    let of = |scheduler| {
        let mut cells = cells.iter();
        let most = trial.most_workers();
        cells.find(|cell| cell.scheduler == scheduler && cell.workers == most)
    };
    if let Some((one, two)) = of(WOOL).zip(of(TWO_FIELDS)) {
        report.verdict(
            "a task stack management algorithm which only needs a test-and-set primitive",
            Verdict::confirmed_if(two.steals > 0),
            format!(
                "under `fields=two`, owner and thief exchange one value atomically and never compare. Every \
                 run of fib gives the right result; we also require that tasks are stolen ({} in the median \
                 run). With {} workers, fib takes {:.2} times as long with two fields as with one and \
                 compare-and-swap",
                grouped(two.steals),
                two.workers,
                two.median / one.median
            ),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wool::parts;

    #[test]
    fn missing_data_get_no_verdict() {
        let trial = Trial::new(true);
        let breakdown = json!({
            "workers": 1, "speed_up": 1.0, "application": [1.0, 0.0], "stealing": [0.0, 0.0],
            "searching": [0.0, 0.0],
        });
        let profiled = json!({
            "job": "fib=27", "serial": 1.0, "task": 1e-8, "parallelism": [9.0, 8.0],
            "steal": null, "breakdowns": [breakdown, breakdown],
        });
        let replay = json!({ "cycle": 1e-9, "runs": [] });
        let results = Results::of_parts(&parts(&trial), |part| match part.rsplit(", ").next() {
            Some("profiled") => profiled.clone(),
            Some("simulated") => json!([replay, replay]),
            _ => json!([]),
        });
        let report = report(&trial, &results).unwrap();
        let successful = "In all cases, the overhead of successful steals form a minor part of the execution time";
        assert_eq!(report.statements(), [successful]);
    }
}
