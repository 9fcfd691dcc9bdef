//! The dense blocks at the leaves of a sparse matrix.

use std::hint::black_box;

/// Number of rows and of columns of a block.
pub(super) const SIDE: usize = 4;

/// A dense block, stored by rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block(pub [[f64; SIDE]; SIDE]);

/// The number of times that each operation on blocks is computed. Values above 1 imitate a machine that
/// computes floating-point numbers in software, like the TILEPro64 of the paper on Wool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounds(pub u32);

impl Rounds {
    /// Changes a block by `operation`. Computes it `self.0` times, and keeps only one result.
    #[inline]
    pub(super) fn change(self, block: &mut Block, operation: impl Fn(&mut Block)) {
        for _ in 1..self.0 {
            let mut copy = *black_box(&*block);
            operation(&mut copy);
            black_box(&copy);
        }
        operation(block);
    }
}

impl Block {
    pub(super) const ZERO: Block = Block([[0.0; SIDE]; SIDE]);

    /// Replaces the lower half of this block *a* by its factor *l*, with *l*·*l*ᵀ = *a*.
    pub(super) fn factor(&mut self) {
        let a = &mut self.0;
        for k in 0..SIDE {
            for j in 0..k {
                a[k][k] -= a[k][j] * a[k][j];
            }
            a[k][k] = a[k][k].sqrt();
            for i in k + 1..SIDE {
                for j in 0..k {
                    a[i][k] -= a[i][j] * a[k][j];
                }
                a[i][k] /= a[k][k];
            }
        }
    }

    /// Replaces this block *a* by the solution *x* of *x*·*l*ᵀ = *a*.
    pub(super) fn solve(&mut self, l: &Block) {
        for row in &mut self.0 {
            for k in 0..SIDE {
                for j in 0..k {
                    row[k] -= row[j] * l.0[k][j];
                }
                row[k] /= l.0[k][k];
            }
        }
    }

    /// Subtracts *a*·*b*ᵀ from this block.
    pub(super) fn subtract(&mut self, a: &Block, b: &Block) {
        for (row, a) in self.0.iter_mut().zip(&a.0) {
            for (r, b) in row.iter_mut().zip(&b.0) {
                *r -= a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
            }
        }
    }
}
