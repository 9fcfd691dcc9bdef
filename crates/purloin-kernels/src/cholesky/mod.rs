//! Cholesky factorization of a sparse random matrix: tasks nested in tasks of
//! several kinds, with little parallelism where the matrix is small.
//!
//! Source: Wool, section 5.1, after the program of that name in the Cilk-5
//! distribution.

mod block;
mod matrix;

use purloin::Worker;

use self::block::Block;
use self::matrix::{Matrix, Node, Quadrant};
use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};

/// Replaces the lower half of a symmetric positive definite matrix by its
/// factor: *a* = *l*·*l*ᵀ. What is above the diagonal is not looked at.
fn factor<W: Worker>(w: &mut W, a: &mut Node) {
    let quadrants = match a {
        Node::Leaf(block) => return block.factor(),
        Node::Inner(quadrants) => &mut **quadrants,
    };
    let [Some(a00), _, a10, Some(a11)] = quadrants else {
        unreachable!("no part of the diagonal is empty");
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

/// Replaces *a* by the *x* for which *x*·*l*ᵀ = *a*; *l* is lower triangular.
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
        _ => unreachable!("both are of one size"),
    }
}

/// Two quadrants side by side, of which the left one does not need the right.
fn solve_row<W: Worker>(w: &mut W, left: &mut Quadrant, right: &mut Quadrant, l: &[Quadrant; 4]) {
    let [Some(l00), _, l10, Some(l11)] = l else {
        unreachable!("no part of the diagonal is empty");
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

/// Replaces *r* by *r* − *a*·*b*ᵀ. Where there was nothing, there may be then.
fn subtract<W: Worker>(w: &mut W, r: &mut Quadrant, a: &Node, b: &Node) {
    match (a, b) {
        (Node::Leaf(a), Node::Leaf(b)) => {
            let r = r.get_or_insert_with(|| Box::new(Node::Leaf(Block::ZERO)));
            match &mut **r {
                Node::Leaf(r) => r.subtract(a, b),
                Node::Inner(_) => unreachable!("all three are of one size"),
            }
        }
        (Node::Inner(a), Node::Inner(b)) => {
            let is_upper = meet((a, 0), (b, 0)) || meet((a, 0), (b, 1));
            let is_lower = meet((a, 1), (b, 0)) || meet((a, 1), (b, 1));
            if !is_upper && !is_lower {
                return;
            }
            let r = r.get_or_insert_with(|| Box::new(Node::Inner(Default::default())));
            let Node::Inner(r) = &mut **r else {
                unreachable!("all three are of one size");
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
        _ => unreachable!("both are of one size"),
    }
}

/// The four quadrants of a matrix, and one of its two rows.
type Row<'q> = (&'q [Quadrant; 4], usize);

/// Whether the product of these rows is not zero.
fn meet((a, i): Row, (b, j): Row) -> bool {
    let is_there = |column: usize| a[2 * i + column].is_some() && b[2 * j + column].is_some();
    is_there(0) || is_there(1)
}

/// The upper or the lower half of a [`subtract`].
fn subtract_half<W: Worker>(
    w: &mut W,
    left: &mut Quadrant,
    right: &mut Quadrant,
    a: Row,
    b: &[Quadrant; 4],
) {
    match (meet(a, (b, 0)), meet(a, (b, 1))) {
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

/// Replaces the lower half of *r* by that of *r* − *a*·*a*ᵀ.
fn subtract_square<W: Worker>(w: &mut W, r: &mut Node, a: &Node) {
    match (r, a) {
        (Node::Leaf(r), Node::Leaf(a)) => r.subtract(a, a),
        (Node::Inner(r), Node::Inner(a)) => {
            let [Some(r00), _, r10, Some(r11)] = &mut **r else {
                unreachable!("no part of the diagonal is empty");
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
        _ => unreachable!("both are of one size"),
    }
}

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
    /// One for each repetition, to be replaced by its factor.
    factors: Vec<Node>,
}

impl Kernel for Cholesky {
    const DESCRIPTION: Description = Description {
        name: "cholesky",
        about: "Cholesky factorization of a sparse random matrix, four non-zeros a row",
        inputs: Inputs::Numbers(&[
            Range {
                what: "rows",
                least: 1,
                most: 8000,
                usual: None,
            },
            Range {
                what: "repetitions",
                least: 1,
                most: 4096,
                usual: Some(1),
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

    /// Answers with the number of blocks of the factor that are not zero.
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
