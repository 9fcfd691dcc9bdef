//! Sparse matrices as trees of quadrants.

use std::collections::BTreeSet;

use super::block::{Block, SIDE};
use crate::random::Xorshift;

/// A quadrant, or `None` if all its elements are zero.
pub(super) type Quadrant = Option<Box<Node>>;

/// A square matrix whose side is [`SIDE`] times a power of two.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Leaf(Block),
    /// Upper left, upper right, lower left, lower right.
    Inner(Box<[Quadrant; 4]>),
}

impl Node {
    /// Returns the number of blocks in the tree.
    pub(super) fn blocks(&self) -> u64 {
        match self {
            Node::Leaf(_) => 1,
            Node::Inner(quadrants) => quadrants.iter().flatten().map(|node| node.blocks()).sum(),
        }
    }

    /// Returns a matrix of zeros.
    fn empty(side: usize) -> Node {
        match side {
            SIDE => Node::Leaf(Block::ZERO),
            _ => Node::Inner(Default::default()),
        }
    }

    /// Returns an element of a matrix of this side. Adds its block if there is none.
    fn element(&mut self, side: usize, row: usize, column: usize) -> &mut f64 {
        match self {
            Node::Leaf(block) => &mut block.0[row][column],
            Node::Inner(quadrants) => {
                let half = side / 2;
                let quadrant = &mut quadrants[2 * (row / half) + column / half];
                quadrant
                    .get_or_insert_with(|| Box::new(Node::empty(half)))
                    .element(half, row % half, column % half)
            }
        }
    }

    /// Calls `f` with the row, column and value of every element that is in a block. The matrix has
    /// this side, and its first element is at `origin`.
    fn for_each(&self, side: usize, origin: (usize, usize), f: &mut impl FnMut(usize, usize, f64)) {
        match self {
            Node::Leaf(block) => {
                for (row, values) in block.0.iter().enumerate() {
                    for (column, &value) in values.iter().enumerate() {
                        f(origin.0 + row, origin.1 + column, value);
                    }
                }
            }
            Node::Inner(quadrants) => {
                let half = side / 2;
                for (place, node) in quadrants.iter().enumerate() {
                    if let Some(node) = node {
                        let (down, right) = (place / 2 * half, place % 2 * half);
                        node.for_each(half, (origin.0 + down, origin.1 + right), f);
                    }
                }
            }
        }
    }
}

/// Mean number of non-zeros of a row to the left of the diagonal.
const NON_ZEROS: usize = 3;

/// A symmetric positive definite matrix, stored as its elements on and below the diagonal.
#[derive(Debug)]
pub(super) struct Matrix {
    side: usize,
    /// Row, column, value.
    elements: Vec<(usize, usize, f64)>,
}

impl Matrix {
    /// Returns a random matrix with this number of rows, padded with rows of the identity until
    /// its side in blocks is a power of two.
    pub(super) fn random(rows: usize) -> Matrix {
        let side = rows.div_ceil(SIDE).next_power_of_two() * SIDE;
        let mut random = Xorshift::new(0);
        let mut elements = Vec::new();
        // Each element on the diagonal is larger than the rest of its row together, which makes
        // the matrix positive definite.
        let mut diagonal = vec![1.0; side];
        let mut places = BTreeSet::new();
        let most = rows * (rows - 1) / 2;
        while places.len() < most.min(NON_ZEROS * rows) {
            let (row, column) = (random.below(rows), random.below(rows));
            if row > column {
                places.insert((row, column));
            }
        }
        for (row, column) in places {
            let value = random.below(1000) as f64 / 1000.0 - 0.5;
            diagonal[row] += value.abs();
            diagonal[column] += value.abs();
            elements.push((row, column, value));
        }
        let diagonal = diagonal.into_iter().enumerate();
        elements.extend(diagonal.map(|(row, value)| (row, row, value)));
        Matrix { side, elements }
    }

    /// Returns the elements on and below the diagonal.
    pub(super) fn lower_half(&self) -> Node {
        let mut node = Node::empty(self.side);
        for &(row, column, value) in &self.elements {
            *node.element(self.side, row, column) = value;
        }
        node
    }

    /// Returns whether this matrix is *l*·*l*ᵀ: whether both, multiplied by a random vector, give
    /// the same vector.
    pub(super) fn is_square_of(&self, l: &Node) -> bool {
        let mut random = Xorshift::new(1);
        let vector: Vec<f64> = (0..self.side)
            .map(|_| random.below(2000) as f64 - 1000.0)
            .collect();
        let mut expected = vec![0.0; self.side];
        for &(row, column, value) in &self.elements {
            expected[row] += value * vector[column];
            if row != column {
                expected[column] += value * vector[row];
            }
        }
        // The elements of the tree above the diagonal are not part of the factor.
        let mut transposed = vec![0.0; self.side];
        l.for_each(self.side, (0, 0), &mut |row, column, value| {
            if row >= column {
                transposed[column] += value * vector[row];
            }
        });
        let mut product = vec![0.0; self.side];
        l.for_each(self.side, (0, 0), &mut |row, column, value| {
            if row >= column {
                product[row] += value * transposed[column];
            }
        });
        let scale = expected.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        let pairs = expected.iter().zip(&product);
        // This comparison is false for NaN.
        pairs
            .into_iter()
            .all(|(x, y)| (x - y).abs() <= 1e-9 * scale)
    }
}
