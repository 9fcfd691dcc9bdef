//! What is simulated: [`Program`].

use std::fmt;
use std::path::PathBuf;

use purloin_command::Failure;
use purloin_kernels::uts;
use purloin_sim::{Machine, Outcome, Policy, Time, Tree, Uts, simulate};

use crate::simulation::arguments::{prepare, read_recording};

/// The deepest tree: it has as many leaves as there are task numbers.
const DEEPEST: u32 = 30;

/// The most work, in seconds: four days.
const LONGEST: f64 = 345_600.0;

/// What is simulated.
#[derive(Clone, Debug)]
pub enum Program {
    /// A balanced tree: its depth, and what a leaf takes on average, if not as in the model.
    Tree(Depth, Option<Time>),
    Uts(&'static str, Uts),
    /// What was recorded in this file.
    Recorded(PathBuf),
}

/// How deep a tree is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depth {
    /// As the Wool paper has it for so many cores.
    Usual,
    /// So much more than the logarithm of the number of cores.
    Beyond(u32),
    Fixed(u32),
}

impl Depth {
    fn of(self, cores: u32) -> u32 {
        match self {
            Depth::Usual => Tree::wool(cores).depth,
            Depth::Beyond(more) => cores.next_power_of_two().ilog2() + more,
            Depth::Fixed(depth) => depth,
        }
    }
}

impl fmt::Display for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Depth::Usual => Ok(()),
            Depth::Beyond(more) => write!(f, "=+{more}"),
            Depth::Fixed(depth) => write!(f, "={depth}"),
        }
    }
}

/// Simulates a program.
pub type Simulator = Box<dyn Fn(&Machine, Policy, u64) -> Outcome + Sync>;

impl Program {
    pub fn parse(text: &str) -> Result<Program, String> {
        let (name, input) = match text.split_once('=') {
            Some((name, input)) => (name, Some(input)),
            None => (text, None),
        };
        match (name, input) {
            ("tree", None) => Ok(Program::Tree(Depth::Usual, None)),
            ("tree", Some(input)) => Program::parse_tree(input),
            ("uts", input) => {
                let input = input.unwrap_or("T3");
                let trees = uts::NAMES.into_iter().zip(&uts::TREES);
                match trees.into_iter().find(|(name, _)| *name == input) {
                    Some((name, tree)) => Ok(Program::Uts(name, Uts::new(tree))),
                    None => Err(format!("uts has the trees {}", uts::NAMES.join(", "))),
                }
            }
            ("dag", None | Some("")) => Err("which recording? say dag=FILE".into()),
            ("dag", Some(path)) => Ok(Program::Recorded(path.into())),
            _ => Err("a workload is tree, tree=DEPTH,LEAF, uts=TREE or dag=FILE".into()),
        }
    }

    fn parse_tree(input: &str) -> Result<Program, String> {
        let (depth, leaf) = match input.split_once(',') {
            Some((depth, leaf)) => (depth, Some(leaf)),
            None => (input, None),
        };
        let leaf = leaf.map(str::parse).transpose();
        let leaf = leaf.map_err(|error: purloin_sim::NoTime| error.to_string())?;
        if leaf == Some(Time::ZERO) {
            return Err("a leaf takes more than no time".into());
        }
        let (depth, most, kind): (_, _, fn(u32) -> Depth) = match depth.strip_prefix('+') {
            Some(more) => (more, DEEPEST - Machine::MOST.ilog2(), Depth::Beyond),
            None => (depth, DEEPEST, Depth::Fixed),
        };
        match depth.parse() {
            Ok(depth) if depth <= most => Ok(Program::Tree(kind(depth), leaf)),
            _ if most == DEEPEST => Err(format!("a tree's depth is from 0 to {most}")),
            _ => Err(format!(
                "a tree's depth beyond the logarithm of the number of cores is from 0 to {most}"
            )),
        }
    }

    /// Whether it can be simulated for so many cores.
    pub fn check(&self, cores: u32) -> Result<(), Failure> {
        if let &Program::Tree(depth, Some(leaf)) = self {
            let work = leaf.seconds() * f64::from(depth.of(cores)).exp2();
            if work > LONGEST {
                return Err(Failure::usage(format_args!(
                    "{self}: with {cores} cores it has {:.0} days of work; up to four can be simulated",
                    work / 86_400.0
                )));
            }
        }
        Ok(())
    }

    /// Prepares it for these policies.
    pub fn load(&self, policies: &[Policy]) -> Result<Simulator, Failure> {
        match self {
            &Program::Tree(depth, leaf) => Ok(Box::new(move |machine, policy, seed| {
                let usual = Tree::wool(machine.size());
                let tree = Tree {
                    depth: depth.of(machine.size()),
                    leaf: leaf.unwrap_or(usual.leaf),
                    ..usual
                };
                simulate(&tree, machine, policy, seed)
            })),
            &Program::Uts(_, uts) => Ok(Box::new(move |machine, policy, seed| {
                simulate(&uts, machine, policy, seed)
            })),
            Program::Recorded(path) => {
                let recorded = prepare(path, &read_recording(path)?, policies)?;
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
            Program::Recorded(path) => write!(f, "dag={}", path.display()),
        }
    }
}
