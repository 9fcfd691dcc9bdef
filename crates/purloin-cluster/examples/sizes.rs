//! Tasks and outputs of many sizes. The program checks every byte of each, and that each task
//! runs exactly once.
//!
//! The tests run this program with `mpirun`.

use std::cell::Cell;

use bytemuck::{Pod, Zeroable};
use purloin_cluster::{Cluster, CutOff, Error, GlobalArray, Options, Rank, Steal, Task, launch};

/// A task of `BYTES` bytes with an output of `OUTPUT` bytes. The first byte is its height.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
struct Tree<const BYTES: usize, const OUTPUT: usize>([u8; BYTES]);

// SAFETY: the type is a transparent wrapper of a byte array, which may be all zeros.
unsafe impl<const BYTES: usize, const OUTPUT: usize> Zeroable for Tree<BYTES, OUTPUT> {}
// SAFETY: the type is a transparent wrapper of a byte array, which has no padding and no
// invalid values.
unsafe impl<const BYTES: usize, const OUTPUT: usize> Pod for Tree<BYTES, OUTPUT> {}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Bytes<const LEN: usize>([u8; LEN]);

// SAFETY: the type is a transparent wrapper of a byte array, which may be all zeros.
unsafe impl<const LEN: usize> Zeroable for Bytes<LEN> {}
// SAFETY: the type is a transparent wrapper of a byte array, which has no padding and no
// invalid values.
unsafe impl<const LEN: usize> Pod for Bytes<LEN> {}

impl<const BYTES: usize, const OUTPUT: usize> Tree<BYTES, OUTPUT> {
    fn new(height: u8) -> Self {
        let mut bytes = [0; BYTES];
        for (place, byte) in bytes.iter_mut().enumerate() {
            *byte = height ^ place as u8 | 0x10;
        }
        bytes[0] = height;
        Tree(bytes)
    }

    /// Returns the output of a task of this height. None of its bytes is zero.
    fn result(height: u8) -> Bytes<OUTPUT> {
        let mut bytes = [0; OUTPUT];
        for (place, byte) in bytes.iter_mut().enumerate() {
            *byte = height.wrapping_mul(37).wrapping_add(place as u8) | 1;
        }
        Bytes(bytes)
    }

    /// Returns the number of tasks in a tree of this height.
    fn tasks(height: u8) -> u64 {
        match height {
            0 => 1,
            _ => 1 + 2 * Self::tasks(height - 1) + 3 * Self::tasks(height / 2),
        }
    }
}

impl<const BYTES: usize, const OUTPUT: usize> Task for Tree<BYTES, OUTPUT> {
    type Output = Bytes<OUTPUT>;
    type Context = Cell<u64>;

    fn run<R: Rank<Self>>(self, mut rank: R) -> Bytes<OUTPUT> {
        let height = self.0[0];
        assert_eq!(self.0, Self::new(height).0);
        let runs = rank.context();
        runs.set(runs.get() + 1);
        if height > 0 {
            let (a, b) = rank.join(Self::new(height - 1), Self::new(height - 1));
            assert_eq!((a, b), (Self::result(height - 1), Self::result(height - 1)));
            let [first, second, third] = [(); 3].map(|()| rank.spawn(Self::new(height / 2)));
            for spawned in [second, third, first] {
                assert_eq!(rank.get(spawned), Self::result(height / 2));
            }
        }
        Self::result(height)
    }
}

fn check<const BYTES: usize, const OUTPUT: usize>(
    cluster: &Cluster,
    height: u8,
) -> Result<(), Error> {
    let mut options = Options::default();
    for cut_off in [CutOff::None, CutOff::Queue, CutOff::Adaptive] {
        for steal in [Steal::Async, Steal::Sync] {
            (options.cut_off, options.steal) = (cut_off, steal);
            let runs = Cell::new(0);
            let root = Tree::<BYTES, OUTPUT>::new(height);
            let run = cluster.run(root, &runs, &options)?;
            assert_eq!(run.output, Tree::<BYTES, OUTPUT>::result(height));
            let all = GlobalArray::<u64>::new(cluster, 1, 1)?;
            all.accumulate(0, &[runs.get()]);
            cluster.barrier();
            let mut sum = [0];
            all.get(0, &mut sum);
            cluster.barrier();
            let tasks = Tree::<BYTES, OUTPUT>::tasks(height);
            assert_eq!(sum[0], tasks, "{BYTES} {OUTPUT} {options:?}");
        }
    }
    Ok(())
}

/// Tasks that end in an order in which their slots do not become free at once.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(transparent)]
struct Order(u64);

const OUTER: Order = Order(0);
const INNER: Order = Order(1);
const LAST: Order = Order(2);
const NOTHING: Order = Order(3);

impl Task for Order {
    type Output = u64;
    /// The number of `LAST` tasks that have run.
    type Context = GlobalArray<u64>;

    fn run<R: Rank<Self>>(self, mut rank: R) -> u64 {
        match self {
            Order(0) => {
                let a = rank.spawn(NOTHING);
                let b = rank.spawn(INNER);
                rank.get(a);
                rank.get(b);
                let mut runs = [0];
                rank.context().get(0, &mut runs);
                runs[0]
            }
            Order(1) => {
                let [x, y, z] = [(); 3].map(|()| rank.spawn(NOTHING));
                rank.get(y);
                rank.get(z);
                rank.get(x);
                drop(rank.spawn(LAST));
                0
            }
            Order(2) => {
                rank.context().accumulate(0, &[1]);
                0
            }
            _ => 0,
        }
    }
}

fn check_order(cluster: &Cluster) -> Result<(), Error> {
    let mut options = Options::default();
    options.cut_off = CutOff::None;
    for _ in 0..20 {
        let runs = GlobalArray::new(cluster, 1, 1)?;
        let run = cluster.run(OUTER, &runs, &options)?;
        // A task ends after all tasks that it has spawned.
        assert_eq!(run.output, 1);
        cluster.barrier();
    }
    Ok(())
}

fn main() {
    let result = launch(|| {
        let cluster = Cluster::initialize()?;
        check::<1, 0>(&cluster, 8)?;
        check::<1, 3>(&cluster, 8)?;
        check::<1, 1024>(&cluster, 7)?;
        check::<18, 84>(&cluster, 7)?;
        check::<84, 18>(&cluster, 7)?;
        check::<1024, 1>(&cluster, 7)?;
        check::<1024, 1024>(&cluster, 7)?;
        check_order(&cluster)?;
        if cluster.rank() == 0 {
            println!("all promises kept on {} ranks", cluster.ranks());
        }
        Ok::<_, Error>(())
    });
    result.expect("the thread starts").expect("the job begins");
}
