//! Leaves that compute without ever calling their rank.
//!
//! The tests run this program and check how many leaves are stolen.

use std::time::{Duration, Instant};

use bytemuck::{Pod, Zeroable};
use purloin_cluster::{Cluster, CutOff, Error, Options, Rank, Task, launch};

/// A task that spawns this number of leaves, or a leaf if the number is 1.
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
    let result = launch(|| {
        let cluster = Cluster::initialize()?;
        for cut_off in [CutOff::Adaptive, CutOff::None] {
            let mut options = Options::default();
            options.cut_off = cut_off;
            let run = cluster.run(Leaves(200), &(), &options)?;
            if cluster.rank() == 0 {
                println!("{} of {} were stolen", run.stats.stolen, run.output);
            }
        }
        Ok::<_, Error>(())
    });
    result.expect("the thread starts").expect("the job begins");
}
