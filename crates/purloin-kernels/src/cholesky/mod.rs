//! Cholesky factorization of a sparse random matrix. Several kinds of tasks are nested in each
//! other, and a small matrix has little parallelism.
//!
//! Each part of a step is a task, as in the program of the same name in the Cilk-5 distribution. A matrix
//! with 500 rows has 288,000 tasks; the paper's has 308,000.
//!
//! Source: Wool, section 5.1.

mod block;
mod matrix;

use purloin::Worker;

use self::block::{Block, Rounds};
use self::matrix::{Matrix, Node, Quadrant};
use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};

/// Replaces the lower half of a symmetric positive definite matrix by its factor: *a* = *l*·*l*ᵀ.
/// Ignores the elements above the diagonal.
fn factor<W: Worker>(w: &mut W, a: &mut Node, rounds: Rounds) {
    let quadrants = match a {
        Node::Leaf(block) => return rounds.change(block, Block::factor),
        Node::Inner(quadrants) => &mut **quadrants,
    };
    let [Some(a00), _, a10, Some(a11)] = quadrants else {
        unreachable!("the diagonal has no empty block");
    };
    match a10 {
        None => {
            w.join(
                |mut w| factor(&mut w, a00, rounds),
                |mut w| factor(&mut w, a11, rounds),
            );
        }
        Some(a10) => {
            factor(w, a00, rounds);
            solve(w, a10, a00, rounds);
            subtract_square(w, a11, a10, rounds);
            factor(w, a11, rounds);
        }
    }
}

/// A part of the work, on quadrants that no other part of the same step writes.
enum Part<'m> {
    Solve(&'m mut Node, &'m Node),
    Subtract(&'m mut Quadrant, &'m Node, &'m Node),
    SubtractSquare(&'m mut Node, &'m Node),
}

/// Does the parts of a step in parallel. Each part is a task, even the last one, as in the original.
fn do_all<W: Worker>(w: &mut W, parts: &mut [Option<Part>], rounds: Rounds) {
    let Some((part, rest)) = parts.split_first_mut() else {
        return;
    };
    match part.take() {
        None => do_all(w, rest, rounds),
        Some(part) => {
            w.join(
                |mut w| do_all(&mut w, rest, rounds),
                |mut w| match part {
                    Part::Solve(a, l) => solve(&mut w, a, l, rounds),
                    Part::Subtract(r, a, b) => subtract(&mut w, r, a, b, rounds),
                    Part::SubtractSquare(r, a) => subtract_square(&mut w, r, a, rounds),
                },
            );
        }
    }
}

/// Replaces *a* by the solution *x* of *x*·*l*ᵀ = *a*. *l* is lower triangular.
fn solve<W: Worker>(w: &mut W, a: &mut Node, l: &Node, rounds: Rounds) {
    let ([a00, a01, a10, a11], l) = match (a, l) {
        (Node::Leaf(a), Node::Leaf(l)) => return rounds.change(a, |a| a.solve(l)),
        (Node::Inner(a), Node::Inner(l)) => (&mut **a, &**l),
        _ => unreachable!("both have the same size"),
    };
    let [Some(l00), _, l10, Some(l11)] = l else {
        unreachable!("the diagonal has no empty block");
    };
    let solve_both = |w: &mut W, upper: &mut Quadrant, lower: &mut Quadrant, l: &Node| {
        let part = |a| Option::as_deref_mut(a).map(|a| Part::Solve(a, l));
        do_all(w, &mut [upper, lower].map(part), rounds);
    };
    solve_both(w, a00, a10, l00);
    if let Some(l10) = l10 {
        let part = |(r, a)| Option::as_deref(a).map(|a| Part::Subtract(r, a, l10));
        do_all(
            w,
            &mut [(&mut *a01, &*a00), (&mut *a11, &*a10)].map(part),
            rounds,
        );
    }
    solve_both(w, a01, a11, l11);
}

