//! The report: tables and verdicts.

use purloin_command::Failure;
use purloin_command::format::{grouped, time};
use purloin_measure::bench::median;
use purloin_schedulers::Adaptive;
use purloin_sim::Estimate;

use super::barrier::{Barrier, TASKS, Waiter};
use super::messages::{Messages, Runs, SCHEDULERS, WORKERS};
use super::{
    BARRIER, CHANNEL, CHASE_LEV, EARLIER_PARTS, FUTURES, MESSAGES, OPENMP, OPENMP_LLVM,
    TWO_PROTOCOLS, lazy_splitting, operations, ranking, stealing,
};
use crate::Results;
use crate::report::{Report, Verdict, or_dash, with_margin};
use crate::statistics::{Pair, mean_ratio};
use crate::trial::{Measured, Trial};

pub fn report(trial: &Trial, results: &Results) -> Result<Report, Failure> {
    let mut report = Report::default();
    report.section("Names and methods");
    let earlier = match results.is_of(TWO_PROTOCOLS) {
        true => EARLIER_PARTS,
        false => "",
    };
    report.paragraph(&format!(
        "{earlier}**Channel WS** is `{CHANNEL}`: as in the paper, its workers know of each other only what \
         messages tell them. The source is a set of slides; we have not used the author's thesis. Channel WS \
         differs from the slides. Workers also tell the manager about work from outside the pool. When every \
         worker has seen a request, a worker that may get tasks keeps it; in the slides, the request \
         circulates among the idle workers. A victim can take back a task that it has sent, until the thief \
         begins it. A blocked worker asks the worker that runs the awaited task. And adaptive stealing, which \
         decides after every {} steals, counts a stolen task as one task, or as two if it has children. An answer has at most \
         256 tasks, so a thief that steals half gets no more than that. A thief that often loses its tasks to \
         their owners naps for 0.1 to 2 ms before it sends the next request; the slides have no such nap. \
         **Chase-Lev WS** is \
         `{CHASE_LEV}`, over the deques of `crossbeam-deque`. `return-barrier` is Purloin's default \
         scheduler, and `direct-stack` is Wool's. **OpenMP** is the peer `{OPENMP}`, compiled by g++, and \
         `{OPENMP_LLVM}`, compiled by clang++: its library is LLVM's, which Intel wrote and gave to LLVM. \
         Cilk Plus is no longer available.\n\n\
         **SPC**: a single producer spawns all tasks. **BPC**: each producer spawns the next producer and n \
         consumers. A *splittable* task is a loop that thieves can divide. The **master** is the worker that \
         runs the program. A **finish** is a block that ends when all tasks spawned in it have ended.\n\n\
         Speed-ups are those of {} workers over the serial elision, and for OpenMP over the sequential form \
         in C++. They are medians of three runs{}. Each table has runs of its own, also of the serial \
         elision. Some exceed the number of workers, because other programs \
         use the processors, too. The slides show curves without numbers, except for the ranking. Some of \
         the statements above are titles of slides or lines of lists. We judge the claim behind each one, \
         with limits of our own. The workloads have the names of the slides. With `--quick`, our inputs are \
         smaller than the names say.",
        Adaptive::INTERVAL,
        trial.most_workers(),
        trial.choose(
            "",
            ". The last five workloads, which are loops, ran fifteen times, and SPC with tasks \
             of 100 µs once, because it takes 100 seconds of work"
        )
    ));
    ranking::ranking(trial, results, &mut report)?;
    barrier(results, &mut report)?;
    messages(trial, results, &mut report)?;
    futures(trial, results, &mut report)?;
    let worst_adaptive = stealing::stealing(trial, results, &mut report)?;
    operations::report(results, &mut report)?;
    lazy_splitting::report(trial, results, &mut report)?;
    stealing::simulated(trial, results, worst_adaptive, &mut report)?;
    ranking::performance(&mut report);
    Ok(report)
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
    let rounds = barriers
        .first()
        .map_or(0, |barrier| barrier.seconds[0].len());
    report.paragraph(&format!(
        "The time from the first spawn to the end of the barrier: the median of {rounds} rounds, each with a \
         new pool. A thread outside the pool waits in `Pool::wait`. Under Channel WS, one \
         worker, the manager, detects from the workers' requests that all are idle. The other schedulers \
         count jobs. In the slides, the master thread, which is a worker, spawns the tasks and takes part \
         while it waits. No worker of a pool may wait for the whole pool here. A finish waits only for its \
         own tasks, so it needs no termination detection. The slides plot the time of the barrier without numbers."
    ));
    let outside = |scheduler: &str| -> Vec<&Barrier> {
        let of = barriers
            .iter()
            .filter(|barrier| barrier.scheduler == scheduler && barrier.waiter == Waiter::Outside);
        of.collect()
    };
    let (channel_pools, deque_pools) = (outside(CHANNEL), outside(CHASE_LEV));
    let pairs = || channel_pools.iter().zip(&deque_pools);
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
        let slow = [&channel_pools, &deque_pools].map(|pools| {
            let of = pools.iter().map(|barrier| &barrier.seconds[one_task]);
            let slow = of.clone().map(|seconds| slow_pools(seconds));
            let all = of.map(Vec::len);
            format!("{} of {}", slow.sum::<usize>(), all.sum::<usize>())
        });
        report.verdict(
            "Termination detection with steal requests (task barrier)",
            slower.of_the_opposite(),
            format!(
                "after one task per worker, a barrier takes {} times as long under Channel WS as under \
                 Chase-Lev WS, which counts jobs; we allow 1.5. These are geometric means over pairs of \
                 pools. The ratios of the medians are {}. {} pools of Channel WS, and {} of Chase-Lev WS, take \
                 more than twice the median of their scheduler and number of workers. Without tasks, {} \
                 workers take {} instead of {}; we do not judge this, because Chase-Lev WS then has nothing \
                 to count. In these runs, the waiting thread is outside the pool; in the slides, it is a \
                 worker",
                cells.collect::<Vec<_>>().join(" and "),
                medians.collect::<Vec<_>>().join(" and "),
                slow[0],
                slow[1],
                channel.workers,
                time(median(&channel.seconds[0])),
                time(median(&deque.seconds[0])),
            ),
        );
    }
    Ok(())
}

