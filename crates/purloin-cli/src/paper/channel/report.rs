//! The report: tables and verdicts.

use purloin_command::Failure;
use purloin_command::format::time;
use purloin_sim::Estimate;

use super::barrier::{Barrier, TASKS, Waiter};
use super::messages::{Messages, Runs, WORKERS};
use super::{
    BARRIER, CHANNEL, CHASE_LEV, FUTURES, MESSAGES, OPENMP, RANKED, STRICT, WORKLOADS, stealing,
};
use crate::bench::median;
use crate::paper::Results;
use crate::paper::report::{Pair, Report, Verdict, mean_ratio, or_dash, with_margin};
use crate::paper::trial::{Measured, Trial};

pub fn report(trial: &Trial, results: &Results) -> Result<Report, Failure> {
    let mut report = Report::default();
    report.section("Names and methods");
    report.paragraph(&format!(
        "**Channel WS** is `{STRICT}`: as in the paper, its workers know of each other only what \
         messages tell them. In `{CHANNEL}`, a thief also sees which workers are active, and can \
         recall its request ([why](../decisions/channel-requests-as-bits.md)). **Chase-Lev WS** is \
         `{CHASE_LEV}`, over the deques of `crossbeam-deque`. `return-barrier` is Purloin's default \
         scheduler, and `direct-stack` is Wool's. **OpenMP** is the peer `{OPENMP}`, compiled by g++. \
         Cilk Plus is no longer available.\n\n\
         **SPC**: a single producer spawns all tasks. **BPC**: each producer spawns the next producer and n \
         consumers. A *splittable* task is a loop that thieves can divide. The **master** is the worker that \
         runs the program. A **finish** is a block that ends when all tasks spawned in it have ended.\n\n\
         Speed-ups are those of {} workers over the serial elision, and for OpenMP over the sequential form \
         in C++. They are medians{}. Some exceed the number of workers, because other programs use the \
         processors, too. The source is a set of slides. They show curves without numbers, except for the \
         ranking. Some of the statements above are titles of slides or lines of lists. We judge the claim \
         behind each one, with limits of our own. The workloads have the names of the slides. With \
         `--quick`, our inputs are smaller than the names say.",
        trial.most_workers(),
        trial.choose(
            " of five runs",
            " of three runs, but of fifteen for the loops of the last five workloads; SPC with tasks of \
             100 µs, a hundred seconds of work, ran once"
        )
    ));
    ranking(trial, results, &mut report)?;
    barrier(results, &mut report)?;
    messages(results, &mut report)?;
    futures(trial, results, &mut report)?;
    let worst_adaptive = stealing::stealing(trial, results, &mut report)?;
    stealing::splitting_loops(trial, results, &mut report)?;
    stealing::simulated(trial, results, worst_adaptive, &mut report)?;
    Ok(report)
}

/// Returns the run of a scheduler with all workers.
pub(super) fn with_all<'c>(
    trial: &Trial,
    cells: &'c [Measured],
    scheduler: &str,
) -> Option<&'c Measured> {
    let most = trial.most_workers();
    let mut cells = cells.iter();
    cells.find(|cell| cell.scheduler == scheduler && cell.workers == most)
}

pub(super) fn speed_up(trial: &Trial, cells: &[Measured], scheduler: &str) -> Option<f64> {
    with_all(trial, cells, scheduler).map(|cell| 1.0 / cell.vs_serial)
}

