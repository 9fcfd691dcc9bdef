//! *Manycore Work Stealing*: how programs of small tasks scale under Wool, and which victims to
//! choose.

use std::time::Duration;

use purloin::Times;
use purloin::implement::clock::nanoseconds_per_tick;
use purloin_analysis::Profile;
use purloin_command::Failure;
use purloin_command::format::{grouped, time};
use purloin_sim::{Estimate, Machine, Policy, Tree, simulate};
use serde::{Deserialize, Serialize};

use super::report::{Report, Verdict, geometric_mean, with_margin};
use super::trial::{Simulated, Trial};
use super::{Paper, Part, Results};
use crate::simulation::picture::{Line, Panel, Picture, Scale};
use crate::simulation::runs::{Run, Runs};

pub const PAPER: Paper = Paper {
    name: "wool",
    citation: "Faxén and Ardelius: Manycore Work Stealing (extended version of CF 2011)",
    parts,
    report,
};

/// A row of Table 1.
struct Row {
    /// Kernels with the inputs for `--quick`, for the table and for the simulation.
    quick: &'static str,
    full: &'static str,
    simulated: &'static str,
    paper: Published,
}

/// What the paper says about a row.
struct Published {
    parameter: &'static str,
    /// Average parallelism with free steals and with steals of 1000 cycles.
    parallelism: [f64; 2],
    /// Duration of a repetition, in thousands of cycles.
    repetition: f64,
    /// Mean task size, in cycles.
    task: f64,
    /// Steal interval with 63 processors, in thousands of cycles.
    interval: f64,
}

#[rustfmt::skip]
const fn row(
    [quick, full, simulated]: [&'static str; 3], parameter: &'static str, parallelism: [f64; 2],
    repetition: f64, task: f64, interval: f64,
) -> Row {
    Row { quick, full, simulated, paper: Published { parameter, parallelism, repetition, task, interval } }
}

/// The rows of Table 1. The repetitions of `stress` are fixed: 2²⁰ leaves in all, a 64th of the
/// paper's. `fib` is measured with its input of 43, and simulated with a smaller one, as are the
/// largest matrix and the largest tree: their tasks would not fit into memory.
#[rustfmt::skip]
static ROWS: &[Row] = &[
    row(["cholesky=125,4", "cholesky=125,1000", "cholesky=125"], "cholesky 125", [11.7, 10.4], 42841.0, 7008.0, 11.0),
    row(["cholesky=250,1", "cholesky=250,256", "cholesky=250"], "cholesky 250", [29.6, 26.0], 280848.0, 6824.0, 16.0),
    row(["", "cholesky=500,64", "cholesky=500"], "cholesky 500", [81.8, 71.0], 2073750.0, 6732.0, 31.0),
    row(["", "cholesky=1000,16", "cholesky=1000"], "cholesky 1k", [226.5, 200.0], 17013938.0, 6950.0, 80.0),
    row(["", "cholesky=2000,4", ""], "cholesky 2k", [546.3, 503.5], 157477250.0, 7132.0, 257.0),
    row(["ssf=12,16", "ssf=12,16384", "ssf=12"], "ssf 12", [92.8, 52.9], 928.0, 6489.0, 9.0),
    row(["", "ssf=13,8192", "ssf=13"], "ssf 13", [149.4, 104.1], 2661.0, 11469.0, 18.0),
    row(["ssf=14,4", "ssf=14,4096", "ssf=14"], "ssf 14", [245.3, 192.1], 7591.0, 20190.0, 36.0),
    row(["", "ssf=15,2048", "ssf=15"], "ssf 15", [403.6, 344.0], 21557.0, 35398.0, 77.0),
    row(["", "ssf=16,1024", "ssf=16"], "ssf 16", [645.8, 584.8], 60908.0, 61773.0, 179.0),
    row(["stress=10", "stress=10", "stress=10"], "stress 10", [278.4, 59.7], 601.0, 587.0, 3.0),
    row(["", "stress=11", "stress=11"], "stress 11", [404.8, 102.7], 1201.0, 587.0, 4.0),
    row(["stress=12", "stress=12", "stress=12"], "stress 12", [534.3, 170.6], 2402.0, 587.0, 5.0),
    row(["", "stress=13", "stress=13"], "stress 13", [631.3, 269.5], 4805.0, 587.0, 7.0),
    row(["", "stress=14", "stress=14"], "stress 14", [1099.6, 480.5], 9610.0, 587.0, 11.0),
    row(["multisort=16384,16", "multisort=16384,4096", "multisort=16384,16"], "multisort 16K", [68.3, 31.0], 2707.0, 1142.0, 3.0),
    row(["", "multisort=65536,1024", "multisort=65536,4"], "multisort 64K", [108.8, 73.8], 11512.0, 4645.0, 10.0),
    row(["multisort=262144,2", "multisort=262144,256", "multisort=262144"], "multisort 256K", [148.9, 129.7], 52500.0, 18130.0, 38.0),
    row(["", "multisort=1048576,64", "multisort=1048576"], "multisort 1M", [139.9, 137.4], 279891.0, 61626.0, 166.0),
    row(["", "multisort=4194304,16", "multisort=4194304"], "multisort 4M", [91.5, 91.7], 1442000.0, 122623.0, 624.0),
    row(["fib=27", "fib=43", "fib=27"], "fib 43", [116802.5, 110982.2], 44121000.0, 63.0, 616.0),
    row(["uts=T3", "uts=T3", "uts=T3"], "uts T3", [1087.6, 682.4], 8491000.0, 2359.0, 27.0),
    row(["", "uts=T3L", ""], "uts T3L", [4457.1, 2421.6], 228676000.0, 2567.0, 31.0),
    row(["nqueens=10", "nqueens=13", "nqueens=11"], "nqueens 13", [65311.8, 27140.4], 31171000.0, 521.0, 2072.0),
];

impl Row {
    /// Returns the kernel to profile, unless `--quick` leaves the row out.
    fn job(&self, trial: &Trial) -> Option<&'static str> {
        Some(trial.choose(self.quick, self.full)).filter(|job| !job.is_empty())
    }

    /// Returns the kernel to simulate, unless `--quick` leaves the row out.
    fn simulated(&self, trial: &Trial) -> Option<&'static str> {
        let job = trial.choose(!self.quick.is_empty(), true);
        Some(self.simulated).filter(|name| job && !name.is_empty())
    }

    /// Returns how often the kernel of the table repeats its work.
    fn repetitions(job: &str) -> f64 {
        match job.split_once('=').unwrap_or((job, "")) {
            // All trees together have 2^20 leaves.
            ("stress", height) => 2_f64.powi(20 - height.parse().unwrap_or(20)),
            (_, input) => {
                let repetitions = input.split(',').nth(1);
                repetitions
                    .and_then(|text| text.parse().ok())
                    .unwrap_or(1.0)
            }
        }
    }

    fn part(&self, what: &str) -> String {
        format!("{}, {what}", self.paper.parameter)
    }
}

