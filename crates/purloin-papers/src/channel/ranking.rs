//! The ranking of all schedulers over all workloads.

use purloin_command::Failure;
use purloin_measure::simulation::bars::{BarPanel, Bars};
use purloin_sim::Estimate;

use super::lazy_splitting::LAZY_SPLITTING;
use super::speed_ups::speed_up;
use super::stealing::{ADAPTIVE_STEALING, FORWARDING_IMPROVES as FORWARDING};
use super::{CHANNEL, CHASE_LEV, OPENMP, OPENMP_LLVM, RANKED, WORKLOADS};
use crate::Results;
use crate::report::{Report, Verdict, or_dash, with_margin};
use crate::trial::{Measured, Trial};

/// The contestants that ran, with their speed-ups.
struct Ranking {
    /// The names of the schedulers.
    names: Vec<&'static str>,
    /// For each workload, the speed-up of each scheduler that has the workload.
    speed_ups: Vec<Vec<Option<f64>>>,
}

impl Ranking {
    fn read(trial: &Trial, results: &Results) -> Result<Ranking, Failure> {
        let mut all = Vec::new();
        for workload in WORKLOADS {
            all.push(results.of::<Vec<Measured>>(workload.name)?);
        }
        let has_run = |name: &&str| {
            all.iter()
                .any(|cells| speed_up(trial, cells, name).is_some())
        };
        let names: Vec<_> = RANKED.into_iter().filter(has_run).collect();
        let speed_ups = all.iter().map(|cells| {
            let speed_ups = names.iter().map(|name| speed_up(trial, cells, name));
            speed_ups.collect()
        });
        Ok(Ranking {
            speed_ups: speed_ups.collect(),
            names,
        })
    }

    /// Returns how far each speed-up of a scheduler is from the best one of its workload, in percent.
    fn deviations(&self, name: &str) -> Vec<Option<f64>> {
        let place = self.names.iter().position(|&other| other == name);
        let deviation = |speed_ups: &Vec<Option<f64>>| {
            let best = speed_ups.iter().flatten().copied().fold(0.0, f64::max);
            Some(100.0 * (speed_ups[place?]? / best - 1.0))
        };
        self.speed_ups.iter().map(deviation).collect()
    }

    /// Returns whether a program of OpenMP has run.
    fn has_openmp(&self) -> bool {
        [OPENMP, OPENMP_LLVM]
            .iter()
            .any(|name| self.names.contains(name))
    }

    /// Returns the mean deviation of a scheduler, if it has run.
    fn mean(&self, name: &str) -> Option<f64> {
        let deviations: Vec<_> = self.deviations(name).into_iter().flatten().collect();
        let count = deviations.len();
        (count > 0).then(|| deviations.iter().sum::<f64>() / count as f64)
    }

    /// Estimates by how many points a scheduler is ahead of another, over the workloads that both have.
    fn lead(&self, name: &str, other: &str) -> Option<Estimate> {
        let pairs = self
            .deviations(name)
            .into_iter()
            .zip(self.deviations(other));
        let leads: Vec<_> = pairs
            .filter_map(|(name, other)| Some(name? - other?))
            .collect();
        (!leads.is_empty()).then(|| Estimate::new(&leads))
    }
}