fn ranking(trial: &Trial, results: &Results, report: &mut Report) -> Result<(), Failure> {
    report.section("Performance: all workloads, and the ranking");
    let mut rows = Vec::new();
    let mut deviations = vec![Vec::new(); RANKED.len()];
    // Those of Channel WS and OpenMP, for the workloads that both have.
    let mut both: Vec<[f64; 2]> = Vec::new();
    for workload in WORKLOADS {
        let cells: Vec<Measured> = results.of(workload.name)?;
        let speed_ups = RANKED.map(|scheduler| speed_up(trial, &cells, scheduler));
        let best = speed_ups.into_iter().flatten().fold(0.0, f64::max);
        let mut row = vec![
            workload.name.to_string(),
            format!("`{}`", workload.job(trial)),
        ];
        let deviation = |speed_up: Option<f64>| speed_up.map(|value| 100.0 * (value / best - 1.0));
        for (speed_up, deviations) in speed_ups.iter().zip(&mut deviations) {
            row.push(or_dash(*speed_up, |value| format!("{value:.2}")));
            deviations.extend(deviation(*speed_up));
        }
        let of = |name| deviation(speed_ups[RANKED.iter().position(|&ranked| ranked == name)?]);
        both.extend(
            of(STRICT)
                .zip(of(OPENMP))
                .map(|(channel, openmp)| [channel, openmp]),
        );
        rows.push(row);
    }
    let names = RANKED.map(|scheduler| format!("`{scheduler}`"));
    let mut head = vec!["workload (slides)", "our input"];
    head.extend(names.iter().map(String::as_str));
    report.table(&head, &rows);
    let means = deviations.iter().map(|values| match values.len() {
        0 => None,
        count => Some(values.iter().sum::<f64>() / count as f64),
    });
    let means: Vec<_> = means.collect();
    report.paragraph(
        "**Ranking**: the mean deviation from the best median speed-up, over the workloads that the \
         scheduler has. Here the best is that of six schedulers. The slides have four; the fourth is Cilk \
         Plus (-4.6 %, -6.9 % and -28.1 %). They rank 21 workloads, which they do not list. g++'s OpenMP \
         keeps the tasks of all threads behind one lock. So UTS, whose tasks take less than a microsecond, \
         gains little from a second thread, and queens loses. It splits loops by `schedule(guided)`: the first \
         half of the decreasing loop, which one thread gets, has three quarters of the work.",
    );
    let published = RANKED.map(|scheduler| match scheduler {
        STRICT => ["-2.4 %", "-2.4 %", "-13.7 %"],
        CHASE_LEV => ["-1.6 %", "-2.2 %", "-13.7 %"],
        _ => [""; 3],
    });
    let counts = deviations.iter().map(Vec::len);
    let ranked = RANKED.iter().zip(&means).zip(counts).zip(published);
    let mut ranked: Vec<_> = ranked.collect();
    ranked.sort_by(|(((_, a), _), _), (((_, b), _), _)| {
        let value = |mean: &Option<f64>| mean.unwrap_or(f64::NEG_INFINITY);
        value(b).total_cmp(&value(a))
    });
    let mut rows: Vec<_> = ranked
        .into_iter()
        .map(|(((scheduler, mean), count), published)| {
            let mut row = vec![
                format!("`{scheduler}`"),
                mean.map_or("left out".to_string(), |mean| format!("{mean:.1} %")),
                count.to_string(),
            ];
            row.extend(published.map(|text| if text.is_empty() { "–" } else { text }.to_string()));
            row
        })
        .collect();
    let intel = ["Intel OpenMP", "–", "–", "-10.7 %", "-21.8 %", "-22.2 %"];
    rows.push(intel.map(str::to_string).into());
    report.table(
        &[
            "scheduler",
            "here",
            "workloads",
            "slides: 24 threads, Xeon",
            "slides: 48 threads, Opteron",
            "slides: 240 threads, Xeon Phi",
        ],
        &rows,
    );
    let mean = |name| {
        let index = RANKED.iter().position(|&scheduler| scheduler == name);
        index.and_then(|index| means[index])
    };
    if let (Some(channel), Some(deque)) = (mean(STRICT), mean(CHASE_LEV)) {
        let relaxed = or_dash(mean(CHANNEL), |mean| format!("{mean:.1} %"));
        let of = |name| RANKED.iter().position(|&scheduler| scheduler == name);
        let lead = of(CHASE_LEV).zip(of(STRICT)).map(|(deque, channel)| {
            let pairs = deviations[deque].iter().zip(&deviations[channel]);
            let leads: Vec<_> = pairs.map(|(deque, channel)| deque - channel).collect();
            Estimate::new(&leads)
        });
        if let Some(lead) = lead {
            report.verdict(
                "1. Chase-Lev WS, 2. Channel WS",
                is_close_second(lead),
                format!(
                    "here Chase-Lev WS deviates by {deque:.1} %, and Channel WS by {channel:.1} % \
                     (`{CHANNEL}`: {relaxed}); on average over the workloads, Chase-Lev WS is ahead by {} \
                     points (slides, 24 threads: 0.8); we require more than 0, and up to {CLOSE:.0}",
                    with_margin(lead, 1)
                ),
            );
        }
    }
    // The workloads that exist in C++.
    let average = |values: Vec<f64>| {
        let count = values.len() as f64;
        (count > 0.0).then(|| values.iter().sum::<f64>() / count)
    };
    let of_channel = average(both.iter().map(|[channel, _]| *channel).collect());
    if let (Some(channel), Some(openmp)) = (of_channel, mean(OPENMP)) {
        report.verdict(
            "4. Intel OpenMP",
            Verdict::Untestable,
            format!(
                "Intel's runtime is not here (slides: fourth with 24 and 48 threads, third with 240). g++'s OpenMP, which has a \
                 central task pool, deviates by {openmp:.1} % over the {} workloads that exist in C++, and \
                 Channel WS by {channel:.1} % over the same ones",
                both.len()
            ),
        );
    }
    let uts: Vec<Measured> = results.of("UTS")?;
    if let (Some(distributed), Some(central)) =
        (speed_up(trial, &uts, STRICT), speed_up(trial, &uts, OPENMP))
    {
        report.verdict(
            "Central versus Distributed Task Pools (UTS)",
            Verdict::confirmed_if(distributed > 1.1 * central),
            format!(
                "with the central task pool of g++'s OpenMP, UTS has a speed-up of {central:.2}, and \
                 with the distributed ones of Channel WS {distributed:.2} (medians); we require 1.1 times as \
                 much. The slide compares two runtimes of OpenMP, g++'s and Intel's"
            ),
        );
    }
    if let Some(channel) = mean(STRICT) {
        report.verdict(
            "private dequeues, channel communication: Flexibility",
            Verdict::Confirmed,
            format!(
                "how much to steal, how to split loops, and whether to forward requests are options of one \
                 scheduler, `{CHANNEL}`; we require only that they exist. The tables below compare them"
            ),
        );
        report.verdict(
            "Workers forward steal requests, adapt their stealing strategy, split tasks lazily: Performance",
            Verdict::Untestable,
            format!(
                "Channel WS deviates by {channel:.1} % from the best of six schedulers. But with {} workers, a \
                 request has few workers to go to, and all ways of splitting halve a loop. The statements \
                 below judge forwarding, adaptive stealing and splitting one by one",
                trial.most_workers()
            ),
        );
    }
    Ok(())
}

