//! The operations that stealing takes: requests, and answers with tasks. Counts, not times.

use purloin_command::Failure;
use purloin_command::format::grouped;
use purloin_sim::Estimate;
use serde::{Deserialize, Serialize};

use super::{AMOUNTS, CHANNEL};
use crate::Results;
use crate::report::{Report, Verdict, or_dash, with_margin};
use crate::statistics::{Pair, mean_ratio};
use crate::trial::Trial;

/// The workloads: the slides compare one task and half with SPC. In BPC, each producer is stolen by
/// itself.
const WORKLOADS: [(&str, &str); 4] = [
    (SINGLE[0], "spc=30000,10"),
    (SINGLE[1], "spc=3000,100"),
    ("BPC, n = 9, 10 µs", "bpc=3000,9,10"),
    ("BPC, n = 29,999, 10 µs", "bpc=1,29999,10"),
];

/// The workloads of the slides on stealing.
const SINGLE: [&str; 2] = ["SPC, 10 µs", "SPC, 100 µs"];

/// The number of workers beside the largest of the run. With two workers, a thief has only one possible
/// victim.
const MANY_WORKERS: usize = 8;

/// The messages per stolen task under steal-half, divided by those under steal-one, up to which steal-half
/// takes fewer operations.
const FEWER: f64 = 0.9;

/// The counts of one run.
#[derive(Serialize, Deserialize)]
struct Counts {
    /// Tasks that thieves have got.
    stolen: u64,
    /// Requests that thieves have sent.
    requests: u64,
    /// Requests that a victim has answered with tasks.
    answers: u64,
}

/// All runs of a workload under one scheduler.
#[derive(Serialize, Deserialize)]
pub struct Operations {
    workload: String,
    job: String,
    scheduler: String,
    workers: usize,
    runs: Vec<Counts>,
}

impl Operations {
    fn values(&self, value: impl Fn(&Counts) -> f64) -> Vec<f64> {
        self.runs.iter().map(value).collect()
    }

    fn mean(&self, value: fn(&Counts) -> u64) -> f64 {
        Estimate::new(&self.values(|run| value(run) as f64)).mean
    }

    /// Returns the requests and answers for each stolen task, in the runs with steals.
    fn per_task(&self) -> Vec<f64> {
        let with_steals = self.runs.iter().filter(|run| run.stolen > 0);
        let per_task = |run: &Counts| (run.requests + run.answers) as f64 / run.stolen as f64;
        with_steals.map(per_task).collect()
    }

    /// Estimates the requests and answers for each stolen task, over all runs.
    fn mean_per_task(&self) -> Option<Estimate> {
        let messages = self.values(|run| (run.requests + run.answers) as f64);
        let stolen = self.values(|run| run.stolen as f64);
        (stolen.iter().sum::<f64>() > 0.0).then(|| Estimate::of_ratio(&messages, &stolen))
    }

    /// Returns the number of tasks in an answer, over all runs.
    fn per_answer(&self) -> f64 {
        self.mean(|run| run.stolen) / self.mean(|run| run.answers)
    }
}

/// Counts the operations of each workload, round by round.
pub fn measure(trial: &Trial) -> Result<Vec<Operations>, Failure> {
    let mut workers = vec![trial.most_workers(), MANY_WORKERS];
    workers.dedup();
    let mut all = Vec::new();
    for (workload, job) in WORKLOADS {
        for &workers in &workers {
            let mut of_job = AMOUNTS.map(|scheduler| Operations {
                workload: workload.to_string(),
                job: job.to_string(),
                scheduler: scheduler.to_string(),
                workers,
                runs: Vec::new(),
            });
            for _ in 0..12 {
                let cells = trial.cells(job, &AMOUNTS, &[workers], 1)?;
                for (cell, operations) in cells.iter().zip(&mut of_job) {
                    let stats = cell.stats.unwrap_or_default();
                    operations.runs.push(Counts {
                        stolen: stats.steals,
                        requests: stats.steal_attempts,
                        answers: stats.publications,
                    });
                }
            }
            all.extend(of_job);
        }
    }
    Ok(all)
}

