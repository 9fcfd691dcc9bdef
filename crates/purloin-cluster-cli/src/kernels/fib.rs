//! Fibonacci numbers by the naive recursion, which measures the cost of a task.

use bytemuck::{Pod, Zeroable};
use purloin_cluster::{Cluster, Error, Rank, Task};
use purloin_kernels::fib::fibonacci;
use purloin_kernels::{Description, Input, fib};

use super::Kernel;

/// The task that computes the Fibonacci number of this index.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(transparent)]
pub struct Number(u64);

impl Task for Number {
    type Output = u64;
    type Context = ();

    /// The compiler inlines the base case into the callers, as in the kernel for shared memory.
    #[inline(always)]
    fn run<R: Rank<Self>>(self, rank: R) -> u64 {
        match self.0 {
            n @ (0 | 1) => n,
            n => sum(rank, n),
        }
    }
}

#[inline(never)]
fn sum<R: Rank<Number>>(mut rank: R, n: u64) -> u64 {
    let (a, b) = rank.join(Number(n - 1), Number(n - 2));
    a + b
}

/// The kernel `fib`.
pub struct Fib {
    n: u32,
}

impl Kernel for Fib {
    /// The description of the kernel for shared memory.
    const DESCRIPTION: Description = <fib::Fib as purloin_kernels::Kernel>::DESCRIPTION;

    type Task = Number;

    fn prepare(_: &Cluster, input: Input) -> Result<Self, Error> {
        Ok(Fib { n: input[0] })
    }

    fn context(&self) -> &() {
        &()
    }

    fn root(&self) -> Number {
        Number(self.n.into())
    }

    fn answer(&self, output: &u64) -> String {
        output.to_string()
    }

    fn verify(&self, output: &u64) -> bool {
        *output == fibonacci(self.n)
    }
}
