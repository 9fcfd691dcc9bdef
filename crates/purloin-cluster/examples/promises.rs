//! The promises of tasks, arrays and minima, each tried on all ranks of a job.
//!
//! The tests run this program with `mpirun`. It also shows the library's interface.

use bytemuck::{Pod, Zeroable};
use purloin_cluster::{
    Cluster, CutOff, Error, GlobalArray, GlobalMin, Options, Rank, Serial, Steal, Task, launch,
};

/// The sum of the numbers of a range, computed in one of several ways.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Sum {
    from: u32,
    to: u32,
    way: u32,
}

/// An output that is larger than the task, so that a result overwrites more than the task.
#[derive(Clone, Copy, Debug, Pod, Zeroable, PartialEq)]
#[repr(C)]
struct Total {
    sum: u64,
    check: [u64; 5],
}

fn total(sum: u64) -> Total {
    Total {
        sum,
        check: [1, 2, 3, 4, 5].map(|factor| factor * sum),
    }
}

impl Task for Sum {
    type Output = Total;
    type Context = ();

    fn run<R: Rank<Self>>(self, mut rank: R) -> Total {
        let Sum { from, to, way } = self;
        if to - from <= 1 {
            return total((from..to).map(u64::from).sum());
        }
        let parts: Vec<_> = (0..4)
            .map(|part| {
                let at = |part: u32| from + (to - from) * part / 4;
                Sum {
                    from: at(part),
                    to: at(part + 1),
                    way,
                }
            })
            .collect();
        let sum = match way {
            // Asks for the outputs in the order of the spawns (0), or in reverse (1).
            0 | 1 => {
                let mut spawned: Vec<_> = parts.iter().map(|part| rank.spawn(*part)).collect();
                if way == 1 {
                    spawned.reverse();
                }
                spawned.into_iter().map(|part| rank.get(part).sum).sum()
            }
            // Joins two tasks between two spawns.
            2 => {
                let first = rank.spawn(parts[0]);
                let (a, b) = rank.join(parts[1], parts[2]);
                let last = rank.spawn(parts[3]);
                let first = rank.get(first).sum;
                first + a.sum + b.sum + rank.get(last).sum
            }
            // Spawns tasks without asking for their outputs. The tasks run nevertheless.
            3 => {
                for part in &parts {
                    drop(rank.spawn(*part));
                }
                rank.spawn_all(parts, 0, |sum, part| sum + part.sum)
            }
            _ => rank.spawn_all(parts, 0, |sum, part| sum + part.sum),
        };
        total(sum)
    }
}

/// A task that adds to elements of an array, and lowers a minimum.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Add {
    from: u32,
    to: u32,
}

struct Shared {
    array: GlobalArray<u64>,
    least: GlobalMin,
}

/// The number of elements to which each leaf adds.
const SPREAD: usize = 7;

impl Task for Add {
    type Output = u64;
    type Context = Shared;

    fn run<R: Rank<Self>>(self, mut rank: R) -> u64 {
        let Add { from, to } = self;
        if to - from > 1 {
            let middle = from + (to - from) / 2;
            let (a, b) = rank.join(Add { from, to: middle }, Add { from: middle, to });
            return a + b;
        }
        let Shared { array, least } = rank.context();
        least.lower((2000 - from).into());
        array.accumulate(from as usize, &[1; SPREAD]);
        rank.poll();
        1
    }
}

fn try_all(cluster: &Cluster) -> Result<(), Error> {
    let mut options = Options::default();
    for cut_off in [
        CutOff::Adaptive,
        CutOff::Paper,
        CutOff::None,
        CutOff::Depth(3),
        CutOff::Queue,
    ] {
        for steal in [Steal::Async, Steal::Sync] {
            (options.cut_off, options.steal) = (cut_off, steal);
            for way in 0..5 {
                let task = Sum {
                    from: 0,
                    to: 1000,
                    way,
                };
                let run = cluster.run(task, &(), &options)?;
                assert_eq!(run.output, total(999 * 1000 / 2), "{way} {options:?}");
                assert_eq!(run.output, task.run(Serial::new(&())));
            }
        }
    }

    // Blocks of ten elements. The last block is shorter.
    let array = GlobalArray::<u64>::new(cluster, 1000 + SPREAD, 10)?;
    let mine: Vec<_> = array.local_blocks().collect();
    assert!(
        mine.iter()
            .all(|&block| array.owner(block) == cluster.rank())
    );
    let shared = Shared {
        array,
        least: GlobalMin::new(cluster, 5000)?,
    };
    options.cut_off = CutOff::None;
    let run = cluster.run(Add { from: 0, to: 1000 }, &shared, &options)?;
    assert_eq!(run.output, 1000);
    let Shared { array, least } = shared;
    let mut all = vec![0; array.len()];
    array.get(0, &mut all);
    for (place, &value) in all.iter().enumerate() {
        let expected = (place.min(999) + 1) - (place + 1).saturating_sub(SPREAD);
        assert_eq!(value, expected as u64, "element {place}");
    }
    cluster.barrier();
    // All ranks see the elements that each rank has written, even across the borders of blocks.
    let part = array.len() / cluster.ranks();
    let start = cluster.rank() * part;
    array.put(start, &vec![cluster.rank() as u64; part]);
    cluster.barrier();
    array.get(0, &mut all);
    for (place, &value) in all[..cluster.ranks() * part].iter().enumerate() {
        assert_eq!(value, (place / part) as u64);
    }
    least.reset(3);
    assert_eq!(least.get(), 3);
    least.lower(4);
    assert_eq!(least.get(), 3);
    cluster.barrier();
    Ok(())
}

fn main() {
    let result = launch(|| {
        let cluster = Cluster::initialize()?;
        try_all(&cluster)?;
        if cluster.rank() == 0 {
            println!("all promises kept on {} ranks", cluster.ranks());
        }
        Ok::<_, Error>(())
    });
    result.expect("the thread starts").expect("the job begins");
}
