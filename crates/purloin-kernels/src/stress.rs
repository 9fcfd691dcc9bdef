//! Small balanced trees, one after another: parallelism and grain by the inch.
//!
//! Each tree is soon over, so that spreading the work over the workers and
//! ending it is most of the work. Source: Wool, Figure 2 and section 5.1.

use purloin::Worker;

use crate::fib::fibonacci;
use crate::kernel::{Answer, Description, Inputs, Kernel};

/// Iterations of a leaf's loop, of 2 cycles each: Wool's leaf size.
const ITERATIONS: u32 = 256;

/// The height of a tree that takes a few tenths of a second.
const HIGHEST: u32 = 20;

/// The sum of the leaves' numbers in the tree of this height whose root has
/// number `node`. The children of node *k* are 2*k* and 2*k* + 1.
#[inline(always)]
pub fn tree<W: Worker>(mut w: W, height: u32, node: u64) -> u64 {
    if height == 0 {
        leaf(node)
    } else {
        branch(&mut w, height, node)
    }
}

fn subtree<W: Worker>(w: W, height: u32, node: u64) -> u64 {
    tree(w, height, node)
}

/// A tree that is no leaf. It borrows its token, which [`Stress`] needs for one
/// tree after another, and is inlined, which keeps the token in registers.
#[inline(always)]
fn branch<W: Worker>(w: &mut W, height: u32, node: u64) -> u64 {
    let (a, b) = w.join(
        move |w| subtree(w, height - 1, 2 * node),
        move |w| subtree(w, height - 1, 2 * node + 1),
    );
    a.wrapping_add(b)
}

/// Makes [`ITERATIONS`] of two dependent additions, and no memory references.
///
/// Each iteration takes two steps along the Fibonacci numbers times `number`.
/// As every sum is used twice, no compiler finds a shorter way.
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
        inputs: Inputs::Number {
            least: 0,
            most: HIGHEST,
        },
        default: "12",
    };

    fn prepare(height: u32) -> Self {
        Stress { height }
    }

    fn run<W: Worker>(&mut self, mut w: W) -> Answer {
        // The trees are subtrees of the highest one: no two are equal, or the
        // compiler could make one do for all.
        let roots = self.trees()..2 * self.trees();
        let sum = match self.height {
            0 => roots.map(leaf).fold(0, u64::wrapping_add),
            height => roots
                .map(|root| branch(&mut w, height, root))
                .fold(0, u64::wrapping_add),
        };
        Answer::Number(sum)
    }

    fn verify(&self, answer: &Answer) -> bool {
        let leaves: u64 = 1 << HIGHEST;
        let numbers: u64 = (leaves..2 * leaves).sum();
        let factor = fibonacci(2 * ITERATIONS);
        *answer == Answer::Number(numbers.wrapping_mul(factor))
    }
}
