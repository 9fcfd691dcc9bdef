//! What ends a job before its time, each case by its name.
//!
//! It is for the tests, which look at how it ends.

use std::cell::RefCell;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use bytemuck::{Pod, Zeroable};
use purloin_cluster::{Cluster, Cutoff, GlobalArray, Options, Rank, Task, launch};

/// Where a task is.
struct Place {
    /// Whether it fails here.
    fails: bool,
    cluster: Option<Rc<Cluster>>,
    array: RefCell<Option<GlobalArray<u64>>>,
}

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
const TOGETHER: u32 = 3;
const DROP: u32 = 4;

impl Task for Node {
    type Output = u64;
    type Context = Place;

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
        let Place {
            fails,
            cluster,
            array,
        } = rank.context();
        if *fails && number >= 100 {
            match how {
                PANIC => panic!("leaf {number} is rotten"),
                DIE => std::process::abort(),
                EXIT => std::process::exit(3),
                // What all ranks would have to do together.
                TOGETHER => cluster.as_ref().expect("it is there").barrier(),
                DROP => drop(array.take()),
                _ => {}
            }
        }
        1
    }
}

fn main() -> ExitCode {
    let case = std::env::args().nth(1).unwrap_or_default();
    let run = || {
        let cluster = Rc::new(Cluster::initialize().expect("MPI starts"));
        let how = match &*case {
            "panic" => PANIC,
            "die" => DIE,
            "exit" => EXIT,
            "together" => TOGETHER,
            "drop" => DROP,
            "outside" => {
                if cluster.rank() == 1 {
                    panic!("outside of any task");
                }
                cluster.barrier();
                return ExitCode::SUCCESS;
            }
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
            "options" | "range" => {
                let mut options = Options::default();
                if case == "range" {
                    options.residual = 7;
                } else if cluster.rank() == 1 {
                    options.residual = 3;
                }
                let task = Node::zeroed();
                let nowhere = Place {
                    fails: false,
                    cluster: None,
                    array: RefCell::new(None),
                };
                return match cluster.run(task, &nowhere, &options) {
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
                eprintln!(
                    "usage: failures panic|die|exit|outside|together|drop|memory|options|range"
                );
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
        let array = GlobalArray::new(&cluster, 8, 1).expect("it is small");
        let place = Place {
            fails: cluster.rank() + 1 == cluster.ranks(),
            cluster: Some(cluster.clone()),
            array: RefCell::new(Some(array)),
        };
        let run = cluster.run(root, &place, &options).expect("it begins");
        println!("{}", run.output);
        ExitCode::SUCCESS
    };
    launch(run).expect("a thread starts")
}
