//! The report: tables, pictures and verdicts. `overheads.rs` has those on the overheads of steals, and
//! `speed.rs` those on the speed of programs.

use purloin_command::Failure;
use purloin_measure::bench::StealCosts;
use purloin_sim::Estimate;

use super::shared::{bars, each, in_percent, percent, picture};
use super::{BARRIER_WS, BENCHMARKS, DEFAULT_WS, Data, PURLOIN, SYSTEMS, overheads, speed, steals};
use crate::Results;
use crate::report::{Report, Verdict, or_dash};
use crate::statistics::{all_at_once, deciding};
use crate::trial::Trial;

pub fn report(trial: &Trial, results: &Results) -> Result<Report, Failure> {
    let data = Data::read(trial, results)?;
    let mut report = Report::default();
    report.section("Names and methods");
    let like_java = BENCHMARKS.iter().filter_map(|benchmark| {
        let [quick, full] = benchmark.java?;
        Some(format!("`{}`", trial.choose(quick, full)))
    });
    let like_java: Vec<_> = like_java.collect();
    report.paragraph(&format!(
        "**DefaultWS** is the scheduler `{DEFAULT_WS}`: a thief asks its victim. The victim offers one task and waits until \
         the thief has it, for at most 20 µs. If no thief is awake, the victim wakes a thief and does not \
         wait for it. **ReturnBarrierWS** is `{BARRIER_WS}`: the victim makes up to 32 tasks public and goes \
         on. Thieves take all but the first of them without a request: these steals are *free*. **Purloin** \
         is `{PURLOIN}`, in which a thief may also take a task by force from a victim that does not answer \
         for 30 µs. In all three, a victim also offers a task unasked when it begins to spawn in a stolen \
         task, and after it has received the result of a stolen task. In the paper, the thief walks the \
         victim's stack, and moves a continuation. Here it moves a closure that lies ready in a slot, so \
         there is no stack to walk. We compare only the cost of the interruption.\n\n\
         In these points, both systems differ from the paper's: Victims offer tasks unasked, as \
         above, and for this a victim reads the clock when it makes tasks public and when it receives a \
         result. Idle workers fall asleep, so they steal less often than the paper's. A blocked worker that \
         finds nothing lends its processor to a spare worker. To measure Figures 5, 7 and 9, a victim reads \
         the clock before and after each answer and each return to a public task. One of the two readings \
         counts as overhead, so these figures are a little too high.\n\n\
         Jacobi and LUD join halves and quadrants recursively, down to rows and to blocks of 16 × 16. FFT \
         divides its data down to single points, and combines them in loops. CilkSort divides down to three \
         values. Barnes-Hut builds its tree in parallel and computes the forces in a loop over the bodies. \
         The Java programs use more loops, and cut-offs, so we also run ReturnBarrierWS on programs of that \
         form (column *Java's form*): {1}. The simulated CilkSort has that form, too, because a recording of all \
         its tasks does not fit into memory. In the simulations, the parts of loops count as tasks.\n\n\
         Measured values are those of {} workers, with 95 % confidence intervals (Student's t) over \
         the runs. The paper's are those of up to 16 threads on two Xeon E5-2450, the means of the last five \
         of 15 iterations in 20 invocations; its Jacobi has 1024 × 1024 points, FFT 2²⁰ points, CilkSort 10 \
         million values, Barnes-Hut 100,000 bodies, UTS the tree T2, and LUD a matrix of 1024 × 1024. For 2 \
         to 16 cores, we record the serial elision of each benchmark, and simulate thieves on cores that \
         share memory. A simulated steal takes 1 µs. It also delays its victim by the median cost of a steal \
         that we measured for the benchmark and the system with {0} workers. A dash means that the peer is \
         not installed, that the paper gives no value, or that nothing was stolen.",
        data.workers,
        like_java.join(", ")
    ));
    steals::steals(trial, &data, &mut report);
    overheads::overheads(&data, &mut report);
    barrier(&data, &mut report);
    speed::times(&data, &mut report);
    Ok(report)
}

