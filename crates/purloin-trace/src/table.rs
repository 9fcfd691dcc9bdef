//! A trace as text.

use std::fmt::{Display, Formatter, Result};

use crate::overview::Overview;
use crate::timeline::State;
use crate::{PoolTrace, Trace, Verdict, format::with_unit};

impl Display for Trace {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let verdict = Verdict::of(self);
        writeln!(f, "{}", verdict.title)?;
        for detail in &verdict.details {
            writeln!(f, "  {detail}")?;
        }
        for pool in &self.pools {
            writeln!(f)?;
            write_pool(f, pool)?;
        }
        if self.dropped_pools > 0 {
            let dropped = self.dropped_pools;
            writeln!(
                f,
                "\nPools that are missing because many have ended since: {dropped}."
            )?;
        }
        let lost = self.lost();
        if lost > 0 {
            let share = 100.0 * self.share_held();
            writeln!(
                f,
                "\nThe trace holds the last {share:.0} % of the run: {lost} older events had no room."
            )?;
        }
        Ok(())
    }
}

/// Writes a line for each worker, with the share of its time in each state.
fn write_pool(f: &mut Formatter<'_>, pool: &PoolTrace) -> Result {
    let overview = Overview::of(pool);
    let steals = overview.steal_sizes.steals;
    writeln!(
        f,
        "pool {}: {} workers, {} steals; they ran the program for {} in all, within {}",
        pool.id,
        pool.workers,
        steals,
        with_unit(overview.busy()),
        with_unit(overview.duration())
    )?;
    let width = pool.tracks.iter().map(|track| track.name.len()).max();
    let width = width.unwrap_or(0).max(6);
    write!(f, "  {:width$}", "worker")?;
    for state in State::ALL {
        write!(f, "  {}", heading(state))?;
    }
    writeln!(f, "  steals")?;
    for (track, timeline) in pool.tracks.iter().zip(&overview.timelines) {
        let totals = timeline.totals();
        let sum: u64 = totals.iter().sum();
        write!(f, "  {:width$}", track.name)?;
        for (state, total) in State::ALL.into_iter().zip(totals) {
            let share = 100.0 * total as f64 / sum.max(1) as f64;
            let width = heading(state).len() - 2;
            write!(f, "  {share:>width$.1} %")?;
        }
        writeln!(f, "  {:>6}", timeline.steals.len())?;
    }
    Ok(())
}

/// Returns a state in a few letters.
fn heading(state: State) -> &'static str {
    match state {
        State::RunningWhileBlocked => "leapfrogging",
        State::HandedOff => "handed off",
        state => state.name(),
    }
}
