//! LU decomposition of a dense matrix, block by block.
//!
//! Source: Return barrier, section 3.1 (1024 × 1024 doubles), after the program of the same name in
//! the Cilk distribution.

use purloin::Worker;

use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};
use crate::random::Xorshift;
use crate::strassen::row_and_column;

/// Number of rows and of columns of a block. A block has 2 KiB, so that three fit the first-level
/// cache.
const SIDE: usize = 16;

/// A block of the matrix, stored by rows.
#[derive(Clone, Debug)]
struct Block([[f64; SIDE]; SIDE]);

impl Block {
    /// Replaces the block by its factors: *l* below the diagonal and *u* on and above it. The
    /// diagonal of *l* is all ones and is not stored.
    fn factor(&mut self) {
        for k in 0..SIDE {
            let (above, below) = self.0.split_at_mut(k + 1);
            let pivot = &above[k];
            for row in below {
                row[k] /= pivot[k];
                let factor = row[k];
                for (number, pivot) in row.iter_mut().zip(pivot).skip(k + 1) {
                    *number -= factor * pivot;
                }
            }
        }
    }

    /// Replaces this block *a* by the solution *x* of *l*·*x* = *a*, with the *l* of `factors`.
    fn solve_lower(&mut self, factors: &Block) {
        for k in 0..SIDE {
            let (above, below) = self.0.split_at_mut(k + 1);
            for (row, factors) in below.iter_mut().zip(&factors.0[k + 1..]) {
                for j in 0..SIDE {
                    row[j] -= factors[k] * above[k][j];
                }
            }
        }
    }

    /// Replaces this block *a* by the solution *x* of *x*·*u* = *a*, with the *u* of `factors`.
    fn solve_upper(&mut self, factors: &Block) {
        for row in &mut self.0 {
            for (k, pivot) in factors.0.iter().enumerate() {
                row[k] /= pivot[k];
                let factor = row[k];
                for (number, pivot) in row.iter_mut().zip(pivot).skip(k + 1) {
                    *number -= factor * pivot;
                }
            }
        }
    }

    fn subtract_product(&mut self, left: &Block, right: &Block) {
        for (row, left) in self.0.iter_mut().zip(&left.0) {
            for (factor, right) in left.iter().zip(&right.0) {
                for j in 0..SIDE {
                    row[j] -= factor * right[j];
                }
            }
        }
    }
}

/// The kernel `lud`.
#[derive(Debug)]
pub struct Lud {
    /// Number of blocks in a row.
    side: usize,
    /// The blocks, stored by rows.
    blocks: Vec<Block>,
}

/// Returns a random matrix in which each number on the diagonal is larger than the rest of its row
/// together, so that no rows have to be exchanged.
fn matrix(side: usize) -> Vec<Block> {
    let mut random = Xorshift::new(side as u64);
    let mut blocks = vec![Block([[0.0; SIDE]; SIDE]); side * side];
    for (place, block) in blocks.iter_mut().enumerate() {
        for (i, row) in block.0.iter_mut().enumerate() {
            row.fill_with(|| random.unit() - 0.5);
            if place % (side + 1) == 0 {
                row[i] += (side * SIDE) as f64;
            }
        }
    }
    blocks
}

impl Lud {
    /// Returns the number in row `i` and column `j` of the matrix.
    fn at(&self, blocks: &[Block], i: usize, j: usize) -> f64 {
        blocks[i / SIDE * self.side + j / SIDE].0[i % SIDE][j % SIDE]
    }
}

/// Replaces the blocks by their factors.
fn decompose<W: Worker>(mut w: W, side: usize, blocks: &mut [Block]) {
    for k in 0..side {
        let (above, below) = blocks.split_at_mut((k + 1) * side);
        let (diagonal, right) = above[k * side + k..].split_first_mut().expect("a row");
        diagonal.factor();
        let diagonal = &*diagonal;
        w.for_each(&mut *right, |block| block.solve_lower(diagonal));
        let right = &*right;
        w.par(below).chunks(side).for_each(|row| {
            let (left, rest) = row[k..].split_first_mut().expect("a row");
            left.solve_upper(diagonal);
            for (block, right) in rest.iter_mut().zip(right) {
                block.subtract_product(left, right);
            }
        });
    }
}

/// The kernel `lud-join`. Its blocks lie in Z-order, so that each quadrant of the matrix is a slice.
#[derive(Debug)]
pub struct LudJoin(Lud);

fn quadrants(blocks: &[Block]) -> [&[Block]; 4] {
    let mut quadrants = blocks.chunks_exact(blocks.len() / 4);
    std::array::from_fn(|_| quadrants.next().expect("four quadrants"))
}

fn quadrants_mut(blocks: &mut [Block]) -> [&mut [Block]; 4] {
    let mut quadrants = blocks.chunks_exact_mut(blocks.len() / 4);
    std::array::from_fn(|_| quadrants.next().expect("four quadrants"))
}

/// Replaces a matrix by its factors.
fn factor<W: Worker>(w: &mut W, a: &mut [Block]) {
    if let [block] = a {
        return block.factor();
    }
    let [a00, a01, a10, a11] = quadrants_mut(a);
    factor(w, a00);
    let diagonal = &*a00;
    w.join(
        |mut w| solve_lower(&mut w, a01, diagonal),
        |mut w| solve_upper(&mut w, a10, diagonal),
    );
    subtract_product(w, a11, a10, a01);
    factor(w, a11);
}