/// The number of points by which a close second may be behind.
const CLOSE: f64 = 5.0;

/// Judges whether the first scheduler ranks closely before the second.
fn is_close_second(lead: Estimate) -> Verdict {
    match Verdict::above(lead, 0.0) {
        Verdict::Confirmed if lead.mean > CLOSE => Verdict::NotHere,
        verdict => verdict,
    }
}

fn futures(trial: &Trial, results: &Results, report: &mut Report) -> Result<(), Failure> {
    report.section("Channel-based futures");
    let cells: Vec<Measured> = results.of(FUTURES.name)?;
    let rows: Vec<_> = cells
        .iter()
        .map(|cell| {
            // The serial elision calls the function instead.
            let serial = cell.median / cell.vs_serial;
            let cost = (cell.median * cell.workers as f64 - serial) / cell.tasks as f64;
            vec![
                format!("`{}`", cell.scheduler),
                cell.workers.to_string(),
                time(cell.median),
                time(cost.max(0.0)),
                cell.steals.to_string(),
            ]
        })
        .collect();
    report.table(
        &[
            "scheduler",
            "workers",
            "run time",
            "processor time per future",
            "steals",
        ],
        &rows,
    );
    report.paragraph(&format!(
        "`{}` computes Fibonacci numbers with one future for each addition. The processor time per future \
         is (workers × run time - serial time) / futures. The slides build fork/join from futures, and plot \
         its speed-ups for tree recursion, queens and sorting (above) without numbers.",
        FUTURES.job(trial)
    ));
    Ok(())
}