/// Adds the section, with the table and the verdict.
pub fn report(results: &Results, report: &mut Report) -> Result<(), Failure> {
    report.section("The operations of stealing one task, or half of them");
    let all: Vec<Operations> = results.of(super::OPERATIONS)?;
    let rows: Vec<_> = all
        .iter()
        .filter(|operations| !operations.runs.is_empty())
        .map(|operations| {
            let count = |value| grouped(operations.mean(value).round() as u64);
            vec![
                operations.workload.clone(),
                format!("`{}`", operations.job),
                operations.workers.to_string(),
                format!("`{}`", operations.scheduler),
                count(|run| run.stolen),
                count(|run| run.requests),
                count(|run| run.answers),
                format!("{:.1}", operations.per_answer()),
                or_dash(operations.mean_per_task(), |mean| with_margin(mean, 3)),
            ]
        })
        .collect();
    report.table(
        &[
            "workload",
            "our input",
            "workers",
            "scheduler",
            "stolen tasks",
            "requests",
            "answers",
            "tasks per answer",
            "requests and answers per stolen task",
        ],
        &rows,
    );
    let runs = all.first().map_or(0, |operations| operations.runs.len());
    report.paragraph(&format!(
        "Counts under `{CHANNEL}`: means of {runs} runs. An *answer* is a message with tasks, and has at most 256 \
         of them. A request that no victim can answer is forwarded, and stays the same request. A thief that \
         recalls a request, and sends one to another worker, has sent two. A victim may take back tasks that it has \
         sent, so there can be fewer stolen tasks than answers: in BPC with n = 9, the victim is often back \
         before the thief begins. How many tasks are stolen depends on the processor time that each worker gets, so \
         compare the values per stolen task. Eight workers share this machine's processors."
    ));
    if let Some((ratio, pairs)) = saving(&all, &SINGLE) {
        let others = WORKLOADS.iter().map(|(workload, _)| *workload);
        let others = others.filter(|workload| !SINGLE.contains(workload));
        let others = others.filter_map(|workload| {
            let (ratio, _) = saving(&all, &[workload])?;
            Some(format!("in {workload}, {}", with_margin(ratio, 3)))
        });
        let others: Vec<_> = others.collect();
        report.verdict(
            FEWER_OPERATIONS,
            Verdict::not_above(ratio, FEWER),
            format!(
                "the slide says only this. We judge the claim behind it, that steal-half needs fewer operations. \
                 In SPC, the slides' workload for it, a stolen task takes {} times as many requests and answers \
                 if thieves get half as if they get one task (the geometric mean of {pairs} pairs of runs); we \
                 require at most {FEWER}. We do not judge BPC: {}",
                with_margin(ratio, 3),
                others.join(", and ")
            ),
        );
    }
    Ok(())
}

/// The line of the slide on steal-half, in its words.
pub const FEWER_OPERATIONS: &str = "⌊n/2⌋ tasks: Send &H' to thief";

/// Estimates the operations per stolen task under steal-half, divided by those under steal-one. Returns
/// the number of pairs of runs, too.
fn saving(all: &[Operations], workloads: &[&str]) -> Option<(Estimate, usize)> {
    let of = |scheduler: &'static str| {
        let matching = all.iter().filter(move |operations| {
            operations.scheduler == scheduler && workloads.contains(&operations.workload.as_str())
        });
        matching.map(Operations::per_task).collect::<Vec<_>>()
    };
    let [one, half, _] = AMOUNTS;
    let (one, half) = (of(one), of(half));
    // A run without steals would shift the pairs.
    let is_complete = one
        .iter()
        .zip(&half)
        .all(|(one, half)| one.len() == half.len());
    let pairs: Vec<Pair> = half
        .iter()
        .zip(&one)
        .map(|(half, one)| -> Pair { (half, one) })
        .collect();
    let number = pairs.iter().map(|(half, _)| half.len()).sum();
    let ratio = mean_ratio(&pairs)?;
    is_complete.then_some((ratio, number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use purloin_measure::arguments::parse_job;

    fn operations(scheduler: &str, workload: &str, requests: u64) -> Operations {
        let run = |stolen| Counts {
            stolen,
            requests,
            answers: requests,
        };
        Operations {
            workload: workload.to_string(),
            job: String::new(),
            scheduler: scheduler.to_string(),
            workers: 2,
            runs: vec![run(100), run(101), run(99)],
        }
    }

    #[test]
    fn half_of_the_operations_are_a_saving_of_one_half() {
        let all = [
            operations(AMOUNTS[0], SINGLE[0], 100),
            operations(AMOUNTS[1], SINGLE[0], 50),
            operations(AMOUNTS[1], WORKLOADS[2].0, 999),
        ];
        let (ratio, pairs) = saving(&all, &SINGLE).unwrap();
        assert!((ratio.mean - 0.5).abs() < 1e-9);
        assert_eq!(pairs, 3);
        assert!(saving(&[], &SINGLE).is_none());
    }

    #[test]
    fn all_inputs_are_valid() {
        for (_, job) in WORKLOADS {
            parse_job(job).unwrap();
        }
    }
}
