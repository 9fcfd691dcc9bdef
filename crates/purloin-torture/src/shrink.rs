//! Makes a failing program smaller.
//!
//! A smaller program has another schedule, so it may fail under another seed of the adversary only. Each candidate
//! therefore runs under some hundred schedules.

use std::time::{Duration, Instant};

use crate::case::Case;
use crate::execute::Failure;
use crate::runner::{News, Watched};

/// How long to look for a smaller program.
const LIMIT: Duration = Duration::from_secs(60);
/// How long to run one candidate.
const CANDIDATE: Duration = Duration::from_secs(3);
/// Number of schedules of a candidate.
const SCHEDULES: u64 = if cfg!(purloin_virtual) { 400 } else { 30 };

/// Returns the smallest case found that fails in the same way, and its failure.
pub fn shrink(case: &Case, failure: &Failure) -> (Case, Failure) {
    let start = Instant::now();
    let kind = failure.kind();
    let mut best = (case.clone(), failure.clone());
    let attempt = |best: &mut (Case, Failure), change: &dyn Fn(&mut Case)| {
        if start.elapsed() >= LIMIT {
            return false;
        }
        let mut candidate = best.0.clone();
        change(&mut candidate);
        match fails(&candidate, &kind) {
            Some(found) => {
                *best = found;
                true
            }
            None => false,
        }
    };
    attempt(&mut best, &|case| case.is_calm = true);
    for workers in 1..4 {
        if attempt(&mut best, &|case| case.workers = Some(workers)) {
            break;
        }
    }
    // Halves of the steps, quarters, and so on.
    let mut size = numbers(&best.0).len().div_ceil(2).max(1);
    while start.elapsed() < LIMIT {
        let mut place = 0;
        loop {
            let all = numbers(&best.0);
            if place >= all.len() || start.elapsed() >= LIMIT {
                break;
            }
            let dropped = &all[place..all.len().min(place + size)];
            if !attempt(&mut best, &|case| case.without.extend(dropped)) {
                place += size;
            }
        }
        if size == 1 {
            break;
        }
        size = size.div_ceil(2);
    }
    best
}

fn numbers(case: &Case) -> Vec<u32> {
    case.program().1.numbers()
}

/// Returns a schedule under which the case fails in this way.
fn fails(case: &Case, kind: &str) -> Option<(Case, Failure)> {
    let start = Instant::now();
    let mut first = case.clone();
    // A failure of another kind ends the child.
    while start.elapsed() < CANDIDATE {
        let mut child = Watched::start(&[
            format!("--seed={first}"),
            format!("--schedules={SCHEDULES}"),
        ]);
        let news = loop {
            match child.next(Duration::from_millis(50)) {
                Some(news) => break Some(news),
                None if start.elapsed() >= CANDIDATE => break None,
                None => (),
            }
        };
        match news {
            Some(News::Failed(case, failure)) if failure.kind() == kind => {
                return Some((case, failure));
            }
            Some(News::Failed(case, _)) => first.schedule = case.schedule.wrapping_add(1),
            _ => return None,
        }
    }
    None
}