fn barrier(results: &Results, report: &mut Report) -> Result<(), Failure> {
    report.section("The task barrier");
    let barriers: Vec<Barrier> = results.of(BARRIER)?;
    let rows: Vec<_> = barriers
        .iter()
        .map(|barrier| {
            let waiter = match barrier.waiter {
                Waiter::Outside => "outside the pool",
                Waiter::Master => "master",
                Waiter::Finish => "worker, in a finish",
            };
            let mut row = vec![
                format!("`{}`", barrier.scheduler),
                waiter.to_string(),
                barrier.workers.to_string(),
            ];
            let medians = barrier.seconds.iter().map(|seconds| median(seconds));
            row.extend(medians.map(time));
            row
        })
        .collect();
    let heads = TASKS.map(|tasks| format!("tasks per worker: {tasks}"));
    let mut head = vec!["scheduler", "waiting thread", "workers"];
    head.extend(heads.iter().map(String::as_str));
    report.table(&head, &rows);
    report.paragraph(
        "The time from the first spawn to the end of the barrier: the median of 20 rounds, each with a new \
         pool. The times of pools fall into two groups, so medians vary from run to run. A thread outside the \
         pool waits in `Pool::wait`. Under the two channel schedulers, one worker, the manager, detects from \
         the workers' requests that all are idle. The other schedulers count jobs. The master is a worker, as \
         in the slides: it pushes tasks to its own stack, and runs tasks while it waits in `Pool::wait`. A \
         finish waits only for its own tasks, so it needs no termination detection. The slides plot the time \
         of the barrier without numbers.",
    );
    let outside = |scheduler: &str| -> Vec<&Barrier> {
        let of = barriers
            .iter()
            .filter(|barrier| barrier.scheduler == scheduler && barrier.waiter == Waiter::Outside);
        of.collect()
    };
    let (channel, deque) = (outside(STRICT), outside(CHASE_LEV));
    let pairs = || channel.iter().zip(&deque);
    // With more tasks, most of the time goes into spawning them.
    let one_task = 1;
    let ratios = pairs().filter_map(|(channel, deque)| {
        let pair: Pair = (&channel.seconds[one_task], &deque.seconds[one_task]);
        mean_ratio(&[pair])
    });
    let ratios: Vec<_> = ratios.collect();
    if let (Some((channel, deque)), Some(slower)) =
        (pairs().next(), Verdict::some_above(&ratios, 1.5))
    {
        let cells = pairs().zip(&ratios).map(|((channel, _), ratio)| {
            format!("{} ({} workers)", with_margin(*ratio, 2), channel.workers)
        });
        let medians = pairs().map(|(channel, deque)| {
            let [channel, deque] =
                [channel, deque].map(|barrier| median(&barrier.seconds[one_task]));
            format!("{:.2}", channel / deque)
        });
        report.verdict(
            "Termination detection with steal requests (task barrier)",
            slower.of_the_opposite(),
            format!(
                "after one task per worker, a barrier takes {} times as long under Channel WS as under \
                 Chase-Lev WS, which counts jobs; we allow 1.5. These are geometric means over pairs of \
                 pools. The times fall into two groups, so the ratios of the medians differ: {}. Without \
                 tasks, two workers take {} instead of {}; we do not judge this, because a count of no jobs \
                 needs no messages",
                cells.collect::<Vec<_>>().join(" and "),
                medians.collect::<Vec<_>>().join(" and "),
                time(median(&channel.seconds[0])),
                time(median(&deque.seconds[0]))
            ),
        );
    }
    Ok(())
}

