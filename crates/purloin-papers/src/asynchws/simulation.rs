//! The programs on the paper's cluster, simulated from recordings.

use purloin_command::{Failure, progress};
use purloin_measure::simulation::runs::{Run, Runs};
use purloin_sim::{CutOff, Machine, Outcome, Policy, Recorded, Time, simulate};

use super::{
    ADAPTIVE, CHOSEN, Case, DEPTH, LATENCIES, NONE, OWN_LATENCY, OwnCase, OwnTimes, Program, QUEUE,
    QUICK, RESIDUAL, SHARED, Simulated,
};
use crate::trial::Trial;

/// The nodes of the paper's cluster.
pub(super) const NODES: u32 = 32;

/// The cores of a node, in two sockets.
pub(super) const CORES: u32 = 12;

/// The paper's minimum duration of a task, 2 ms, divided by the middle of its times of a get between
/// nodes, 3.7 to 5.2 ms.
const GRAIN: f64 = 2.0 / 4.5;

/// The total duration of residual tasks above which the paper does not steal early, 12 ms, divided by
/// the same time.
const COARSE: f64 = 12.0 / 4.5;

/// The paper's cluster with this time of a steal between nodes. A look and a message take half of
/// it.
fn cluster(microseconds: u32) -> Machine {
    let half = 500 * microseconds;
    let text = format!(
        "nodes = {NODES}\nsockets = 2\ncores = {}\n\
         [socket]\nsteal = \"1us\"\nsample = \"100ns\"\nmessage = \"100ns\"\n\
         [node]\nsteal = \"{SHARED}us\"\nsample = \"300ns\"\nmessage = \"300ns\"\n\
         [network]\nsteal = \"{microseconds}us\"\nsample = \"{half}ns\"\nmessage = \"{half}ns\"\n",
        CORES / 2
    );
    Machine::from_toml(&text).expect("the text is a machine file")
}

/// Some nodes of the paper's cluster, with its time of a steal. Whatever a core does within its node takes 10
/// µs: that is little beside a task of at least 2 ms, and the idle cores look around less often, so that the
/// simulation ends.
fn with_own_latency(nodes: u32) -> Machine {
    let local = "steal = \"10us\"\nsample = \"10us\"\nmessage = \"10us\"\n";
    let text = format!(
        "nodes = {nodes}\nsockets = 2\ncores = {}\n[socket]\n{local}[node]\n{local}\
         [network]\nsteal = \"{OWN_LATENCY}us\"\nsample = \"{half}us\"\nmessage = \"{half}us\"\n",
        CORES / 2,
        half = OWN_LATENCY / 2
    );
    Machine::from_toml(&text).expect("the text is a machine file")
}

/// A variant that is simulated.
struct Variant<'v> {
    /// The time of a steal between nodes, in microseconds.
    latency: u32,
    machine: &'v Machine,
    cut_off: String,
    residual: &'static str,
    recorded: &'v Recorded,
}

/// The paper's cut-off for this time of a steal between nodes, in microseconds.
fn adaptive(latency: u32) -> CutOff {
    let steals = |steals| Time::from_nanoseconds((1e3 * f64::from(latency) * steals) as u64);
    CutOff::Adaptive {
        least: steals(GRAIN),
        coarse: steals(COARSE),
    }
}

/// Records a program, and simulates it with the times of the paper's own setting, on its cluster and on
/// a few of its nodes.
pub(super) fn with_own_times(trial: &Trial, program: &Program) -> Result<OwnTimes, Failure> {
    let job = program.simulated(trial);
    let recording = trial.record(job)?;
    let whole = Recorded::new(&recording)
        .map_err(|error| Failure::Run(format!("the recording of {job}: {error}")))?;
    let recorded = whole.with_cut_off(adaptive(OWN_LATENCY));
    let nodes = program.own_nodes();
    let machines: Vec<_> = nodes.iter().copied().map(with_own_latency).collect();
    let trials = trial.choose(4, 10);
    let (mut runs, mut variants) = (Vec::new(), Vec::new());
    for (machine, nodes) in machines.iter().zip(nodes) {
        for residual in [RESIDUAL[0], RESIDUAL[CHOSEN]] {
            let policy = format!("near+half+residual:{residual}+bound:{}", 3 * CORES);
            let policy: Policy = policy.parse().map_err(Failure::usage)?;
            variants.push((nodes * CORES, residual));
            for seed in 0..trials {
                let recorded = &recorded;
                runs.push(Run {
                    steps: 1,
                    message: format!("{job}, {OWN_LATENCY} us"),
                    simulate: Box::new(move || simulate(recorded, machine, policy, seed)),
                });
            }
        }
    }
    let progress = progress(runs.len() as u64, "simulations");
    let outcomes = Runs::default().all(&runs, &progress)?;
    let groups = outcomes.chunks(trials as usize).zip(variants);
    let cases = groups.map(|(outcomes, (cores, residual))| OwnCase {
        cores,
        residual: residual.to_owned(),
        tasks: outcomes[0].tasks,
        seconds: outcomes.iter().map(|run| run.time.seconds()).collect(),
        steals: outcomes.iter().map(|run| run.steals as f64).sum::<f64>() / trials as f64,
    });
    Ok(OwnTimes {
        job: job.to_owned(),
        work: whole.work().seconds(),
        cases: cases.collect(),
    })
}

