//! The simulated program: [`Program`].

use std::fmt;
use std::path::PathBuf;

use purloin_command::Failure;
use purloin_kernels::{loops, uts};
use purloin_measure::simulation::recording;
use purloin_sim::{Loop, Machine, Outcome, Policy, Time, Tree, Uts, simulate};

/// The maximum depth of a tree. A deeper tree has more leaves than there are task numbers.
const MAX_DEPTH: u32 = 30;

/// The maximum work of a tree, in seconds: four days.
const MAX_WORK: f64 = 345_600.0;

/// The simulated program.
#[derive(Clone, Debug)]
pub enum Program {
    /// A balanced tree: its depth, and the mean time of a leaf if it differs from Wool's model.
    Tree(Depth, Option<Time>),
    Uts(&'static str, Uts),
    Loop(Loop),
    /// The recording in this file.
    Recorded(PathBuf),
}

/// The depth of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depth {
    /// The depth that the Wool paper uses for the number of cores.
    Wool,
    /// The logarithm of the number of cores, plus this.
    Beyond(u32),
    Fixed(u32),
}

impl Depth {
    fn of(self, cores: u32) -> u32 {
        match self {
            Depth::Wool => Tree::wool(cores).depth,
            Depth::Beyond(more) => cores.next_power_of_two().ilog2() + more,
            Depth::Fixed(depth) => depth,
        }
    }
}

impl fmt::Display for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Depth::Wool => Ok(()),
            Depth::Beyond(more) => write!(f, "=+{more}"),
            Depth::Fixed(depth) => write!(f, "={depth}"),
        }
    }
}

/// Simulates the program on a machine, under a policy, with a seed.
pub type Simulator = Box<dyn Fn(&Machine, Policy, u64) -> Outcome + Sync>;

impl Program {
    pub fn parse(text: &str) -> Result<Program, String> {
        let (name, input) = match text.split_once('=') {
            Some((name, input)) => (name, Some(input)),
            None => (text, None),
        };
        match (name, input) {
            ("tree", None) => Ok(Program::Tree(Depth::Wool, None)),
            ("tree", Some(input)) => Program::parse_tree(input),
            ("uts", input) => {
                let input = input.unwrap_or("T3");
                let trees = uts::NAMES.into_iter().zip(&uts::TREES);
                match trees.into_iter().find(|(name, _)| *name == input) {
                    Some((name, tree)) => Ok(Program::Uts(name, Uts::new(tree))),
                    None => Err(format!(
                        "uts has no tree {input:?}; its trees are {}",
                        uts::NAMES.join(", ")
                    )),
                }
            }
            ("loops", input) => {
                let input = input.unwrap_or("fine");
                match loops::TIMED.iter().find(|shape| shape.name == input) {
                    Some(shape) => Ok(Program::Loop(Loop(shape))),
                    None => Err(format!(
                        "loops has no shape {input:?} here; its shapes are {}",
                        loops::TIMED.map(|shape| shape.name).join(", ")
                    )),
                }
            }
            ("dag", None | Some("")) => Err("dag needs a recording: dag=FILE".into()),
            ("dag", Some(path)) => Ok(Program::Recorded(path.into())),
            _ => {
                Err("a workload is tree, tree=DEPTH,LEAF, uts=TREE, loops=SHAPE or dag=FILE".into())
            }
        }
    }

    fn parse_tree(input: &str) -> Result<Program, String> {
        let (depth, leaf) = match input.split_once(',') {
            Some((depth, leaf)) => (depth, Some(leaf)),
            None => (input, None),
        };
        let leaf = leaf.map(str::parse::<Time>).transpose();
        let leaf = leaf.map_err(|error| error.to_string())?;
        if leaf == Some(Time::ZERO) {
            return Err("a leaf must take more than no time, such as 10us".into());
        }
        let (depth, max, kind): (_, _, fn(u32) -> Depth) = match depth.strip_prefix('+') {
            Some(more) => (more, MAX_DEPTH - Machine::MAX_CORES.ilog2(), Depth::Beyond),
            None => (depth, MAX_DEPTH, Depth::Fixed),
        };
        match depth.parse() {
            Ok(depth) if depth <= max => Ok(Program::Tree(kind(depth), leaf)),
            _ if max == MAX_DEPTH => Err(format!("the depth of a tree must be from 0 to {max}")),
            _ => Err(format!(
                "the depth of a tree beyond the logarithm of the number of cores must be from 0 to \
                 {max}"
            )),
        }
    }

    /// Returns an error unless the program can be simulated for this number of cores.
    pub fn check(&self, cores: u32) -> Result<(), Failure> {
        if let &Program::Tree(depth, Some(leaf)) = self {
            let work = leaf.seconds() * f64::from(depth.of(cores)).exp2();
            if work > MAX_WORK {
                return Err(Failure::usage(format_args!(
                    "{self}: for {cores} cores it has {:.0} days of work; the maximum is four days",
                    work / 86_400.0
                )));
            }
        }
        Ok(())
    }

    /// Prepares the program for simulation under these policies.
    pub fn load(&self, policies: &[Policy]) -> Result<Simulator, Failure> {
        match self {
            &Program::Tree(depth, leaf) => Ok(Box::new(move |machine, policy, seed| {
                let model = Tree::wool(machine.size());
                let tree = Tree {
                    depth: depth.of(machine.size()),
                    leaf: leaf.unwrap_or(model.leaf),
                    ..model
                };
                simulate(&tree, machine, policy, seed)
            })),
            &Program::Uts(_, uts) => Ok(Box::new(move |machine, policy, seed| {
                simulate(&uts, machine, policy, seed)
            })),
            &Program::Loop(whole) => Ok(Box::new(move |machine, policy, seed| {
                simulate(&whole, machine, policy, seed)
            })),
            Program::Recorded(path) => {
                let recorded = recording::prepare(path, &recording::read(path)?, policies)?;
                Ok(Box::new(move |machine, policy, seed| {
                    simulate(&recorded, machine, policy, seed)
                }))
            }
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Program::Tree(depth, None) => write!(f, "tree{depth}"),
            Program::Tree(depth, Some(leaf)) => write!(f, "tree{depth},{leaf}"),
            Program::Uts(name, _) => write!(f, "uts={name}"),
            Program::Loop(Loop(shape)) => write!(f, "loops={}", shape.name),
            Program::Recorded(path) => write!(f, "dag={}", path.display()),
        }
    }
}