/// Wool: the direct task stack, random victims, and leapfrogging only.
const WOOL: &str = "direct-stack:spares=0,victims=random";
const TWO_FIELDS: &str = "direct-stack:fields=two,spares=0,victims=random";

/// The policies of section 5.2 on 63 cores, of which a thief samples the square root.
const POLICIES: [(&str, &str); 4] = [
    ("RAND", "random+leapfrog"),
    ("SAMP", "sampling:8+leapfrog"),
    ("SET", "sets+leapfrog"),
    ("SAMP+SET", "sampling:8+sets+leapfrog"),
];
const SET: &str = POLICIES[2].1;
const SAMPLED_SET: &str = POLICIES[3].1;

/// The numbers of processors of Table 1.
const CORES: [u32; 8] = [7, 15, 23, 31, 39, 47, 55, 63];

/// The steals of Figure 8 take this number of cycles longer.
const DELAY: f64 = 4000.0;

/// The cycles of a simulated steal: Table 1's second parallelism assumes as many.
const STEAL: f64 = 1000.0;

/// The profile of a row.
#[derive(Serialize, Deserialize)]
struct Profiled {
    job: String,
    /// In seconds.
    serial: f64,
    /// In seconds.
    task: f64,
    parallelism: [f64; 2],
    /// In seconds, if anything was stolen.
    interval: Option<f64>,
    /// The mean time of a steal, in seconds.
    steal: Option<f64>,
    /// The breakdown for one worker and for all.
    breakdowns: Vec<Breakdown>,
}

/// The time of all workers together in one run, in seconds: not blocked, and blocked.
#[derive(Serialize, Deserialize)]
struct Breakdown {
    workers: usize,
    speed_up: f64,
    application: [f64; 2],
    stealing: [f64; 2],
    searching: [f64; 2],
}

