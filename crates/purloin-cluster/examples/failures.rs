//! What ends a job before its time, each case by its name.
//!
//! It is for the tests, which look at how it ends.

use std::process::ExitCode;
use std::time::Duration;

use bytemuck::{Pod, Zeroable};
use purloin_cluster::{Cluster, Cutoff, GlobalArray, Options, Rank, Task, launch};

/// A node of a tree whose leaves take a while; the last of them fails.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Node {
    leaves: u32,
    number: u32,
    how: u32,
}

const PANIC: u32 = 0;
const DIE: u32 = 1;
const EXIT: u32 = 2;

impl Task for Node {
    type Output = u64;
    type Context = usize;

    fn run<R: Rank<Self>>(self, mut rank: R) -> u64 {
        let Node {
            leaves,
            number,
            how,
        } = self;
        if leaves > 1 {
            let half = leaves / 2;
            let (a, b) = rank.join(
                Node {
                    leaves: half,
                    ..self
                },
                Node {
                    leaves: leaves - half,
                    number: number + half,
                    how,
                },
            );
            return a + b;
        }
        std::thread::sleep(Duration::from_millis(1));
        // On another rank than the first, if there is one.
        let ranks_and_rank = *rank.context();
        let is_elsewhere = ranks_and_rank == 0;
        if is_elsewhere && number >= 100 {
            match how {
                PANIC => panic!("leaf {number} is rotten"),
                DIE => std::process::abort(),
                EXIT => std::process::exit(3),
                _ => {}
            }
        }
        1
    }
}

fn main() -> ExitCode {
    let case = std::env::args().nth(1).unwrap_or_default();
    let run = || {
        let cluster = Cluster::initialize().expect("MPI starts");
        let how = match &*case {
            "panic" => PANIC,
            "die" => DIE,
            "exit" => EXIT,
            "memory" => {
                // More than there is anywhere, on any number of ranks.
                return match GlobalArray::<f64>::new(&cluster, 1 << 50, 1 << 20) {
                    Err(error) => {
                        if cluster.rank() == 0 {
                            eprintln!("{error}");
                        }
                        ExitCode::from(4)
                    }
                    Ok(_) => ExitCode::SUCCESS,
                };
            }
            "options" => {
                let mut options = Options::default();
                if cluster.rank() == 1 {
                    options.residual = 3;
                }
                let task = Node::zeroed();
                return match cluster.run(task, &0, &options) {
                    Err(error) => {
                        if cluster.rank() == 0 {
                            eprintln!("{error}");
                        }
                        ExitCode::from(4)
                    }
                    Ok(_) => ExitCode::SUCCESS,
                };
            }
            _ => {
                eprintln!("usage: failures panic|die|exit|memory|options");
                return ExitCode::from(2);
            }
        };
        let root = Node {
            leaves: 2000,
            number: 0,
            how,
        };
        let mut options = Options::default();
        options.cutoff = Cutoff::None;
        // The context says whether this is where it happens.
        let place = usize::from(cluster.rank() + 1 != cluster.ranks());
        let run = cluster.run(root, &place, &options).expect("it begins");
        println!("{}", run.output);
        ExitCode::SUCCESS
    };
    launch(run).expect("a thread starts")
}
