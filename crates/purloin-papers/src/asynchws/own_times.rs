//! The paper's own setting: steals between nodes of 4.5 ms, and tasks of at least 2 ms.

use purloin_command::format::{grouped, time};
use purloin_sim::Estimate;

use super::data::Data;
use super::simulation::CORES;
use super::{CHOSEN, OWN_LATENCY, OWN_NODES, OwnCase, OwnTimes, PROGRAMS, RESIDUAL};
use crate::report::{Report, or_dash, with_margin};

/// Adds the section.
pub(super) fn own_times(data: &Data, report: &mut Report) {
    let mut rows = Vec::new();
    for (program, simulated) in PROGRAMS.iter().zip(&data.with_own_times) {
        for cores in OWN_NODES.map(|nodes| nodes * CORES) {
            let [idle, early] =
                [RESIDUAL[0], RESIDUAL[CHOSEN]].map(|residual| simulated.case(cores, residual));
            let Some((idle, early)) = idle.zip(early) else {
                continue;
            };
            let speed_up = |case| with_margin(speed_up(simulated, case), 2);
            let gain = Estimate::of_ratio(&idle.seconds, &early.seconds);
            rows.push(vec![
                program.name.to_owned(),
                format!("`{}`", simulated.job),
                time(simulated.work),
                cores.to_string(),
                format!("{:.1}", work_in_steals(simulated, cores)),
                grouped(idle.tasks),
                grouped(idle.steals.round() as u64),
                speed_up(idle),
                speed_up(early),
                or_dash(Some(gain), |gain| with_margin(gain, 2)),
                program.async_is.to_owned(),
            ]);
        }
    }
    if rows.is_empty() {
        return;
    }
    report.section("The paper's own times: steals of 4.5 ms, tasks of at least 2 ms");
    report.paragraph(&format!(
        "Simulated with *adaptive*, like Figure 9, but a steal between nodes takes {}, and a task is created \
         only if it takes at least 2 ms, which is 0.44 of a steal. A core does not steal early while its ready tasks \
         take more than 12 ms. A steal within a node takes 10 µs, and so does a look. The \
         programs were recorded once more for this table, so their work differs from that of Table I: it depends on \
         what else the machine did.",
        time(1e-6 * f64::from(OWN_LATENCY))
    ));
    report.table(
        &[
            "program",
            "our input",
            "work",
            "cores",
            "work of a core, in steals of 4.5 ms",
            "tasks",
            "steals, R = 0",
            "speed-up, R = 0",
            "speed-up, R = 2",
            "speed ratio, R = 2 to R = 0",
            "paper, Figure 9",
        ],
        &rows,
    );
    report.paragraph(
        "Our inputs are too small for this setting: see the columns *work of a core* and *tasks*. On 384 cores, a \
         core has work for a few steals, or for less than one, and there are few tasks for each core. So most \
         cores stay idle, and this table says little about early steals. On 48 cores, which are 4 nodes, a core \
         has eight times as much work. SparseLU and Strassen have too little parallelism for 384 cores, and are \
         simulated on 48 cores only. We do not judge statements by this table.",
    );
}

fn speed_up(simulated: &OwnTimes, case: &OwnCase) -> Estimate {
    let speed_ups = case.seconds.iter().map(|seconds| simulated.work / seconds);
    Estimate::new(&speed_ups.collect::<Vec<_>>())
}

/// Returns the work of a core, if all had the same, in steals between nodes.
fn work_in_steals(simulated: &OwnTimes, cores: u32) -> f64 {
    simulated.work / f64::from(cores) / (1e-6 * f64::from(OWN_LATENCY))
}