/// Returns how many pools take more than twice the median time.
fn slow_pools(seconds: &[f64]) -> usize {
    let limit = 2.0 * median(seconds);
    seconds.iter().filter(|&&time| time > limit).count()
}

/// The least share of requests that thieves send while they have a task, in percent.
const EARLY: f64 = 10.0;

fn messages(trial: &Trial, results: &Results, report: &mut Report) -> Result<(), Failure> {
    report.section("Forwarding requests, or sending them back");
    let all: Vec<Runs> = results.of(MESSAGES)?;
    let with_runs = all.iter().filter(|runs| !runs.runs.is_empty());
    let rows: Vec<_> = with_runs
        .map(|runs| {
            let count =
                |value: fn(&Messages) -> u64| with_margin(runs.mean(|run| value(run) as f64), 0);
            vec![
                format!("`{}`", runs.job),
                format!("`{}`", runs.scheduler),
                time(runs.mean(|run| run.seconds).mean),
                count(|run| run.steals),
                count(|run| run.requests),
                or_dash(runs.answers(), |answers| with_margin(answers, 0)),
                with_margin(runs.early(), 2),
                count(|run| run.forwards),
                count(|run| run.idle_registrations),
                count(|run| run.updates),
                count(|run| run.control_messages),
                with_margin(Estimate::new(&runs.per_steal()), 2),
            ]
        })
        .collect();
    report.table(
        &[
            "workload",
            "scheduler",
            "time",
            "steals",
            "requests",
            "answers",
            "% of requests early",
            "forwarded or sent back",
            "idle registrations",
            "updates",
            "control messages",
            "messages per steal",
        ],
        &rows,
    );
    report.paragraph(&format!(
        "BPC with n = 9 and SPC, with tasks of 10 µs, on {WORKERS} workers, which share this machine's \
         processors: means of {} runs. Without forwarding, the victim sends the request back, and the thief \
         sends a new request to another worker. A request is *early* if the thief sends it before it \
         begins a stolen task. Control messages are neither requests nor answers: updates, messages about work \
         from outside the pool, and withdrawals of leapfrog requests. The slides have only updates, because all \
         their work begins at the master. An answer is a message with \
         tasks; a dash means that the run did not count answers. Messages per steal is (requests + forwarded or \
         sent back + control messages) / steals, without answers. Registrations send no message: the manager registers a worker as idle when it \
         receives its request.",
        all.first().map_or(0, |runs| runs.runs.len())
    ));
    let (bpc, spc) = all.split_at(all.len().min(SCHEDULERS.len()));
    let ([forwarded, acknowledged], [spc_forwarded, spc_acknowledged]) = (bpc, spc) else {
        return Ok(());
    };
    let per_steal = |with: &Runs, without: &Runs| [with.per_steal(), without.per_steal()];
    let pairs = [
        per_steal(forwarded, acknowledged),
        per_steal(spc_forwarded, spc_acknowledged),
    ];
    let pairs = pairs
        .each_ref()
        .map(|[with, without]| -> Pair { (with, without) });
    let ratios = pairs.map(|pair| mean_ratio(&[pair]));
    if let (Some(both), [Some(of_bpc), Some(of_spc)]) = (mean_ratio(&pairs), ratios) {
        if trial.most_workers() < WORKERS {
            report.paragraph(
                "There are more workers than processors here. A request that reaches a worker without a processor \
                 waits there until the operating system runs that worker, often for milliseconds.",
            );
        }
        report.verdict(
            "Forwarding reduces number of messages",
            Verdict::not_above(both, 1.0),
            format!(
                "with forwarding, a steal on {WORKERS} workers takes {} times as many messages as without: in \
                 BPC {} times, and in SPC {} times. These are geometric means over pairs of runs. We require \
                 at most 1. The slide names no workload for this",
                with_margin(both, 2),
                with_margin(of_bpc, 2),
                with_margin(of_spc, 2)
            ),
        );
        let early = [[forwarded, spc_forwarded], [acknowledged, spc_acknowledged]];
        let early = early.map(|of_jobs| of_jobs.map(Runs::early));
        let [with, without] = early.map(|[bpc, spc]| bpc.minus(spc.scaled(-1.0)).scaled(0.5));
        let more = with.minus(without);
        let [[bpc_with, spc_with], [bpc_without, spc_without]] =
            early.map(|of_jobs| of_jobs.map(|share| with_margin(share, 2)));
        report.verdict(
            "facilitates asynchronous stealing",
            Verdict::above(with, EARLY).and(Verdict::above(more, 0.0)),
            format!(
                "with forwarding, thieves of SPC send {spc_with} % of their requests early, before they begin \
                 a stolen task, and such a request goes from worker to worker while the thief works. Without \
                 forwarding, an early request that finds no task comes back, and the thief sends the next one \
                 when it has nothing left to do: {spc_without} % of the requests are early. In BPC, the shares \
                 are {bpc_with} % and {bpc_without} %: a thief asks early if its last stolen task had no \
                 children, but the oldest task of a worker, which thieves get, is often a producer. For the \
                 mean of both workloads, we require at least {EARLY:.0} %, and more than without. The slide \
                 names no workload for this"
            ),
        );
        let mean = |value: fn(&Messages) -> u64| forwarded.mean(|run| value(run) as f64).mean;
        let [requests, control, updates] = [
            mean(|run| run.requests),
            mean(|run| run.control_messages),
            mean(|run| run.updates),
        ];
        report.verdict(
            "Avoids separate control messages",
            Verdict::confirmed_if(updates < 0.01 * requests),
            format!(
                "in the mean run of BPC, Channel WS sends {updates:.0} updates, which are the slides' control \
                 messages, for {} requests; we require less than 1 %. Channel WS also sends {} control messages \
                 that the slides do not have: they withdraw leapfrog requests, or are about work from outside \
                 the pool. They are not needed to detect termination",
                grouped(requests.round() as u64),
                grouped((control - updates).round() as u64)
            ),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::channel::{SPLITTABLE, parts};

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
}