impl Breakdown {
    fn of(profile: &Profile) -> Breakdown {
        let mut all = Times::default();
        profile.times.iter().for_each(|times| all += *times);
        let mean =
            |times: [Duration; 2]| times.map(|time| time.as_secs_f64() / profile.runs as f64);
        Breakdown {
            workers: profile.workers,
            speed_up: profile.speed_up(),
            application: mean([all.application, all.application_in_join]),
            stealing: mean([all.stealing, all.stealing_in_join]),
            searching: mean([all.searching, all.searching_in_join]),
        }
    }
}

/// The machine of the simulations: a steal takes 1000 cycles more than `delay`, and a look at a
/// victim half as long as a steal without delay (section 2.1).
fn machine(cores: u32, delay: f64) -> Machine {
    let text = format!(
        "cores = {cores}\n[socket]\nsteal = \"{}ns\"\nsample = \"{}ns\"\nmessage = \"{}ns\"\n",
        nanoseconds(STEAL + delay),
        nanoseconds(STEAL / 2.0),
        nanoseconds(STEAL / 2.0),
    );
    Machine::from_toml(&text).expect("the text is a machine file")
}

fn nanoseconds(cycles: f64) -> u64 {
    (cycles * nanoseconds_per_tick()).round() as u64
}

fn parts(trial: &Trial) -> Vec<Part> {
    let mut parts = vec![Part::new("Figure 4", figure4)];
    for row in ROWS {
        if let Some(job) = row.job(trial) {
            parts.push(Part::new(row.part("profiled"), move |trial| {
                profile(trial, job)
            }));
        }
    }
    for row in ROWS {
        if let Some(job) = row.simulated(trial) {
            parts.push(Part::new(row.part("simulated"), move |trial| {
                let policies = POLICIES.map(|(_, policy)| policy);
                let (cores, trials) = (trial.choose(&CORES[6..], &CORES[..]), trial.choose(2, 10));
                let machine = |cores| machine(cores, 0.0);
                trial.simulate(job, machine, cores, &policies, trials)
            }));
            parts.push(Part::new(row.part("delayed"), move |trial| {
                let machine = |cores| machine(cores, DELAY);
                let (policies, trials) = ([SET, SAMPLED_SET], trial.choose(2, 10));
                trial.simulate(job, machine, &CORES[7..], &policies, trials)
            }));
        }
    }
    parts.push(Part::new("one field and two", |trial| {
        let job = trial.choose("fib=30", "fib=36");
        trial.bench(job, &[WOOL, TWO_FIELDS], trial.choose(5, 15))
    }));
    parts
}

fn profile(trial: &Trial, job: &str) -> Result<Profiled, Failure> {
    let cost = Duration::from_nanos(nanoseconds(STEAL));
    let mut profiles = Vec::new();
    for workers in [1, trial.most_workers()] {
        profiles.push(trial.profile(job, WOOL, workers, cost)?);
    }
    let all = &profiles[1];
    Ok(Profiled {
        job: job.to_string(),
        serial: all.serial.as_secs_f64(),
        task: all.task_size(),
        parallelism: [all.ideal.parallelism, all.burdened.parallelism],
        interval: all.steal_interval(),
        steal: all.steal_cost(),
        breakdowns: profiles.iter().map(Breakdown::of).collect(),
    })
}

/// Time and steal attempts under a policy, relative to another.
#[derive(Serialize, Deserialize)]
struct Sampled {
    cores: u32,
    samples: u32,
    /// Ratios with the margins of their confidence intervals, relative to a thief that steals
    /// without looking, and to one that looks at one victim.
    time: [(f64, f64); 2],
    attempts: [(f64, f64); 2],
}