/// Adds the section on Figures 9 and 10.
fn barrier(data: &Data, report: &mut Report) {
    report.section("Figures 9 and 10: the barrier's own cost, and free steals");
    // Of all steals of all runs, so that runs with few steals weigh little.
    let free = |place| {
        let value = |figure: fn(&StealCosts) -> Option<f64>| data.costs(place, BARRIER_WS, figure);
        let steals = value(|costs| Some(costs.steal_ratio? * costs.free_steal_share.map(|_| 1.0)?));
        let free = value(|costs| Some(costs.steal_ratio? * costs.free_steal_share?));
        (steals.iter().sum::<f64>() > 0.0).then(|| Estimate::of_ratio(&free, &steals))
    };
    let rows: Vec<_> = each(|place, benchmark| {
        let cost = |scheduler| {
            let cost = data.figure(place, scheduler, |costs| Some(costs.barrier_cost));
            or_dash(cost, percent)
        };
        vec![
            benchmark.name.to_string(),
            cost(DEFAULT_WS),
            cost(BARRIER_WS),
            or_dash(free(place), percent),
            benchmark.free.to_string(),
        ]
    });
    report.table(
        &[
            "benchmark",
            "owners taking back public tasks, DefaultWS",
            "owners taking back public tasks, ReturnBarrierWS",
            "free steals",
            "paper: free steals",
        ],
        &rows,
    );
    let cost = |place, scheduler| data.figure(place, scheduler, |costs| Some(costs.barrier_cost));
    let panels = vec![
        bars("owners taking back public tasks, % of the time", |place| {
            [DEFAULT_WS, BARRIER_WS]
                .map(|scheduler| cost(place, scheduler).map(in_percent))
                .into()
        }),
        bars("free steals, % of the steals", |place| {
            vec![None, free(place).map(in_percent)]
        }),
    ];
    report.picture(
        "barrier",
        picture("Figures 9 and 10, measured", &SYSTEMS, 0.0, panels),
    );
    report.paragraph(
        "The barrier is the boundary between public and private tasks. The table shows the share of processor \
         time in which owners return to public tasks, which is a part of the overhead above. Most of it is \
         needed without a barrier, too: an owner must find out that a task was stolen. Only the difference of \
         the two columns is the barrier's cost. In the paper, the barrier costs 0.04 % (UTS) to 0.95 % \
         (Jacobi) of the time with 16 threads. The maximum at any number of threads is 1.1 % (Barnes-Hut).",
    );
    report.paragraph(
        "The column *free steals* gives their share of all steals in all runs. The paper explains these \
         shares by the depth of the victim's stack. When work is divided evenly (Jacobi, FFT, CilkSort, \
         LUD), the stolen part takes as long as everything that stays with the owner. So we expect few free \
         steals: the owner has used up its public tasks when the thief comes back. In UTS, we expect many: a \
         thief soon comes back, and finds a deep stack.",
    );
    cost_of_barrier(data, report);
    let named = each(|place, benchmark| Some((benchmark.name, free(place)?)));
    let named: Vec<_> = named.into_iter().flatten().collect();
    most_free_steals(&named, report);
    let shares: Vec<_> = named.into_iter().map(|(_, share)| share).collect();
    if !shares.is_empty() {
        let common = shares.iter().map(|&share| Verdict::above(share, 0.5));
        let common: Vec<_> = common.collect();
        report.verdict(
            "allows a thief to steal from a victim's stack without requiring the victim to yield in \
             the common case",
            Verdict::most(&common),
            format!(
                "we count free steals, for which the victim does nothing at all. In {} of {} benchmarks, \
                 certainly more than half of the steals are free; the verdict needs more than half of the \
                 benchmarks. \
                 In the paper, 1.5 to 30 % are free, also less than half. In another reading, the statement \
                 holds for all steals: with the barrier, our victims never wait for a thief",
                common.iter().filter(|&&one| one == Verdict::Confirmed).count(),
                shares.len()
            ),
        );
    }
}

/// The benchmarks with the highest share of free steals in the paper (section 6.3).
const MOST_FREE: [&str; 2] = ["UTS", "CilkSort"];

