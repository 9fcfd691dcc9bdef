//! Cholesky factorization of a sparse random matrix. Several kinds of tasks are nested in each
//! other, and a small matrix has little parallelism.
//!
//! Source: Wool, section 5.1, after the program of the same name in the Cilk-5 distribution.

mod block;
mod matrix;

use purloin::Worker;

use self::block::Block;
use self::matrix::{Matrix, Node, Quadrant};
use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};

/// Replaces the lower half of a symmetric positive definite matrix by its factor: *a* = *l*·*l*ᵀ.
/// Ignores the elements above the diagonal.
fn factor<W: Worker>(w: &mut W, a: &mut Node) {
    let quadrants = match a {
        Node::Leaf(block) => return block.factor(),
        Node::Inner(quadrants) => &mut **quadrants,
    };
    let [Some(a00), _, a10, Some(a11)] = quadrants else {
        unreachable!("the diagonal has no empty block");
    };
    match a10 {
        None => {
            w.join(|mut w| factor(&mut w, a00), |mut w| factor(&mut w, a11));
        }
        Some(a10) => {
            factor(w, a00);
            solve(w, a10, a00);
            subtract_square(w, a11, a10);
            factor(w, a11);
        }
    }
}

/// Replaces *a* by the solution *x* of *x*·*l*ᵀ = *a*. *l* is lower triangular.
fn solve<W: Worker>(w: &mut W, a: &mut Node, l: &Node) {
    match (a, l) {
        (Node::Leaf(a), Node::Leaf(l)) => a.solve(l),
        (Node::Inner(a), Node::Inner(l)) => {
            let [a00, a01, a10, a11] = &mut **a;
            let is_upper = a00.is_some() || a01.is_some();
            let is_lower = a10.is_some() || a11.is_some();
            match (is_upper, is_lower) {
                (true, true) => {
                    w.join(
                        |mut w| solve_row(&mut w, a00, a01, l),
                        |mut w| solve_row(&mut w, a10, a11, l),
                    );
                }
                (true, false) => solve_row(w, a00, a01, l),
                (false, true) => solve_row(w, a10, a11, l),
                (false, false) => (),
            }
        }
        _ => unreachable!("both have the same size"),
    }
}

/// Solves for two quadrants that lie side by side. The left one does not depend on the right one.
fn solve_row<W: Worker>(w: &mut W, left: &mut Quadrant, right: &mut Quadrant, l: &[Quadrant; 4]) {
    let [Some(l00), _, l10, Some(l11)] = l else {
        unreachable!("the diagonal has no empty block");
    };
    if let Some(left) = left {
        solve(w, left, l00);
        if let Some(l10) = l10 {
            subtract(w, right, left, l10);
        }
    }
    if let Some(right) = right {
        solve(w, right, l11);
    }
}

/// Replaces *r* by *r* − *a*·*b*ᵀ. Adds the quadrant if *r* was zero.
fn subtract<W: Worker>(w: &mut W, r: &mut Quadrant, a: &Node, b: &Node) {
    match (a, b) {
        (Node::Leaf(a), Node::Leaf(b)) => {
            let r = r.get_or_insert_with(|| Box::new(Node::Leaf(Block::ZERO)));
            match &mut **r {
                Node::Leaf(r) => r.subtract(a, b),
                Node::Inner(_) => unreachable!("all three have the same size"),
            }
        }
        (Node::Inner(a), Node::Inner(b)) => {
            let is_upper = overlap((a, 0), (b, 0)) || overlap((a, 0), (b, 1));
            let is_lower = overlap((a, 1), (b, 0)) || overlap((a, 1), (b, 1));
            if !is_upper && !is_lower {
                return;
            }
            let r = r.get_or_insert_with(|| Box::new(Node::Inner(Default::default())));
            let Node::Inner(r) = &mut **r else {
                unreachable!("all three have the same size");
            };
            let [r00, r01, r10, r11] = &mut **r;
            match (is_upper, is_lower) {
                (true, true) => {
                    w.join(
                        |mut w| subtract_half(&mut w, r00, r01, (a, 0), b),
                        |mut w| subtract_half(&mut w, r10, r11, (a, 1), b),
                    );
                }
                (true, false) => subtract_half(w, r00, r01, (a, 0), b),
                _ => subtract_half(w, r10, r11, (a, 1), b),
            }
        }
        _ => unreachable!("both have the same size"),
    }
}