/// Simulates section 4: balanced trees with four leaves for each core.
fn figure4(trial: &Trial) -> Result<Vec<Sampled>, Failure> {
    const SIZES: [u32; 7] = [16, 32, 64, 128, 256, 512, 1024];
    /// The bases, and the sample sizes of the figure.
    const POLICIES: [&str; 5] = [
        "random",
        "sampling:1",
        "sampling:2",
        "sampling:3",
        "sampling:4",
    ];
    let trials = trial.choose(40, 400);
    let mut runs = Vec::new();
    for cores in SIZES {
        for text in POLICIES {
            let policy: Policy = text.parse().map_err(Failure::usage)?;
            for seed in 0..trials {
                runs.push(Run {
                    steps: 1,
                    message: format!("{cores} cores"),
                    simulate: Box::new(move || {
                        simulate(&Tree::wool(cores), &Machine::wool(cores), policy, seed)
                    }),
                });
            }
        }
    }
    let progress = purloin_command::progress(runs.len() as u64, "simulations");
    let outcomes = Runs::default().all(&runs, &progress)?;
    let mut cells = outcomes.chunks(trials as usize);
    let mut sampled = Vec::new();
    for cores in SIZES {
        let cells: Vec<_> = cells.by_ref().take(POLICIES.len()).collect();
        let times = |policy: usize| -> Vec<f64> {
            cells[policy].iter().map(|run| run.time.seconds()).collect()
        };
        let attempts = |policy: usize| -> Vec<f64> {
            cells[policy]
                .iter()
                .map(|run| run.attempts as f64)
                .collect()
        };
        for samples in 2..=4 {
            let pair = |estimate: Estimate| (estimate.mean, estimate.margin);
            let time = [0, 1].map(|base| pair(Estimate::of_ratio(&times(samples), &times(base))));
            let attempts =
                [0, 1].map(|base| pair(Estimate::of_ratio(&attempts(samples), &attempts(base))));
            sampled.push(Sampled {
                cores,
                samples: samples as u32,
                time,
                attempts,
            });
        }
    }
    Ok(sampled)
}

fn report(trial: &Trial, results: &Results) -> Result<Report, Failure> {
    let mut report = Report::default();
    report.section("What stands for what");
    report.paragraph(&format!(
        "**Wool** is `{WOOL}`: blocked workers leapfrog and do nothing else. Times are in cycles of \
         this machine ({:.2} ns). The paper's are those of a TILEPro64 with 700 MHz. What needs more \
         than this machine's {} processors is simulated: the serial elision of each program is \
         recorded, and thieves steal its tasks on machines in which a steal takes {STEAL} cycles and \
         a look at a victim half as long. The simulator has no caches.",
        nanoseconds_per_tick(),
        trial.most_workers(),
    ));
    let mut profiled: Vec<(&Row, Profiled)> = Vec::new();
    let mut simulated: Vec<(&Row, Vec<Simulated>, Vec<Simulated>)> = Vec::new();
    for row in ROWS {
        if row.job(trial).is_some() {
            profiled.push((row, results.of(&row.part("profiled"))?));
        }
        if row.simulated(trial).is_some() {
            let (plain, delayed) = (row.part("simulated"), row.part("delayed"));
            simulated.push((row, results.of(&plain)?, results.of(&delayed)?));
        }
    }
    table1(&profiled, &simulated, &mut report);
    sampling(&results.of::<Vec<Sampled>>("Figure 4")?, &mut report);
    speed_ups(&profiled, &simulated, &mut report);
    breakdown(&profiled, &mut report);
    closer_look(&simulated, &mut report);
    fields(trial, results, &mut report)?;
    Ok(report)
}

/// Returns the run of a simulation with this policy, on the largest machine.
fn largest<'s>(runs: &'s [Simulated], policy: &str) -> Option<&'s Simulated> {
    let runs = runs.iter().filter(|run| run.policy == policy);
    runs.max_by_key(|run| run.cores)
}

fn cycles(seconds: f64) -> f64 {
    seconds * 1e9 / nanoseconds_per_tick()
}