/// Records a program, and simulates all variants.
pub(super) fn simulated(trial: &Trial, program: &Program) -> Result<Simulated, Failure> {
    let job = program.simulated(trial);
    let recording = trial.record(job)?;
    let whole = Recorded::new(&recording)
        .map_err(|error| Failure::Run(format!("the recording of {job}: {error}")))?;
    let depths = program.depths(trial);
    let by_depth: Vec<_> = depths
        .iter()
        .map(|&depth| whole.with_cut_off(CutOff::Depth(depth)))
        .collect();
    let adaptive = |latency| whole.with_cut_off(adaptive(latency));
    let (machines, shared_machine) = (LATENCIES.map(cluster), cluster(SHARED));
    let (recorded, shared_recorded) = (LATENCIES.map(adaptive), adaptive(SHARED));

    let chosen = RESIDUAL[CHOSEN];
    let mut variants = vec![Variant {
        latency: SHARED,
        machine: &shared_machine,
        cut_off: ADAPTIVE.to_owned(),
        residual: RESIDUAL[0],
        recorded: &shared_recorded,
    }];
    for (place, adaptive) in recorded.iter().enumerate() {
        let variant = |cut_off: String, residual, recorded| Variant {
            latency: LATENCIES[place],
            machine: &machines[place],
            cut_off,
            residual,
            recorded,
        };
        for &residual in trial.choose(&QUICK[..], &RESIDUAL[..]) {
            variants.push(variant(ADAPTIVE.to_owned(), residual, adaptive));
        }
        for residual in [RESIDUAL[0], chosen] {
            variants.push(variant(QUEUE.to_owned(), residual, &whole));
        }
        variants.push(variant(NONE.to_owned(), chosen, &whole));
        for (depth, recorded) in depths.iter().zip(&by_depth) {
            variants.push(variant(format!("{DEPTH}:{depth}"), chosen, recorded));
        }
    }
    let trials_of = |cut_off: &str| match cut_off.starts_with(DEPTH) {
        true => trial.choose(3, 4),
        false => trial.choose(4, 10),
    };
    let mut runs = Vec::new();
    for variant in &variants {
        let Variant {
            latency,
            machine,
            ref cut_off,
            residual,
            recorded,
        } = *variant;
        let bound = match &**cut_off {
            QUEUE | ADAPTIVE => format!("+bound:{}", 3 * CORES),
            _ => String::new(),
        };
        let policy = format!("near+half+residual:{residual}{bound}");
        let policy: Policy = policy.parse().map_err(Failure::usage)?;
        for seed in 0..trials_of(cut_off) {
            runs.push(Run {
                steps: 1,
                message: format!("{job}, {latency} us"),
                simulate: Box::new(move || simulate(recorded, machine, policy, seed)),
            });
        }
    }
    let progress = progress(runs.len() as u64, "simulations");
    let mut outcomes = Runs::default().all(&runs, &progress)?.into_iter();
    let cases = variants.into_iter().map(|variant| {
        let trials = trials_of(&variant.cut_off) as usize;
        let outcomes: Vec<Outcome> = outcomes.by_ref().take(trials).collect();
        let mean = |count: fn(&Outcome) -> u64| {
            let counts = outcomes.iter().map(|run| count(run) as f64);
            counts.sum::<f64>() / trials as f64
        };
        Case {
            latency: variant.latency,
            cut_off: variant.cut_off,
            residual: variant.residual.to_owned(),
            tasks: mean(|run| run.tasks).round() as u64,
            seconds: outcomes.iter().map(|run| run.time.seconds()).collect(),
            steals: mean(|run| run.steals),
        }
    });
    Ok(Simulated {
        job: job.to_owned(),
        work: whole.work().seconds(),
        span: recording.span().as_secs_f64(),
        depths: whole.tasks_by_depth(),
        cells: cases.collect(),
    })
}