/// Judges which benchmarks have the most free steals.
fn most_free_steals(shares: &[(&'static str, Estimate)], report: &mut Report) {
    if shares.len() < BENCHMARKS.len() {
        return;
    }
    let (names, values): (Vec<_>, Vec<_>) = shares.iter().copied().unzip();
    let wide = all_at_once(&values);
    let is_of_most = |place: &usize| MOST_FREE.contains(&names[*place]);
    let (most, others): (Vec<_>, Vec<_>) = (0..wide.len()).partition(is_of_most);
    let differences = most.iter().flat_map(|&place| {
        let others = others.iter().map(|&other| wide[place].minus(wide[other]));
        others.collect::<Vec<_>>()
    });
    let verdicts = differences.map(|difference| Verdict::above(difference, 0.0));
    let verdict = verdicts.fold(Verdict::Confirmed, Verdict::and);
    let mut order: Vec<_> = shares.to_vec();
    order.sort_by(|(_, a), (_, b)| b.mean.total_cmp(&a.mean));
    let order: Vec<_> = order.into_iter().map(|(name, _)| name).collect();
    report.verdict(
        "UTS and CilkSort shows the maximum number of free steals",
        verdict,
        format!(
            "from the highest share of free steals to the lowest, the benchmarks are {}; we require that the \
             shares of UTS and CilkSort are above those of all others. In the paper, Barnes-Hut and LUD have \
             the fewest free steals",
            order.join(", ")
        ),
    );
}

/// The highest cost of the barrier that the paper gives, at any number of threads (section 6.2).
const HIGHEST_COST: f64 = 0.011;

/// Judges whether the barrier costs as little as in the paper.
fn cost_of_barrier(data: &Data, report: &mut Report) {
    let costs = each(|place, benchmark| {
        let cost = data.figure(place, BARRIER_WS, |costs| Some(costs.barrier_cost))?;
        Some((benchmark.name, cost))
    });
    let (names, costs): (Vec<_>, Vec<_>) = costs.into_iter().flatten().unzip();
    if names.len() < BENCHMARKS.len() {
        return;
    }
    let Some((place, most)) = deciding(&costs, HIGHEST_COST) else {
        return;
    };
    report.verdict(
        "This combined with a shallow stack (Section 6.3) leads to Barnes-Hut showing the highest overhead \
         for the return barrier (max 1.1%)",
        Verdict::above(most, HIGHEST_COST)
            .of_the_opposite()
            .and(Verdict::confirmed_if(names[place] == "Barnes-Hut")),
        format!(
            "with {} workers, owners spend at most {} of the processor time on taking back public tasks ({}, \
             the interval is widened for {} benchmarks). This contains the barrier's cost, so the barrier \
             costs certainly no more than 1.1 % here. But the paper's highest cost is that of Barnes-Hut, \
             which has many steals there and few here; we require both. With 16 threads, the paper's \
             highest cost is that of Jacobi (0.95 %)",
            data.workers,
            percent(most),
            names[place],
            names.len()
        ),
    );
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::barriers::{PAPER, parts};

    #[test]
    fn missing_data_get_no_verdict() {
        let trial = Trial::new(true);
        let results = Results::of_parts(&parts(&trial), |part| match part.ends_with("simulated") {
            true => json!([nothing(), nothing()]),
            false => json!([]),
        });
        let report = report(&trial, &results).unwrap();
        // These do not depend on data.
        let untestable = [
            "the dynamic overhead is dominated by introspection of the victim's stack",
            "this result is complementary to recent work addressing the sequential overheads",
        ];
        assert_eq!(report.statements(), untestable);
    }

    /// Returns the simulated runs of a system that did not run.
    fn nothing() -> Value {
        json!({ "losses": [], "runs": [] })
    }

    /// Returns the data of a benchmark: nothing was stolen under DefaultWS, and no JDK is there.
    fn measured(workers: usize) -> Value {
        let run = |scheduler: &str, workers: usize, steals: bool| {
            let loss = steals.then_some(3e-7);
            let costs = json!({
                "steal_ratio": f64::from(u8::from(steals)), "steal_rate": 0.0, "dynamic_overhead": 0.0,
                "barrier_cost": 0.0, "waking_cost": 0.0, "loss_per_steal": loss,
                "free_steal_share": loss.map(|_| 0.75),
            });
            json!({
                "job": "fft=18", "scheduler": scheduler, "workers": workers,
                "seconds": [1.0, 1.01], "median": 1.005, "vs_serial": 0.5, "tasks": 9,
                "steals": 0, "costs": [costs, costs],
            })
        };
        json!([
            run(DEFAULT_WS, 1, false),
            run(BARRIER_WS, 1, false),
            run(DEFAULT_WS, workers, false),
            run(BARRIER_WS, workers, true),
        ])
    }

    #[test]
    fn without_steals_the_tables_have_dashes_and_no_cost_is_simulated() {
        let trial = Trial::new(true);
        let results = Results::of_parts(&parts(&trial), |part| match part.ends_with("simulated") {
            true => json!([{ "losses": [], "runs": [{
                "job": "fft=18", "policy": "random", "cores": 16, "seconds": 1.0, "work": 8.0,
                "span": 0.1, "tasks": 9, "steals": 100.0, "samples": 0.0,
                "all_seconds": [1.0], "all_steals": [100.0],
            }] }, nothing()]),
            false => measured(trial.most_workers()),
        });
        let mut report = report(&trial, &results).unwrap();
        let statements = report.statements();
        let missing = "reduce the dynamic overhead by approximately half";
        assert!(!statements.contains(&missing));
        report.head(&PAPER, &results);
        let text = report.text();
        assert!(text.contains("| – | 300 ns |"), "{text}");
        assert!(!text.contains("Figure 7, simulated"), "{text}");
        assert!(text.contains("In 6 of 6 benchmarks, certainly more than half"));
    }
}