fn table1(
    profiled: &[(&Row, Profiled)],
    simulated: &[(&Row, Vec<Simulated>, Vec<Simulated>)],
    report: &mut Report,
) {
    report.section("Table 1: characteristics of the benchmarks");
    let pair = |ours: f64, paper: f64| {
        let digits = |value: f64| match value {
            value if value >= 100.0 => grouped(value.round() as u64),
            value => format!("{value:.1}"),
        };
        format!("{} / {}", digits(ours), digits(paper))
    };
    let rows: Vec<_> = profiled
        .iter()
        .map(|(row, profile)| {
            let repetition = profile.serial / Row::repetitions(&profile.job);
            let simulated = simulated
                .iter()
                .find(|(other, ..)| std::ptr::eq(*other, *row));
            let interval = simulated.and_then(|(_, runs, _)| {
                let run = largest(runs, POLICIES[0].1)?;
                Some(cycles(run.work / run.steals) / 1e3)
            });
            vec![
                row.paper.parameter.to_string(),
                format!("`{}`", profile.job),
                pair(profile.parallelism[0], row.paper.parallelism[0]),
                pair(profile.parallelism[1], row.paper.parallelism[1]),
                pair(cycles(repetition) / 1e3, row.paper.repetition),
                pair(cycles(profile.task), row.paper.task),
                interval.map_or("–".to_string(), |ours| pair(ours, row.paper.interval)),
            ]
        })
        .collect();
    report.table(
        &[
            "program",
            "ours",
            "parallelism, free steals",
            "steals of 1000 cycles",
            "repetition, 1000 cycles",
            "task size S_T, cycles",
            "steal interval I_S, 1000 cycles, 63 processors (simulated)",
        ],
        &rows,
    );
    report.paragraph("Each cell has our value, then the paper's.");

    let costs = profiled.iter().filter_map(|(_, profile)| profile.steal);
    let mut costs: Vec<_> = costs.map(cycles).collect();
    costs.sort_by(f64::total_cmp);
    if let Some(&median) = costs.get(costs.len() / 2) {
        report.verdict(
            "it is possible to achieve stealing overheads counted in hundreds of cycles rather than \
             thousands",
            Verdict::confirmed_if(median < 1000.0),
            format!(
                "a steal that succeeds takes {} cycles, the median over {} programs",
                grouped(median.round() as u64),
                costs.len()
            ),
        );
    }
}

fn sampling(sampled: &[Sampled], report: &mut Report) {
    report.section("Figure 4: does sampling pay? (simulated)");
    report.paragraph(
        "A thief that samples looks at several victims, and steals from the one whose oldest task is \
         the largest. The program is a balanced tree with four leaves for each core. A leaf and a \
         steal take as long on average, and a look at a victim half of that. The paper's figure is \
         drawn only. Its text says that sampling makes the program slower below 128 cores, and saves \
         a third of the steals with 1,024. This holds relative to thieves that look at one victim \
         before they steal from it.",
    );
    let rows: Vec<_> = sampled
        .iter()
        .filter(|cell| cell.samples == 2)
        .map(|cell| {
            let text = |(mean, margin): (f64, f64)| format!("{mean:.3} ± {margin:.3}");
            vec![
                cell.cores.to_string(),
                text(cell.time[1]),
                text(cell.attempts[1]),
                text(cell.time[0]),
                text(cell.attempts[0]),
            ]
        })
        .collect();
    report.table(
        &[
            "cores",
            "time, 2 samples / 1",
            "steal attempts",
            "time, 2 samples / no look",
            "steal attempts",
        ],
        &rows,
    );
    let lines = |value: fn(&Sampled) -> (f64, f64)| -> Vec<Line> {
        let line = |samples| Line {
            name: format!("{samples} samples"),
            points: sampled
                .iter()
                .filter(|cell| cell.samples == samples)
                .map(|cell| {
                    let (mean, margin) = value(cell);
                    (cell.cores, mean, margin)
                })
                .collect(),
        };
        (2..=4).map(line).collect()
    };
    let panel = |title: &str, lines| Panel {
        title: title.to_string(),
        scale: Scale::Linear,
        lines,
        region: Vec::new(),
    };
    report.picture(
        "figure-4",
        Picture {
            title: "Figure 4: relative to thieves that look at one victim".to_string(),
            horizontal: "cores",
            panels: vec![
                panel("steal attempts", lines(|cell| cell.attempts[1])),
                panel("time", lines(|cell| cell.time[1])),
            ],
        },
    );
    let of = |cores| {
        sampled
            .iter()
            .find(|cell| cell.cores == cores && cell.samples == 2)
    };
    if let (Some(small), Some(large)) = (of(16), of(1024)) {
        let pays = |cell: &Sampled| cell.time[1].0 + cell.time[1].1 < 1.0;
        report.verdict(
            "the imbalance grows with system size and … sampling will be more attractive when the \
             core counts pass a hundred",
            Verdict::confirmed_if(pays(large) && !pays(small)),
            format!(
                "two samples instead of one take {:.3} of the time on 16 simulated cores, and {:.3} \
                 on 1,024. Thieves that steal without looking are faster than both on every machine",
                small.time[1].0, large.time[1].0
            ),
        );
    }
}

