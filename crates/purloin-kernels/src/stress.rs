//! Small balanced trees, one after another: parallelism and grain by the inch.
//!
//! Each tree is soon over, so that spreading the work over the workers and
//! ending it is most of the work. Source: Wool, Figure 2 and section 5.1.

use purloin::Worker;

use crate::fib::fibonacci;
use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};

/// Iterations of a leaf's loop, of 2 cycles each: Wool's leaf size.
const ITERATIONS: u32 = 256;

/// The height of a single tree that takes a few tenths of a second.
const HIGHEST: u32 = 20;

/// Runs a tree of this height whose root has number `node`, and returns the sum
/// of its leaves' values, modulo 2⁶⁴.
///
/// The children of node *k* are 2*k* and 2*k* + 1.
pub fn tree<W: Worker>(mut w: W, height: u32, node: u64) -> u64 {
    tree_on(&mut w, height, node)
}

/// [`tree`] on a borrowed token, which can run one tree after another. Inlined,
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

/// The value of a leaf: `number` times the Fibonacci number of twice
/// [`ITERATIONS`], modulo 2⁶⁴, by as many dependent additions. It makes no
/// memory references.
///
/// The compiler finds no shorter way, as it does for a chain of shifts: here
/// each sum is used twice.
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
    /// The number of trees: as many as have the leaves of the highest.
    fn trees(&self) -> u64 {
        1 << (HIGHEST - self.height)
    }
}

impl Kernel for Stress {
    const DESCRIPTION: Description = Description {
        name: "stress",
        about: "balanced binary trees of a height, one after another, 2^20 leaves of 512 cycles in all",
        inputs: Inputs::Numbers(&[Range {
            what: "heights",
            least: 0,
            most: HIGHEST,
            usual: None,
        }]),
        default: "12",
    };

    fn prepare(input: Input) -> Self {
        let height = input[0];
        Stress { height }
    }

    fn run<W: Worker>(&mut self, mut w: W) -> Answer {
        // Subtrees of the highest tree: no two are equal, or the compiler could
        // make one do for all.
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