/// Replaces *r* by *r* − *a*·*b*ᵀ. Adds the quadrant if *r* was zero.
fn subtract<W: Worker>(w: &mut W, r: &mut Quadrant, a: &Node, b: &Node, rounds: Rounds) {
    match (a, b) {
        (Node::Leaf(a), Node::Leaf(b)) => {
            let r = r.get_or_insert_with(|| Box::new(Node::Leaf(Block::ZERO)));
            match &mut **r {
                Node::Leaf(r) => rounds.change(r, |r| r.subtract(a, b)),
                Node::Inner(_) => unreachable!("all three have the same size"),
            }
        }
        (Node::Inner(a), Node::Inner(b)) => {
            let has =
                |x: &[Quadrant; 4], column: usize| x[column].is_some() || x[2 + column].is_some();
            let has_both = |column| has(a, column) && has(b, column);
            if !has_both(0) && !has_both(1) {
                return;
            }
            let node = r.get_or_insert_with(|| Box::new(Node::Inner(Default::default())));
            let Node::Inner(quadrants) = &mut **node else {
                unreachable!("all three have the same size");
            };
            for column in 0..2 {
                let mut place = 0..4;
                let mut parts = quadrants.each_mut().map(|r| {
                    let place = place.next()?;
                    let (row, other) = (place / 2, place % 2);
                    let (a, b) = (&a[2 * row + column], &b[2 * other + column]);
                    Some(Part::Subtract(r, a.as_deref()?, b.as_deref()?))
                });
                do_all(w, &mut parts, rounds);
            }
            // The non-zeros of both lie in different columns.
            if quadrants.iter().all(Option::is_none) {
                *r = None;
            }
        }
        _ => unreachable!("both have the same size"),
    }
}

/// Replaces the lower half of *r* by the lower half of *r* − *a*·*a*ᵀ.
fn subtract_square<W: Worker>(w: &mut W, r: &mut Node, a: &Node, rounds: Rounds) {
    match (r, a) {
        (Node::Leaf(r), Node::Leaf(a)) => rounds.change(r, |r| r.subtract(a, a)),
        (Node::Inner(r), Node::Inner(a)) => {
            let [Some(r00), _, r10, Some(r11)] = &mut **r else {
                unreachable!("the diagonal has no empty block");
            };
            for column in 0..2 {
                let [upper, lower] = [a[column].as_deref(), a[2 + column].as_deref()];
                let both = upper.zip(lower);
                do_all(
                    w,
                    &mut [
                        upper.map(|a| Part::SubtractSquare(r00, a)),
                        both.map(|(upper, lower)| Part::Subtract(r10, lower, upper)),
                        lower.map(|a| Part::SubtractSquare(r11, a)),
                    ],
                    rounds,
                );
            }
        }
        _ => unreachable!("both have the same size"),
    }
}

/// The kernel `cholesky`.
#[derive(Debug)]
pub struct Cholesky {
    matrix: Matrix,
    /// A copy of the matrix for each repetition, which a run replaces by its factor.
    factors: Vec<Node>,
    rounds: Rounds,
}

impl Kernel for Cholesky {
    const DESCRIPTION: Description = Description {
        name: "cholesky",
        about: "Cholesky factorization of a sparse random matrix; its lower half has four non-zeros per row",
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
            Range {
                name: "rounds of each block operation",
                min: 1,
                max: 1000,
                default: Some(1),
            },
        ]),
        default: "500",
    };

    fn memory(input: Input) -> u64 {
        // A factor fills most of its lower half.
        3 * u64::from(input[0]).pow(2) * u64::from(input[1])
    }

    fn prepare(input: Input) -> Self {
        let matrix = Matrix::random(input[0] as usize);
        Cholesky {
            factors: (0..input[1]).map(|_| matrix.lower_half()).collect(),
            matrix,
            rounds: Rounds(input[2]),
        }
    }

    /// Factors the matrix. The answer is the number of non-zero blocks of the factor.
    fn run<W: Worker>(&mut self, mut w: W) -> Answer {
        for a in &mut self.factors {
            factor(&mut w, a, self.rounds);
        }
        Answer::Number(self.factors[0].blocks())
    }

    fn verify(&self, answer: &Answer) -> bool {
        self.factors.iter().all(|factor| {
            *answer == Answer::Number(factor.blocks()) && self.matrix.is_square_of(factor)
        })
    }
}
