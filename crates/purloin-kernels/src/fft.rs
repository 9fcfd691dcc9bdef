//! The fast Fourier transform of Cooley and Tukey, divided into halves.
//!
//! Source: Return barrier, section 3.1 (1024 × 1024 points), after the program of the same name in
//! the Cilk distribution.

use std::f64::consts::TAU;
use std::ops::{Add, Mul, Sub};

use purloin::{Serial, Worker};

use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};
use crate::random::Xorshift;

/// A complex number.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Complex {
    re: f64,
    im: f64,
}

impl Complex {
    const ZERO: Complex = Complex { re: 0.0, im: 0.0 };

    /// Returns the point on the unit circle at this fraction of a turn.
    fn turn(part: f64) -> Complex {
        let (im, re) = (TAU * part).sin_cos();
        Complex { re, im }
    }

    fn conjugate(self) -> Complex {
        Complex {
            im: -self.im,
            ..self
        }
    }

    /// Returns the larger of the distances between the real parts and between the imaginary parts.
    fn distance(self, other: Complex) -> f64 {
        let difference = self - other;
        difference.re.abs().max(difference.im.abs())
    }
}

impl Add for Complex {
    type Output = Complex;

    fn add(self, other: Complex) -> Complex {
        Complex {
            re: self.re + other.re,
            im: self.im + other.im,
        }
    }
}

impl Sub for Complex {
    type Output = Complex;

    fn sub(self, other: Complex) -> Complex {
        Complex {
            re: self.re - other.re,
            im: self.im - other.im,
        }
    }
}

impl Mul for Complex {
    type Output = Complex;

    fn mul(self, other: Complex) -> Complex {
        Complex {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }
}

/// Two halves with this many times as many points as a leaf are combined by a parallel loop.
const PARALLEL_COMBINE: usize = 128;

/// Transforms every `stride`-th point of `from` into `to`. `roots` are the roots of unity for the
/// whole transform, which has `stride` times as many points as `to`. Up to `leaf` points are transformed
/// without tasks.
fn transform<W: Worker>(
    mut w: W,
    from: &[Complex],
    stride: usize,
    roots: &[Complex],
    to: &mut [Complex],
    leaf: usize,
) {
    let (even, odd) = to.split_at_mut(to.len() / 2);
    if even.is_empty() {
        odd[0] = from[0];
        return;
    }
    if 2 * odd.len() <= leaf {
        transform(Serial, from, 2 * stride, roots, even, leaf);
        transform(Serial, &from[stride..], 2 * stride, roots, odd, leaf);
    } else {
        let (even, odd) = (&mut *even, &mut *odd);
        w.join(
            move |w| transform(w, from, 2 * stride, roots, even, leaf),
            move |w| transform(w, &from[stride..], 2 * stride, roots, odd, leaf),
        );
    }
    let butterfly = move |(k, (even, odd)): (usize, (&mut Complex, &mut Complex))| {
        let turned = roots[k * stride] * *odd;
        *odd = *even - turned;
        *even = *even + turned;
    };
    if 2 * odd.len() < PARALLEL_COMBINE * leaf {
        (0..).zip(even.iter_mut().zip(odd)).for_each(butterfly);
    } else {
        w.for_each((0.., (even, odd)), butterfly);
    }
}

/// The kernel `fft`.
#[derive(Debug)]
pub struct Fft {
    points: Vec<Complex>,
    roots: Vec<Complex>,
    transformed: Vec<Complex>,
    /// Maximum number of points that are transformed without tasks.
    leaf: usize,
}

impl Fft {
    /// Computes the transform at one frequency from its definition.
    fn by_definition(&self, frequency: usize) -> Complex {
        let len = self.points.len();
        let turns = (0..len).map(|i| (i * frequency % len) as f64 / len as f64);
        let terms = self.points.iter().zip(turns);
        terms.fold(Complex::ZERO, |sum, (point, turn)| {
            sum + *point * Complex::turn(-turn)
        })
    }
}

impl Kernel for Fft {
    const DESCRIPTION: Description = Description {
        name: "fft",
        about: "fast Fourier transform of 2^n complex points, divided into halves",
        inputs: Inputs::Numbers(&[
            Range {
                name: "logarithms",
                min: 0,
                max: 26,
                default: None,
            },
            Range {
                name: "points of a leaf",
                min: 1,
                max: 1 << 26,
                default: Some(64),
            },
        ]),
        default: "20",
    };

    fn memory(input: Input) -> u64 {
        // The points, half as many roots, and the result.
        40 << input[0]
    }

    fn prepare(input: Input) -> Self {
        let len = 1 << input[0];
        let mut random = Xorshift::new(len as u64);
        let mut point = |_| Complex {
            re: random.unit() - 0.5,
            im: random.unit() - 0.5,
        };
        Fft {
            points: (0..len).map(&mut point).collect(),
            roots: (0..len / 2)
                .map(|k| Complex::turn(-(k as f64) / len as f64))
                .collect(),
            // Not zeros, so that the system supplies the memory now instead of in the timed run.
            transformed: vec![Complex { re: 1.0, im: 1.0 }; len],
            leaf: input[1] as usize,
        }
    }

    fn run<W: Worker>(&mut self, w: W) -> Answer {
        let (points, roots, leaf) = (&self.points, &self.roots, self.leaf);
        transform(w, points, 1, roots, &mut self.transformed, leaf);
        Answer::Number(self.transformed.len() as u64)
    }

    /// Applies the inverse transform, and compares some frequencies with the definition.
    fn verify(&self, answer: &Answer) -> bool {
        let len = self.points.len();
        // The inverse transform is the conjugate of the transform of the conjugates, divided by
        // their number.
        let conjugates: Vec<_> = self.transformed.iter().map(|c| c.conjugate()).collect();
        let mut back = vec![Complex::ZERO; len];
        transform(Serial, &conjugates, 1, &self.roots, &mut back, self.leaf);
        let scale = Complex {
            re: 1.0 / len as f64,
            im: 0.0,
        };
        let is_inverse = self
            .points
            .iter()
            .zip(&back)
            .all(|(point, back)| point.distance(back.conjugate() * scale) < 1e-12);
        let is_direct = |frequency: usize| {
            self.by_definition(frequency)
                .distance(self.transformed[frequency])
                < 1e-9 * len as f64
        };
        *answer == Answer::Number(len as u64)
            && is_inverse
            && [0, 1, len / 3, len - 1]
                .map(|f| f % len)
                .into_iter()
                .all(is_direct)
    }
}
