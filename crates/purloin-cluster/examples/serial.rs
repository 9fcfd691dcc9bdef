//! Tasks that are worth a place in a queue, but too short to be spread over another node.
//!
//! The tests run this program on two hosts, and check that the work of stolen tasks counts as
//! work of the task that spawned them.

use std::time::{Duration, Instant};

use bytemuck::{Pod, Zeroable};
use purloin_cluster::{Cluster, CutOff, Error, Grain, Options, Rank, Task, launch};

/// The number of branches below the task that spawns them all. Each branch has ten leaves.
const BRANCHES: u32 = 3_000;

/// The number of tasks above that one. Each of them joins the next with one more branch. So most
/// branches have depth 11, of which `CutOff::Paper` times sixteen tasks. It times none of the first
/// seven depths.
const CHAIN: u32 = 10;

/// The duration of a leaf. A branch takes ten times as long.
const LEAF: Duration = Duration::from_micros(60);

/// Branches are longer than this, and so worth a place. But a task from another node is spread
/// over the thief's node only if tasks of its depth take twice as long. Branches are so long
/// that a few interruptions of several milliseconds do not double the mean of their first samples.
const GRAIN: Duration = Duration::from_micros(550);

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(transparent)]
struct Tree {
    /// The number of levels below this task: 0 for a leaf, 1 for a branch.
    levels: u32,
}

impl Task for Tree {
    type Output = u64;
    type Context = ();

    fn run<R: Rank<Self>>(self, mut rank: R) -> u64 {
        if self.levels == 0 {
            let begin = Instant::now();
            while begin.elapsed() < LEAF {
                std::hint::spin_loop();
            }
            return 1;
        }
        let child = Tree {
            levels: self.levels - 1,
        };
        if self.levels > 2 {
            // The first task of a join is never stolen. So thieves steal branches, and perhaps some of
            // their leaves, but not the work of hundreds of branches at once.
            let (leaves, more) = rank.join(child, Tree { levels: 1 });
            return leaves + more;
        }
        let children = if self.levels == 2 { BRANCHES } else { 10 };
        rank.spawn_all((0..children).map(|_| child), 0, |sum, leaves| sum + leaves)
    }
}

fn main() {
    let result = launch(|| {
        let cluster = Cluster::initialize()?;
        for cut_off in [CutOff::Adaptive, CutOff::Paper] {
            let mut options = Options::default();
            options.cut_off = cut_off;
            options.grain = Grain::Fixed(GRAIN);
            let root = Tree { levels: CHAIN + 2 };
            let run = cluster.run(root, &(), &options)?;
            assert_eq!(run.output, 10 * u64::from(CHAIN + BRANCHES));
            if cluster.rank() == 0 {
                let work = Duration::from_nanos(run.stats.stolen_work_nanoseconds);
                println!(
                    "{} stolen, {} serial, {} us of work",
                    run.stats.stolen,
                    run.stats.serial,
                    work.as_micros()
                );
            }
        }
        Ok::<_, Error>(())
    });
    result.expect("the thread starts").expect("the job begins");
}
