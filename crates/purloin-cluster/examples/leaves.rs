//! Leaves that only compute, and never call their rank.
//!
//! It is for the tests, which look at how many are stolen.

use std::time::{Duration, Instant};

use bytemuck::{Pod, Zeroable};
use purloin_cluster::{Cluster, Cutoff, Error, Options, Rank, Task, launch};

/// So many leaves, if more than one.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(transparent)]
struct Leaves(u32);

impl Task for Leaves {
    type Output = u64;
    type Context = ();

    fn run<R: Rank<Self>>(self, mut rank: R) -> u64 {
        if self.0 > 1 {
            return rank.spawn_all((0..self.0).map(|_| Leaves(1)), 0, |sum, one| sum + one);
        }
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(1) {
            std::hint::spin_loop();
        }
        1
    }
}

fn main() {
    let done = launch(|| {
        let cluster = Cluster::initialize()?;
        for cutoff in [Cutoff::Adaptive, Cutoff::None] {
            let mut options = Options::default();
            options.cutoff = cutoff;
            let run = cluster.run(Leaves(200), &(), &options)?;
            if cluster.rank() == 0 {
                println!("{} of {} were stolen", run.stats.stolen, run.output);
            }
        }
        Ok::<_, Error>(())
    });
    done.expect("a thread starts").expect("the job begins");
}
