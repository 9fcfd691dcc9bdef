//! Small balanced trees, one after another. The height sets the amount of work in each parallel
//! region.
//!
//! A low tree ends soon, so that most of the run time is the cost of distributing its tasks and
//! joining them.
//!
//! Source: Wool, Figure 2 and section 5.1.

use purloin::Worker;

use crate::fib::fibonacci;
use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};

/// Number of iterations of a leaf's loop. An iteration takes 2 cycles, which makes the leaf as
/// large as Wool's.
const ITERATIONS: u32 = 256;

/// The maximum height. A single tree of this height takes a few tenths of a second.
const HIGHEST: u32 = 20;

/// Runs a tree of this height whose root has the number `node`, and returns the sum of the values
/// of its leaves, modulo 2⁶⁴.
///
/// The children of node *k* have the numbers 2*k* and 2*k* + 1.
pub fn tree<W: Worker>(mut w: W, height: u32, node: u64) -> u64 {
    tree_on(&mut w, height, node)
}

/// Runs a [`tree`] on a borrowed token, so that the caller can run one tree after another. Inlined,
/// so that the token stays in registers.
#[inline(always)]
fn tree_on<W: Worker>(w: &mut W, height: u32, node: u64) -> u64 {
    if height == 0 {
        return leaf(node);
    }
    let (a, b) = w.join(
        move |w| tree(w, height - 1, 2 * node),
        move |w| tree(w, height - 1, 2 * node + 1),
    );
    a.wrapping_add(b)
}

/// Computes the value of a leaf by 2 × [`ITERATIONS`] dependent additions: `number` times the
/// Fibonacci number with the index 2 × [`ITERATIONS`], modulo 2⁶⁴. Makes no memory references.
///
/// Each sum is used twice, which keeps the compiler from shortening the loop. (It does shorten a
/// chain of shifts.)
#[inline(never)]
fn leaf(number: u64) -> u64 {
    let (mut a, mut b) = (0_u64, number);
    for _ in 0..ITERATIONS {
        a = a.wrapping_add(b);
        b = b.wrapping_add(a);
    }
    a
}

/// The kernel `stress`.
#[derive(Debug)]
pub struct Stress {
    height: u32,
}

impl Stress {
    /// Returns the number of trees, which together have as many leaves as one tree of maximum
    /// height.
    fn trees(&self) -> u64 {
        1 << (HIGHEST - self.height)
    }
}

impl Kernel for Stress {
    const DESCRIPTION: Description = Description {
        name: "stress",
        about: "balanced binary trees of a given height, one after another; 2^20 leaves of 512 cycles in total",
        inputs: Inputs::Numbers(&[Range {
            name: "heights",
            min: 0,
            max: HIGHEST,
            default: None,
        }]),
        default: "12",
    };

    fn prepare(input: Input) -> Self {
        let height = input[0];
        Stress { height }
    }

    fn run<W: Worker>(&mut self, mut w: W) -> Answer {
        // The trees are subtrees of the highest tree. All are different, because the compiler could
        // compute equal trees only once.
        let roots = self.trees()..2 * self.trees();
        let sum = roots.fold(0_u64, |sum, root| {
            sum.wrapping_add(tree_on(&mut w, self.height, root))
        });
        Answer::Number(sum)
    }

    fn verify(&self, answer: &Answer) -> bool {
        let leaves: u64 = 1 << HIGHEST;
        let numbers: u64 = (leaves..2 * leaves).sum();
        let factor = fibonacci(2 * ITERATIONS);
        *answer == Answer::Number(numbers.wrapping_mul(factor))
    }
}
