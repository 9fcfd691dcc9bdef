//! Jacobi's iteration: each step replaces each point of a mesh by the mean of its neighbours. A
//! barrier follows each step.
//!
//! Source: Return barrier, section 3.1 (10 steps on 1024 × 1024 doubles), after the program of the
//! same name in Java's Fork/Join framework.

use purloin::Worker;

use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};
use crate::random::Xorshift;

/// The kernel `jacobi`.
#[derive(Debug)]
pub struct Jacobi {
    size: usize,
    steps: usize,
    mesh: Vec<f64>,
    next: Vec<f64>,
}

/// Returns a mesh of random numbers in [0, 1) with a border of ones.
fn mesh(size: usize) -> Vec<f64> {
    let mut random = Xorshift::new(size as u64);
    let is_inner = |i: usize| (1..size - 1).contains(&i);
    let points = (0..size * size).map(|point| (point / size, point % size));
    points
        .map(|(i, j)| match is_inner(i) && is_inner(j) {
            true => random.unit(),
            false => 1.0,
        })
        .collect()
}

/// The kernel `jacobi-join`.
#[derive(Debug)]
pub struct JacobiJoin(Jacobi);

/// Computes rows from row `first` on after a step, by joins of halves.
fn relax_rows<W: Worker>(mut w: W, size: usize, mesh: &[f64], first: usize, rows: &mut [f64]) {
    match rows.len() / size {
        0 => {}
        1 => relax(size, mesh, first, rows),
        count => {
            let half = count / 2;
            let (upper, lower) = rows.split_at_mut(half * size);
            w.join(
                |w| relax_rows(w, size, mesh, first, upper),
                |w| relax_rows(w, size, mesh, first + half, lower),
            );
        }
    }
}

impl Kernel for JacobiJoin {
    const DESCRIPTION: Description = Description {
        name: "jacobi-join",
        about: "like jacobi, but with recursive joins of halves instead of a loop",
        ..Jacobi::DESCRIPTION
    };

    fn memory(input: Input) -> u64 {
        Jacobi::memory(input)
    }

    fn prepare(input: Input) -> Self {
        JacobiJoin(Jacobi::prepare(input))
    }

    fn run<W: Worker>(&mut self, mut w: W) -> Answer {
        let Jacobi {
            size,
            steps,
            mesh,
            next,
        } = &mut self.0;
        for _ in 0..*steps {
            let size = *size;
            let (from, to) = (&*mesh, &mut next[size..size * (size - 1)]);
            w.lend(|w| relax_rows(w, size, from, 1, to));
            std::mem::swap(mesh, next);
        }
        digest(mesh)
    }

    fn verify(&self, answer: &Answer) -> bool {
        self.0.verify(answer)
    }
}

/// Computes the inner points of row `i` after a step.
fn relax(size: usize, mesh: &[f64], i: usize, row: &mut [f64]) {
    let [above, own, below] = [i - 1, i, i + 1].map(|i| &mesh[i * size..(i + 1) * size]);
    for j in 1..size - 1 {
        row[j] = 0.25 * (above[j] + below[j] + own[j - 1] + own[j + 1]);
    }
}

/// Returns a checksum of the exact bits of all numbers. The answer shows whether two runs, which
/// compute rows in different orders, agree bit for bit.
fn digest(numbers: &[f64]) -> Answer {
    let digest = numbers.iter().zip(1_u64..);
    Answer::Number(digest.fold(0, |sum, (number, i)| {
        sum.wrapping_add(number.to_bits().wrapping_mul(2 * i + 1))
    }))
}

impl Kernel for Jacobi {
    const DESCRIPTION: Description = Description {
        name: "jacobi",
        about: "Jacobi iteration on a mesh of doubles; each step replaces points by the mean of their neighbours",
        inputs: Inputs::Numbers(&[
            Range {
                name: "rows",
                min: 3,
                max: 16384,
                default: None,
            },
            Range {
                name: "steps",
                min: 1,
                max: 1_000_000,
                default: Some(10),
            },
        ]),
        default: "1024",
    };

    fn memory(input: Input) -> u64 {
        2 * 8 * u64::from(input[0]).pow(2)
    }

    fn prepare(input: Input) -> Self {
        let size = input[0] as usize;
        Jacobi {
            size,
            steps: input[1] as usize,
            mesh: mesh(size),
            next: mesh(size),
        }
    }

    fn run<W: Worker>(&mut self, mut w: W) -> Answer {
        let size = self.size;
        for _ in 0..self.steps {
            let (mesh, next) = (&self.mesh, &mut self.next[size..size * (size - 1)]);
            w.par(next)
                .chunks(size)
                .enumerate()
                .for_each(|(i, row)| relax(size, mesh, i + 1, row));
            std::mem::swap(&mut self.mesh, &mut self.next);
        }
        digest(&self.mesh)
    }

    fn verify(&self, answer: &Answer) -> bool {
        let (size, mut before, mut after) = (self.size, mesh(self.size), mesh(self.size));
        for _ in 0..self.steps {
            for i in 1..size - 1 {
                for j in 1..size - 1 {
                    let at = |i: usize, j: usize| before[i * size + j];
                    let (vertical, horizontal) = (at(i - 1, j) + at(i + 1, j), at(i, j - 1));
                    after[i * size + j] = 0.25 * (vertical + horizontal + at(i, j + 1));
                }
            }
            std::mem::swap(&mut before, &mut after);
        }
        before == self.mesh && *answer == digest(&before)
    }
}