fn speed_ups(
    profiled: &[(&Row, Profiled)],
    simulated: &[(&Row, Vec<Simulated>, Vec<Simulated>)],
    report: &mut Report,
) {
    report.section("Figure 5: speed-ups");
    report.paragraph(
        "Relative to the serial elision. The expected speed-up is the paper's grey area: from \
         work / (span + work / p) to work / max(span, work / p) for p processors.",
    );
    let workers = profiled
        .first()
        .and_then(|(_, profile)| profile.breakdowns.last())
        .map_or(1, |all| all.workers);
    let rows: Vec<_> = simulated
        .iter()
        .map(|(row, runs, _)| {
            let measured = profiled
                .iter()
                .find(|(other, _)| std::ptr::eq(*other, *row));
            let measured = measured.and_then(|(_, profile)| profile.breakdowns.last());
            let mut cells = vec![
                row.paper.parameter.to_string(),
                measured.map_or("–".to_string(), |all| format!("{:.2}", all.speed_up)),
            ];
            for (_, policy) in POLICIES {
                let run = largest(runs, policy);
                cells.push(run.map_or("–".to_string(), |run| format!("{:.1}", run.speed_up())));
            }
            cells.push(largest(runs, SET).map_or("–".to_string(), |run| {
                let (low, high) = run.expected();
                format!("{low:.1} to {high:.1}")
            }));
            cells
        })
        .collect();
    let measured = format!("measured, {workers} workers");
    report.table(
        &[
            "program",
            &measured,
            "63 simulated cores: RAND",
            "SAMP",
            "SET",
            "SAMP+SET",
            "expected",
        ],
        &rows,
    );
    let lines = simulated.iter().map(|(row, runs, _)| Line {
        name: row.paper.parameter.to_string(),
        points: runs
            .iter()
            .filter(|run| run.policy == SET)
            .map(|run| (run.cores, run.speed_up(), 0.0))
            .collect(),
    });
    let points = |value: fn((f64, f64)) -> f64| {
        let runs = simulated.iter().flat_map(|(_, runs, _)| runs);
        let runs = runs.filter(|run| run.policy == SET);
        runs.map(|run| run.speed_up() / value(run.expected()))
            .collect::<Vec<_>>()
    };
    let (best, below) = (simulated.iter(), points(|(low, _)| low));
    let best = best.filter_map(|(_, runs, _)| largest(runs, SET));
    let best = best.map(Simulated::speed_up).fold(0.0, f64::max);
    report.picture(
        "figure-5",
        Picture {
            title: "Figure 5, simulated: speed-up with victim sets".to_string(),
            horizontal: "cores",
            panels: vec![Panel {
                title: "speed-up".to_string(),
                scale: Scale::Logarithmic,
                lines: lines.collect(),
                region: Vec::new(),
            }],
        },
    );
    report.verdict(
        "excellent scalability (sometimes over 50 on 63 cores) whenever sufficient parallelism exists",
        Verdict::confirmed_if(best > 50.0),
        format!("the best speed-up on 63 simulated cores is {best:.1}"),
    );
    let near = below.iter().filter(|&&ratio| ratio >= 0.9).count();
    report.verdict(
        "most programs scale well, being primarily limited by available parallelism",
        Verdict::confirmed_if(2 * near > below.len()),
        format!(
            "in {near} of {} simulations the speed-up is at least nine tenths of the lower bound of \
             the expected one",
            below.len()
        ),
    );
}

fn breakdown(profiled: &[(&Row, Profiled)], report: &mut Report) {
    report.section("Figure 6: where the time goes");
    report.paragraph(
        "The time of all workers together, relative to the application time with one worker. In each \
         pair, the second number is the time in blocked joins.",
    );
    let mut rows = Vec::new();
    for (row, profile) in profiled {
        let unit: f64 = profile.breakdowns[0].application.iter().sum();
        for breakdown in &profile.breakdowns {
            let pair = |times: [f64; 2]| format!("{:.3} + {:.3}", times[0] / unit, times[1] / unit);
            rows.push(vec![
                row.paper.parameter.to_string(),
                breakdown.workers.to_string(),
                pair(breakdown.application),
                pair(breakdown.stealing),
                pair(breakdown.searching),
            ]);
        }
    }
    report.table(
        &["program", "workers", "application", "stealing", "searching"],
        &rows,
    );
}