/// The four quadrants of a matrix, and the index of one of its two rows.
type Row<'q> = (&'q [Quadrant; 4], usize);

/// Returns whether the product of these rows can be non-zero.
fn overlap((a, i): Row, (b, j): Row) -> bool {
    let is_there = |column: usize| a[2 * i + column].is_some() && b[2 * j + column].is_some();
    is_there(0) || is_there(1)
}

/// Does the upper or the lower half of a [`subtract`].
fn subtract_half<W: Worker>(
    w: &mut W,
    left: &mut Quadrant,
    right: &mut Quadrant,
    a: Row,
    b: &[Quadrant; 4],
) {
    match (overlap(a, (b, 0)), overlap(a, (b, 1))) {
        (true, true) => {
            w.join(
                |mut w| subtract_rows(&mut w, left, a, (b, 0)),
                |mut w| subtract_rows(&mut w, right, a, (b, 1)),
            );
        }
        (true, false) => subtract_rows(w, left, a, (b, 0)),
        (false, true) => subtract_rows(w, right, a, (b, 1)),
        (false, false) => (),
    }
}

/// Subtracts the product of a row of *a* with a row of *b*, quadrant by quadrant.
fn subtract_rows<W: Worker>(w: &mut W, r: &mut Quadrant, (a, i): Row, (b, j): Row) {
    for column in 0..2 {
        if let (Some(a), Some(b)) = (&a[2 * i + column], &b[2 * j + column]) {
            subtract(w, r, a, b);
        }
    }
}

/// Replaces the lower half of *r* by the lower half of *r* − *a*·*a*ᵀ.
fn subtract_square<W: Worker>(w: &mut W, r: &mut Node, a: &Node) {
    match (r, a) {
        (Node::Leaf(r), Node::Leaf(a)) => r.subtract(a, a),
        (Node::Inner(r), Node::Inner(a)) => {
            let [Some(r00), _, r10, Some(r11)] = &mut **r else {
                unreachable!("the diagonal has no empty block");
            };
            w.join(
                |mut w| {
                    w.join(
                        |mut w| subtract_row_square(&mut w, r00, (a, 0)),
                        |mut w| subtract_row_square(&mut w, r11, (a, 1)),
                    )
                },
                |mut w| subtract_rows(&mut w, r10, (a, 1), (a, 0)),
            );
        }
        _ => unreachable!("both have the same size"),
    }
}

/// Replaces the lower half of *r* by the lower half of *r* − *x*·*x*ᵀ, where *x* is a row of *a*.
fn subtract_row_square<W: Worker>(w: &mut W, r: &mut Node, (a, i): Row) {
    for column in 0..2 {
        if let Some(a) = &a[2 * i + column] {
            subtract_square(w, r, a);
        }
    }
}

/// The kernel `cholesky`.
#[derive(Debug)]
pub struct Cholesky {
    matrix: Matrix,
    /// A copy of the matrix for each repetition, which a run replaces by its factor.
    factors: Vec<Node>,
}

impl Kernel for Cholesky {
    const DESCRIPTION: Description = Description {
        name: "cholesky",
        about: "Cholesky factorization of a sparse random matrix with four non-zeros per row",
        inputs: Inputs::Numbers(&[
            Range {
                name: "rows",
                min: 1,
                max: 8000,
                default: None,
            },
            Range {
                name: "repetitions",
                min: 1,
                max: 4096,
                default: Some(1),
            },
        ]),
        default: "500",
    };

    fn prepare(input: Input) -> Self {
        let matrix = Matrix::random(input[0] as usize);
        Cholesky {
            factors: (0..input[1]).map(|_| matrix.lower_half()).collect(),
            matrix,
        }
    }

    /// Factors the matrix. The answer is the number of non-zero blocks of the factor.
    fn run<W: Worker>(&mut self, mut w: W) -> Answer {
        for a in &mut self.factors {
            factor(&mut w, a);
        }
        Answer::Number(self.factors[0].blocks())
    }

    fn verify(&self, answer: &Answer) -> bool {
        self.factors
            .iter()
            .all(|factor| *answer == Answer::Number(factor.blocks()))
            && self
                .factors
                .last()
                .is_some_and(|factor| self.matrix.is_square_of(factor))
    }
}
