//! What is simulated: [`Program`].

use std::fmt;

use purloin_kernels::uts;
use purloin_sim::{Machine, Outcome, Policy, Tree, Uts, simulate};

/// The deepest tree: it has as many leaves as there are task numbers.
const DEEPEST: u32 = 30;

/// What is simulated.
#[derive(Clone, Copy, Debug)]
pub enum Program {
    /// A balanced tree; its depth, if not that of the model.
    Tree(Option<u32>),
    Uts(&'static str, Uts),
}

impl Program {
    pub fn parse(text: &str) -> Result<Program, String> {
        let (name, input) = match text.split_once('=') {
            Some((name, input)) => (name, Some(input)),
            None => (text, None),
        };
        match (name, input) {
            ("tree", None) => Ok(Program::Tree(None)),
            ("tree", Some(depth)) => match depth.parse() {
                Ok(depth) if depth <= DEEPEST => Ok(Program::Tree(Some(depth))),
                _ => Err(format!("a tree's depth is from 0 to {DEEPEST}")),
            },
            ("uts", input) => {
                let input = input.unwrap_or("T3");
                let trees = uts::NAMES.into_iter().zip(&uts::TREES);
                match trees.into_iter().find(|(name, _)| *name == input) {
                    Some((name, tree)) => Ok(Program::Uts(name, Uts::new(tree))),
                    None => Err(format!("uts has the trees {}", uts::NAMES.join(", "))),
                }
            }
            _ => Err("a workload is tree, tree=DEPTH or uts=TREE".to_owned()),
        }
    }

    pub fn simulate(&self, machine: &Machine, policy: Policy, seed: u64) -> Outcome {
        match self {
            Program::Tree(depth) => {
                let usual = Tree::wool(machine.size());
                let depth = depth.unwrap_or(usual.depth);
                simulate(&Tree { depth, ..usual }, machine, policy, seed)
            }
            Program::Uts(_, uts) => simulate(uts, machine, policy, seed),
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Program::Tree(None) => f.write_str("tree"),
            Program::Tree(Some(depth)) => write!(f, "tree={depth}"),
            Program::Uts(name, _) => write!(f, "uts={name}"),
        }
    }
}