pub(super) fn ranking(
    trial: &Trial,
    results: &Results,
    report: &mut Report,
) -> Result<(), Failure> {
    report.section("Performance: all workloads, and the ranking");
    let ranking = Ranking::read(trial, results)?;
    let rows = WORKLOADS.iter().zip(&ranking.speed_ups);
    let rows: Vec<_> = rows
        .map(|(workload, speed_ups)| {
            let mut row = vec![
                workload.name.to_string(),
                format!("`{}`", workload.job(trial)),
            ];
            let text = |speed_up| or_dash(speed_up, |value: f64| format!("{value:.2}"));
            row.extend(speed_ups.iter().copied().map(text));
            row
        })
        .collect();
    let names: Vec<_> = ranking
        .names
        .iter()
        .map(|name| format!("`{name}`"))
        .collect();
    let mut head = vec!["workload (slides)", "our input"];
    head.extend(names.iter().map(String::as_str));
    report.table(&head, &rows);
    let on_openmp = match ranking.has_openmp() {
        true => {
            " g++'s OpenMP keeps the tasks of all threads behind one lock. LLVM's has a pool for each thread. \
             OpenMP splits loops by `schedule(guided)`. With g++'s library and two threads, one thread gets the \
             first half of the decreasing loop, which has three quarters of the work. Loops in tasks are split \
             by `taskloop`.\n\n\
             **Why BPC is slow under LLVM's OpenMP.** Before a thread that waits in a task runs another task, the \
             library checks that the new task descends from the waiting one. For this, it goes up from task to \
             parent, one load for each generation. In BPC, each producer is a child of the one before, so there \
             are as many generations as producers. A `taskloop` waits at its end, so with 100,000 producers, \
             a check may take 100,000 loads. We sampled g++'s build of the same program under the \
             library of LLVM 19 with two threads: 81 % of the samples of `bpc-loop=40000,9,1`, and 42 % of \
             those of `bpc=20000,9,10`, where only the outermost task group waits, were at this one load. The \
             rows of the table ran under clang++'s build; we did not sample that one. Under g++'s library, \
             97 % of the samples of `bpc=20000,9,10` were in the program's own work; we do not know why BPC \
             has no speed-up there."
        }
        false => "",
    };
    report.paragraph(&format!(
        "**Ranking**: the mean deviation from the best median speed-up, over the workloads that the \
         scheduler has. Here the best is that of {} schedulers. The slides compare four; the one missing \
         here is Cilk Plus (-4.6 %, -6.9 % and -28.1 %). They rank 21 workloads, which they do not list.{on_openmp}",
        ranking.names.len()
    ));
    let mut ranked: Vec<_> = ranking
        .names
        .iter()
        .filter_map(|&name| Some((name, ranking.mean(name)?)))
        .collect();
    ranked.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let mut rows: Vec<_> = ranked
        .into_iter()
        .map(|(name, mean)| {
            let count = ranking.deviations(name).iter().flatten().count();
            let mut row = vec![
                format!("`{name}`"),
                format!("{mean:.1} %"),
                count.to_string(),
            ];
            row.extend(published(name).map(str::to_string));
            row
        })
        .collect();
    if !ranking.names.contains(&OPENMP_LLVM) {
        let mut row = ["Intel OpenMP", "–", "–"].map(str::to_string).to_vec();
        row.extend(published(OPENMP_LLVM).map(str::to_string));
        rows.push(row);
    }
    report.table(
        &[
            "scheduler",
            "here",
            "workloads",
            MACHINES[0],
            MACHINES[1],
            MACHINES[2],
        ],
        &rows,
    );
    report.picture("ranking", ranking.picture());
    first_and_second(&ranking, report);
    openmp(&ranking, report);
    if ranking.mean(CHANNEL).is_some() {
        let reason = "Cilk Plus is no longer available".to_string();
        report.verdict("3. Cilk Plus", Verdict::Untestable, reason);
        report.verdict(
            "private dequeues, channel communication: Flexibility",
            Verdict::Confirmed,
            format!(
                "how much to steal, how to split loops, and whether to forward requests are options of one \
                 scheduler, `{CHANNEL}`; we require only that they exist. The tables below compare them"
            ),
        );
    }
    Ok(())
}

impl Ranking {
    /// Returns the workload on which a scheduler deviates most, its deviation, and the mean deviation over
    /// the others.
    fn worst(&self, name: &str) -> Option<(&'static str, f64, f64)> {
        let deviations = self.deviations(name);
        let known = || {
            WORKLOADS
                .iter()
                .zip(&deviations)
                .filter_map(|(workload, value)| Some((workload.name, (*value)?)))
        };
        let (workload, worst) = known().min_by(|(_, a), (_, b)| a.total_cmp(b))?;
        let sum: f64 = known().map(|(_, value)| value).sum();
        let others = known().count() - 1;
        (others > 0).then(|| (workload, worst, (sum - worst) / others as f64))
    }