/// Replaces *a* by the solution *x* of *l*·*x* = *a*.
fn solve_lower<W: Worker>(w: &mut W, a: &mut [Block], l: &[Block]) {
    if let ([a], [l]) = (&mut *a, l) {
        return a.solve_lower(l);
    }
    let [l00, _, l10, l11] = quadrants(l);
    let [a00, a01, a10, a11] = quadrants_mut(a);
    fn solve<W: Worker>(w: &mut W, upper: &mut [Block], lower: &mut [Block], l: [&[Block]; 3]) {
        let [l00, l10, l11] = l;
        solve_lower(w, upper, l00);
        subtract_product(w, lower, l10, upper);
        solve_lower(w, lower, l11);
    }
    let l = [l00, l10, l11];
    w.join(
        |mut w| solve(&mut w, a00, a10, l),
        |mut w| solve(&mut w, a01, a11, l),
    );
}

/// Replaces *a* by the solution *x* of *x*·*u* = *a*.
fn solve_upper<W: Worker>(w: &mut W, a: &mut [Block], u: &[Block]) {
    if let ([a], [u]) = (&mut *a, u) {
        return a.solve_upper(u);
    }
    let [u00, u01, _, u11] = quadrants(u);
    let [a00, a01, a10, a11] = quadrants_mut(a);
    fn solve<W: Worker>(w: &mut W, left: &mut [Block], right: &mut [Block], u: [&[Block]; 3]) {
        let [u00, u01, u11] = u;
        solve_upper(w, left, u00);
        subtract_product(w, right, left, u01);
        solve_upper(w, right, u11);
    }
    let u = [u00, u01, u11];
    w.join(
        |mut w| solve(&mut w, a00, a01, u),
        |mut w| solve(&mut w, a10, a11, u),
    );
}

/// Subtracts *a*·*b* from *c*, the four quadrants in parallel.
fn subtract_product<W: Worker>(w: &mut W, c: &mut [Block], a: &[Block], b: &[Block]) {
    if let ([c], [a], [b]) = (&mut *c, a, b) {
        return c.subtract_product(a, b);
    }
    let [a00, a01, a10, a11] = quadrants(a);
    let [b00, b01, b10, b11] = quadrants(b);
    let [c00, c01, c10, c11] = quadrants_mut(c);
    fn row<W: Worker>(w: &mut W, c: [&mut [Block]; 2], a: [&[Block]; 2], b: [&[Block]; 4]) {
        let ([c0, c1], [a0, a1], [b00, b01, b10, b11]) = (c, a, b);
        w.join(
            |mut w| {
                subtract_product(&mut w, c0, a0, b00);
                subtract_product(&mut w, c0, a1, b10);
            },
            |mut w| {
                subtract_product(&mut w, c1, a0, b01);
                subtract_product(&mut w, c1, a1, b11);
            },
        );
    }
    let b = [b00, b01, b10, b11];
    w.join(
        |mut w| row(&mut w, [c00, c01], [a00, a01], b),
        |mut w| row(&mut w, [c10, c11], [a10, a11], b),
    );
}

impl Kernel for LudJoin {
    const DESCRIPTION: Description = Description {
        name: "lud-join",
        about: "LU decomposition of a dense n by n matrix of doubles, by joins of quadrants",
        inputs: Inputs::Name(&[
            "16", "32", "64", "128", "256", "512", "1024", "2048", "4096",
        ]),
        default: "1024",
    };

    fn prepare(input: Input) -> Self {
        let side = 1 << input[0];
        let rows = matrix(side);
        let blocks = (0..side * side).map(|place| {
            let (row, column) = row_and_column(place);
            rows[row * side + column].clone()
        });
        LudJoin(Lud {
            side,
            blocks: blocks.collect(),
        })
    }

    fn run<W: Worker>(&mut self, mut w: W) -> Answer {
        factor(&mut w, &mut self.0.blocks);
        Answer::Number((self.0.side * SIDE) as u64)
    }

    fn verify(&self, answer: &Answer) -> bool {
        let Lud { side, blocks } = &self.0;
        let mut rows = blocks.clone();
        for (place, block) in blocks.iter().enumerate() {
            let (row, column) = row_and_column(place);
            rows[row * side + column] = block.clone();
        }
        let (side, blocks) = (*side, rows);
        Lud { side, blocks }.verify(answer)
    }
}

impl Kernel for Lud {
    const DESCRIPTION: Description = Description {
        name: "lud",
        about: "LU decomposition of a dense matrix of 16 n by 16 n doubles",
        inputs: Inputs::Numbers(&[Range {
            name: "blocks in a row",
            min: 1,
            max: 512,
            default: None,
        }]),
        default: "64",
    };

    fn prepare(input: Input) -> Self {
        let side = input[0] as usize;
        let blocks = matrix(side);
        Lud { side, blocks }
    }

    fn run<W: Worker>(&mut self, w: W) -> Answer {
        decompose(w, self.side, &mut self.blocks);
        Answer::Number((self.side * SIDE) as u64)
    }

    /// Compares some rows of *l*·*u* with the matrix.
    fn verify(&self, answer: &Answer) -> bool {
        let (len, before) = (self.side * SIDE, matrix(self.side));
        let is_right = |i: usize, j: usize| {
            let terms = (0..=i.min(j)).map(|k| match k == i {
                true => self.at(&self.blocks, k, j),
                false => self.at(&self.blocks, i, k) * self.at(&self.blocks, k, j),
            });
            (terms.sum::<f64>() - self.at(&before, i, j)).abs() < 1e-9 * len as f64
        };
        let mut rows = (0..len).step_by(len / 16).chain([len - 1]);
        *answer == Answer::Number(len as u64) && rows.all(|i| (0..len).all(|j| is_right(i, j)))
    }
}
