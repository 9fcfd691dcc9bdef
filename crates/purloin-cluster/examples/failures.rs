//! Ways to end a job early. The argument selects one of them.
//!
//! The tests run this program and check how the job ends.

use std::cell::RefCell;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use bytemuck::{Pod, Zeroable};
use purloin_cluster::{Cluster, CutOff, GlobalArray, Options, Rank, Run, Task, launch};

/// The context of a rank's tasks.
struct Place {
    /// Whether tasks fail on this rank.
    fails: bool,
    cluster: Option<Rc<Cluster>>,
    array: RefCell<Option<GlobalArray<u64>>>,
}

/// A node of a tree. Each leaf takes a millisecond, and the last leaves fail.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Node {
    leaves: u32,
    number: u32,
    failure: u32,
}

// The ways in which a leaf fails.
const PANIC: u32 = 0;
const ABORT: u32 = 1;
const EXIT: u32 = 2;
const COLLECTIVE: u32 = 3;
const DROP: u32 = 4;

impl Task for Node {
    type Output = u64;
    type Context = Place;

    fn run<R: Rank<Self>>(self, mut rank: R) -> u64 {
        let Node {
            leaves,
            number,
            failure,
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
                    failure,
                },
            );
            return a + b;
        }
        std::thread::sleep(Duration::from_millis(1));
        let Place {
            fails,
            cluster,
            array,
        } = rank.context();
        if *fails && number >= 100 {
            match failure {
                PANIC => panic!("leaf {number} is rotten"),
                ABORT => std::process::abort(),
                EXIT => std::process::exit(3),
                // A collective operation, in which the other ranks do not take part.
                COLLECTIVE => cluster.as_ref().expect("main sets it").barrier(),
                DROP => drop(array.take()),
                _ => {}
            }
        }
        1
    }
}

/// Reports an error from rank 0, and returns status 4 on all ranks.
fn report<T>(cluster: &Cluster, result: Result<T, purloin_cluster::Error>) -> ExitCode {
    let Err(error) = result else {
        return ExitCode::SUCCESS;
    };
    if cluster.rank() == 0 {
        eprintln!("{error}");
    }
    ExitCode::from(4)
}

/// Runs with options that are refused: in the case `range` one is out of range, in the case
/// `options` they differ among ranks.
fn run_with_bad_options(cluster: &Cluster, case: &str) -> Result<Run<u64>, purloin_cluster::Error> {
    let mut options = Options::default();
    if case == "range" {
        options.residual = 7;
    } else if cluster.rank() == 1 {
        options.residual = 3;
    }
    let place = Place {
        fails: false,
        cluster: None,
        array: RefCell::new(None),
    };
    cluster.run(Node::zeroed(), &place, &options)
}

fn main() -> ExitCode {
    let case = std::env::args().nth(1).unwrap_or_default();
    let run = || {
        let cluster = Rc::new(Cluster::initialize().expect("MPI starts"));
        let failure = match &*case {
            "panic" => PANIC,
            "abort" => ABORT,
            "exit" => EXIT,
            "collective" => COLLECTIVE,
            "drop" => DROP,
            "outside" => {
                if cluster.rank() == 1 {
                    panic!("outside of any task");
                }
                cluster.barrier();
                return ExitCode::SUCCESS;
            }
            // Asks for more memory than any number of ranks has.
            "memory" => {
                let array = GlobalArray::<f64>::new(&cluster, 1 << 50, 1 << 20);
                return report(&cluster, array);
            }
            "options" | "range" => {
                return report(&cluster, run_with_bad_options(&cluster, &case));
            }
            _ => {
                eprintln!(
                    "usage: failures \
                     panic|abort|exit|collective|drop|outside|memory|options|range"
                );
                return ExitCode::from(2);
            }
        };
        let root = Node {
            leaves: 2000,
            number: 0,
            failure,
        };
        let mut options = Options::default();
        options.cut_off = CutOff::None;
        let array = GlobalArray::new(&cluster, 8, 1).expect("the array is small");
        let place = Place {
            // The last rank fails. It is not rank 0 if there are several ranks.
            fails: cluster.rank() + 1 == cluster.ranks(),
            cluster: Some(cluster.clone()),
            array: RefCell::new(Some(array)),
        };
        let run = cluster.run(root, &place, &options).expect("the run begins");
        println!("{}", run.output);
        ExitCode::SUCCESS
    };
    launch(run).expect("the thread starts")
}