fn messages(results: &Results, report: &mut Report) -> Result<(), Failure> {
    report.section("Forwarding against acknowledgements");
    let all: Vec<Runs> = results.of(MESSAGES)?;
    let with_runs = all.iter().filter(|runs| !runs.runs.is_empty());
    let rows: Vec<_> = with_runs
        .map(|runs| {
            let count =
                |value: fn(&Messages) -> u64| with_margin(runs.mean(|run| value(run) as f64), 0);
            vec![
                format!("`{}`", runs.scheduler),
                time(runs.mean(|run| run.seconds).mean),
                count(|run| run.steals),
                count(|run| run.requests),
                count(|run| run.forwards),
                count(|run| run.idle_registrations),
                count(|run| run.updates),
                with_margin(runs.per_steal(), 2),
            ]
        })
        .collect();
    report.table(
        &[
            "scheduler",
            "time",
            "steals",
            "requests",
            "passed on or sent back",
            "idle registrations",
            "updates",
            "messages per steal",
        ],
        &rows,
    );
    report.paragraph(&format!(
        "BPC with n = 9 and tasks of 10 µs, on {WORKERS} workers, which share this machine's \
         processors: means of {} runs. Without forwarding, the victim sends the request back, and the thief \
         asks another worker. That is a new request. Messages per steal is (requests + passed on or sent back \
         + updates) / steals, over all runs together. A registration is not another message, but what the \
         manager does with a request. Only Channel WS has registrations and updates.",
        all.first().map_or(0, |runs| runs.runs.len())
    ));
    if let [forwarded, acknowledged, ..] = &all[..]
        && !forwarded.runs.is_empty()
    {
        let ratio = |value: &dyn Fn(&Messages) -> f64| {
            Estimate::of_ratio(&forwarded.values(value), &acknowledged.values(value))
        };
        let messages = ratio(&|run| run.total() as f64);
        let steals = ratio(&|run| run.steals as f64);
        let [with, without] = [forwarded, acknowledged].map(Runs::per_steal);
        let relative = |value: Estimate| value.margin / value.mean;
        let mean = with.mean / without.mean;
        let per_steal = Estimate {
            mean,
            margin: mean * relative(with).hypot(relative(without)),
        };
        report.verdict(
            "Forwarding reduces number of messages",
            Verdict::not_above(per_steal, 1.0),
            format!(
                "with forwarding, a steal of BPC on {WORKERS} workers takes {} times as many messages as \
                 without. A run takes {} times as many, but also makes {} times as many steals",
                with_margin(per_steal, 2),
                with_margin(messages, 2),
                with_margin(steals, 2)
            ),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::paper::channel::{SPLITTABLE, parts};

    #[test]
    fn missing_data_get_no_verdict() {
        let trial = Trial::new(true);
        let results = Results::of_parts(&parts(&trial), |part| match part {
            SPLITTABLE => json!([[], []]),
            _ => json!([]),
        });
        let report = report(&trial, &results).unwrap();
        assert!(report.statements().is_empty());
    }

    #[test]
    fn a_ranking_is_an_order_with_a_small_distance() {
        let judge = |mean, margin| is_close_second(Estimate { mean, margin });
        assert_eq!(judge(0.8, 0.5), Verdict::Confirmed);
        assert_eq!(judge(0.3, 1.2), Verdict::Undecided);
        assert_eq!(judge(-0.8, 0.5), Verdict::NotHere);
        assert_eq!(judge(18.4, 0.5), Verdict::NotHere);
    }
}