    /// Returns a picture of the ranking, with those of the slides.
    fn picture(&self) -> Bars {
        let values = self.names.iter().map(|name| {
            let deviations: Vec<_> = self.deviations(name).into_iter().flatten().collect();
            let here = (!deviations.is_empty()).then(|| Estimate::new(&deviations));
            let published = published(name).map(|text| {
                let mean = text.trim_end_matches(" %").parse().ok()?;
                Some(Estimate::exact(mean))
            });
            let all = [here].into_iter().chain(published);
            all.map(|value| Some(value?.scaled(-1.0))).collect()
        });
        Bars {
            title: "Percent below the best median, mean over the workloads".to_string(),
            names: self.names.clone(),
            series: ["here", MACHINES[0], MACHINES[1], MACHINES[2]]
                .map(str::to_string)
                .into(),
            base: 0.0,
            panels: vec![BarPanel {
                title: String::new(),
                values: values.collect(),
            }],
        }
    }
}

/// The machines of the slides.
const MACHINES: [&str; 3] = [
    "slides: 24 threads, Xeon",
    "slides: 48 threads, Opteron",
    "slides: 240 threads, Xeon Phi",
];

/// Returns the deviations of a scheduler on the [`MACHINES`].
fn published(name: &str) -> [&'static str; 3] {
    match name {
        CHANNEL => ["-2.4 %", "-2.4 %", "-13.7 %"],
        CHASE_LEV => ["-1.6 %", "-2.2 %", "-13.7 %"],
        // Intel's.
        OPENMP_LLVM => ["-10.7 %", "-21.8 %", "-22.2 %"],
        _ => ["–"; 3],
    }
}

/// Judges whether Channel WS comes closely after Chase-Lev WS.
fn first_and_second(ranking: &Ranking, report: &mut Report) {
    let means = ranking.mean(CHANNEL).zip(ranking.mean(CHASE_LEV));
    let all = ranking.names.iter();
    let all = all.filter_map(|name| Some((ranking.mean(name)?, name)));
    let first = all.max_by(|(a, _), (b, _)| a.total_cmp(b));
    let lead = ranking.lead(CHASE_LEV, CHANNEL).zip(first);
    if let Some(((channel, deque), (lead, (_, first)))) = means.zip(lead) {
        report.verdict(
            "1. Chase-Lev WS, 2. Channel WS",
            Verdict::within(lead, CLOSE),
            format!(
                "here Chase-Lev WS deviates by {deque:.1} %, and Channel WS by {channel:.1} % from the best \
                 median speed-up. The difference, Chase-Lev WS minus Channel WS, is {} points \
                 on average over the workloads (slides: 0.8, 0.2 and 0); from {:.0} to {:.0} points, we \
                 count Channel WS as a close second. `{first}` ranks first here",
                with_margin(lead, 1),
                CLOSE[0],
                CLOSE[1]
            ),
        );
    }
}

/// The least and most points by which a close second is behind. In one of the slides' rankings, the two are
/// equal.
const CLOSE: [f64; 2] = [-1.0, 5.0];

/// Judges whether the three mechanisms, each of which has a verdict, improve performance.
pub(super) fn performance(report: &mut Report) {
    let found =
        [FORWARDING, ADAPTIVE_STEALING, LAZY_SPLITTING].map(|statement| report.found(statement));
    if let [Some(forwarding), Some(stealing), Some(splitting)] = found {
        report.verdict(
            "Workers forward steal requests, adapt their stealing strategy, split tasks lazily: Performance",
            forwarding.and(stealing).and(splitting),
            format!(
                "we require that three statements above are confirmed: “{FORWARDING}”, “{ADAPTIVE_STEALING}” \
                 and “{LAZY_SPLITTING}”"
            ),
        );
    }
}