fn closer_look(simulated: &[(&Row, Vec<Simulated>, Vec<Simulated>)], report: &mut Report) {
    report.section("Figures 7 and 8: a closer look at sampling (63 simulated cores)");
    report.paragraph(&format!(
        "SAMP+SET relative to SET. The cost of a steal includes the samples before it. In Figure 8, \
         each steal takes {DELAY} cycles longer."
    ));
    let ratio = |runs: &[Simulated], value: &dyn Fn(&Simulated) -> f64| {
        let pair = largest(runs, SET).zip(largest(runs, SAMPLED_SET));
        pair.map_or(f64::NAN, |(sets, sampled)| value(sampled) / value(sets))
    };
    let cost = |delay: f64| {
        move |run: &Simulated| STEAL + delay + STEAL / 2.0 * run.samples / run.steals.max(1.0)
    };
    let rows: Vec<_> = simulated
        .iter()
        .map(|(row, plain, delayed)| {
            let two = |value: f64| format!("{value:.2}");
            vec![
                row.paper.parameter.to_string(),
                two(ratio(plain, &|run| run.steals)),
                two(ratio(plain, &cost(0.0))),
                two(ratio(plain, &|run| run.seconds)),
                two(ratio(delayed, &|run| run.steals)),
                two(ratio(delayed, &|run| run.seconds)),
            ]
        })
        .collect();
    report.table(
        &[
            "program",
            "Figure 7: steals",
            "cost of a steal",
            "time",
            "Figure 8: steals",
            "time",
        ],
        &rows,
    );
    report.paragraph(
        "`purloin profile --sampling` measures the same with the workers of this machine, or with \
         more workers than processors.",
    );
    let mean = |value: &dyn Fn(&[Simulated], &[Simulated]) -> f64| {
        let values = simulated
            .iter()
            .map(|(_, plain, delayed)| value(plain, delayed));
        geometric_mean(&values.collect::<Vec<_>>())
    };
    let steals = mean(&|plain, _| ratio(plain, &|run| run.steals));
    let time = mean(&|plain, _| ratio(plain, &|run| run.seconds));
    let delayed = mean(&|_, delayed| ratio(delayed, &|run| run.seconds));
    report.verdict(
        "the number of steals needed and their attendant overhead can be reduced by sampling a few \
         workers and stealing the (heuristically) largest task on offer",
        Verdict::confirmed_if(steals < 0.98),
        format!("sampling changes the number of steals by a factor of {steals:.2} on average"),
    );
    report.verdict(
        "the reduction in the number of steals does not pay for the sampling overhead for 63 cores",
        Verdict::confirmed_if(time > 0.98),
        format!(
            "sampled sets take {time:.2} of the time of sets on average, and {delayed:.2} if a steal \
             takes {DELAY} cycles longer"
        ),
    );
    let sets = simulated.iter().filter_map(|(_, plain, _)| {
        let pair = largest(plain, POLICIES[0].1).zip(largest(plain, SET));
        pair.map(|(random, sets)| sets.seconds / random.seconds)
    });
    let sets = geometric_mean(&sets.collect::<Vec<_>>());
    report.verdict(
        "thieves can benefit from attempting steals from only a subset of the potential victims if \
         multiple thieves are active at the same time",
        Verdict::confirmed_if(sets < 0.98),
        format!(
            "the gain comes from caches and TLBs that are small for the number of victims; the \
             simulator has none, and sets take {sets:.2} of the time of random victims there"
        ),
    );
}

fn fields(trial: &Trial, results: &Results, report: &mut Report) -> Result<(), Failure> {
    report.section("Section 3: the two field algorithm");
    let cells: Vec<super::trial::Measured> = results.of("one field and two")?;
    let rows: Vec<_> = cells
        .iter()
        .map(|cell| {
            vec![
                format!("`{}`, `{}`", cell.job, cell.scheduler),
                cell.workers.to_string(),
                time(cell.median),
                with_margin(Estimate::new(&cell.seconds), 4),
                grouped(cell.steals),
            ]
        })
        .collect();
    report.table(
        &["program", "workers", "median", "mean, seconds", "steals"],
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
            Verdict::Confirmed,
            format!(
                "`fields=two` gives right answers, and takes {:.2} of the time of a single field \
                 with compare-and-swap",
                two.median / one.median
            ),
        );
    }
    Ok(())
}