/// Judges what the slides say about OpenMP.
fn openmp(ranking: &Ranking, report: &mut Report) {
    let statement = "4. Intel OpenMP";
    if let (Some(llvm), Some(lead)) = (
        ranking.mean(OPENMP_LLVM),
        ranking.lead(CHANNEL, OPENMP_LLVM),
    ) {
        report.verdict(
            statement,
            Verdict::above(lead, 0.0),
            format!(
                "LLVM's library, which Intel wrote and gave to LLVM, deviates by {llvm:.1} %{}, and Channel WS \
                 is ahead of it by {} points (slides: 8.3, 19.4 and 8.5); we require more than 0. g++'s \
                 deviates by {}. In the slides, Intel's library is fourth with 24 and 48 threads, after Cilk \
                 Plus, and third with 240",
                ranking.worst(OPENMP_LLVM).map_or(String::new(), |(name, deviation, mean)| {
                    format!(" ({mean:.1} % without its worst workload, {name}: {deviation:.1} %)")
                }),
                with_margin(lead, 1),
                or_dash(ranking.mean(OPENMP), |mean| format!("{mean:.1} %"))
            ),
        );
    } else if let (Some(gnu), Some(lead)) = (ranking.mean(OPENMP), ranking.lead(CHANNEL, OPENMP)) {
        report.verdict(
            statement,
            Verdict::Untestable,
            format!(
                "neither Intel's OpenMP library nor LLVM's, which derives from it, is installed (slides: \
                 fourth with 24 and 48 threads, third with 240). g++'s library, which has a central task \
                 pool, deviates by {gnu:.1} %, and Channel WS is ahead of it by {} points",
                with_margin(lead, 1)
            ),
        );
    } else if !ranking.names.is_empty() {
        report.verdict(
            statement,
            Verdict::Untestable,
            "no compiler with OpenMP is installed".to_string(),
        );
    }
    let of = |name: &str| {
        let uts = WORKLOADS
            .iter()
            .position(|workload| workload.name == "UTS")?;
        let place = ranking.names.iter().position(|&other| other == name)?;
        ranking.speed_ups[uts][place]
    };
    let distributed = [
        (OPENMP_LLVM, "LLVM's and Intel's OpenMP"),
        (CHANNEL, "Channel WS"),
    ];
    let mut distributed = distributed
        .into_iter()
        .filter_map(|(name, text)| Some((of(name)?, text)));
    if let Some(((speed_up, name), central)) = distributed.next().zip(of(OPENMP)) {
        report.verdict(
            "Central versus Distributed Task Pools (UTS)",
            Verdict::confirmed_if(speed_up > 1.1 * central),
            format!(
                "with the central task pool of g++'s OpenMP, UTS has a speed-up of {central:.2}, and with the \
                 distributed ones of {name} {speed_up:.2} (medians); we require 1.1 times as much. The slide \
                 compares g++'s OpenMP with Intel's"
            ),
        );
    } else if !ranking.names.is_empty() {
        report.verdict(
            "Central versus Distributed Task Pools (UTS)",
            Verdict::Untestable,
            "g++'s OpenMP, which has a central task pool, is not installed".to_string(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_are_from_the_best_of_each_workload() {
        let ranking = Ranking {
            names: vec![CHANNEL, CHASE_LEV, OPENMP],
            speed_ups: vec![
                vec![Some(1.8), Some(2.0), None],
                vec![Some(2.0), Some(1.5), Some(1.0)],
            ],
        };
        let mean = ranking.mean(CHANNEL).unwrap();
        assert!((mean - -5.0).abs() < 1e-9, "{mean}");
        assert_eq!(ranking.mean(OPENMP), Some(-50.0));
        assert_eq!(ranking.mean(OPENMP_LLVM), None);
        assert_eq!(ranking.lead(CHANNEL, OPENMP).unwrap().mean, 50.0);
        let lead = ranking.lead(CHASE_LEV, CHANNEL).unwrap();
        assert!((lead.mean - -7.5).abs() < 1e-9, "{lead:?}");
    }

    #[test]
    fn a_close_second_is_behind_by_a_few_points() {
        let judge = |mean| {
            Verdict::within(
                Estimate {
                    margin: 0.5,
                    ..Estimate::exact(mean)
                },
                CLOSE,
            )
        };
        assert_eq!(judge(0.0), Verdict::Confirmed);
        assert_eq!(judge(-0.8), Verdict::Undecided);
        assert_eq!(judge(-2.0), Verdict::NotHere);
        assert_eq!(judge(6.0), Verdict::NotHere);
    }
}
