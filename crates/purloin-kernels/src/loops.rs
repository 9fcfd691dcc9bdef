//! Parallel loops of several shapes.
//!
//! Source: Channel (lazy splitting: loops of fine, coarse, random, increasing and decreasing
//! granularity).

use std::hint::black_box;

use purloin::Worker;

use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};
use crate::random::cheap_hash;
use crate::work::{Results, steps, steps_per_microsecond};

/// The shapes of loops.
///
/// - `fine`: ten million iterations of 20 ns.
/// - `coarse`: 2,000 iterations of 100 µs.
/// - `random`, `increasing`, `decreasing`: 100,000 iterations of up to 4 µs.
/// - `tiny`: 10⁸ iterations of about a nanosecond, which shows the overhead of a loop.
/// - `vector`: additions of vectors, in which one instruction adds several elements. It shows
///   whether a parallel loop is still compiled to vector instructions.
const SHAPES: &[&str] = &[
    "fine",
    "coarse",
    "random",
    "increasing",
    "decreasing",
    "tiny",
    "vector",
];

/// Number of iterations of the shape `tiny`.
const TINY: u64 = 100_000_000;

/// Number of elements of a vector.
const VECTOR: usize = 1 << 16;

/// How often the vectors are added.
const ADDITIONS: u32 = 4000;

/// The kernel `loops`.
#[derive(Debug)]
pub struct Loops {
    data: Data,
    /// The grain size, if the user has chosen one: a loop of this many iterations is not split.
    grain: Option<usize>,
}

#[derive(Debug)]
enum Data {
    /// The duration and the results of the iterations.
    Steps(Granularity, Results),
    Tiny,
    Vectors(Vec<f32>, Vec<f32>),
}

/// Number of iterations of a loop of varying granularity.
const VARYING: u64 = 100_000;

/// A loop whose iterations take known times.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    /// The name of the shape.
    pub name: &'static str,
    /// Number of iterations.
    pub count: u64,
    /// The time of the longest iteration, in nanoseconds.
    longest: u64,
    /// Returns the part of that time that an iteration takes, out of [`VARYING`]. Without it, all
    /// iterations take the same time.
    part: Option<fn(u64) -> u64>,
}

/// All shapes whose iterations take known times.
pub static TIMED: [Timed; 5] = {
    const fn varying(name: &'static str, part: fn(u64) -> u64) -> Timed {
        Timed {
            name,
            count: VARYING,
            longest: 4000,
            part: Some(part),
        }
    }
    const fn even(name: &'static str, count: u64, longest: u64) -> Timed {
        Timed {
            name,
            count,
            longest,
            part: None,
        }
    }
    [
        even("fine", 10_000_000, 20),
        even("coarse", 2000, 100_000),
        varying("random", |i| cheap_hash(i) % VARYING),
        varying("increasing", |i| i),
        varying("decreasing", |i| VARYING - i),
    ]
};

impl Timed {
    /// Returns the time of iteration `i`, in nanoseconds.
    pub fn nanoseconds(&self, i: u64) -> u64 {
        self.part
            .map_or(self.longest, |part| part(i) * self.longest / VARYING)
    }

    /// Returns the number of steps of each iteration.
    fn granularity(&self) -> Granularity {
        let longest = self.longest * steps_per_microsecond() / 1000;
        match self.part {
            Some(part) => Granularity::UpTo(longest, part),
            None => Granularity::Fixed(longest),
        }
    }
}

/// The number of steps of each iteration.
#[derive(Clone, Copy, Debug)]
enum Granularity {
    /// All iterations have the same number of steps.
    Fixed(u64),
    /// An iteration has up to this number of steps. The function returns its part of that number,
    /// out of [`VARYING`].
    UpTo(u64, fn(u64) -> u64),
}

impl Granularity {
    fn steps(self, i: usize) -> u64 {
        match self {
            Granularity::Fixed(steps) => steps,
            Granularity::UpTo(most, part) => part(i as u64) * most / VARYING,
        }
    }

    /// Runs iteration `i`.
    fn run(self, i: usize, result: &mut u32) {
        *result = steps(self.steps(i), i as u64);
    }
}

/// The body of the shape `tiny`.
fn tiny(i: u64) -> u64 {
    cheap_hash(cheap_hash(i)) & 0xff
}

/// Runs the loop by joins down to a grain size, as a program without splittable tasks would.
fn by_joins<W: Worker>(
    mut w: W,
    grain: usize,
    granularity: Granularity,
    first: usize,
    results: &mut [u32],
) {
    if results.len() <= grain {
        let iterations = (first..).zip(results);
        return iterations.for_each(|(i, result)| granularity.run(i, result));
    }
    let middle = results.len() / 2;
    let (front, back) = results.split_at_mut(middle);
    w.join(
        move |w| by_joins(w, grain, granularity, first, front),
        move |w| by_joins(w, grain, granularity, first + middle, back),
    );
}

impl Kernel for Loops {
    const DESCRIPTION: Description = Description {
        name: "loops",
        about: "a parallel loop of a given shape; with a grain size above 0, by joins down to that size",
        inputs: Inputs::NameAndNumbers(
            SHAPES,
            &[Range {
                name: "grain sizes",
                min: 0,
                max: TINY as u32,
                default: Some(0),
            }],
        ),
        default: "fine",
    };

    fn prepare(input: Input) -> Self {
        let data = match SHAPES[input[0] as usize] {
            "tiny" => Data::Tiny,
            "vector" => Data::Vectors(vec![1.0; VECTOR], vec![0.0; VECTOR]),
            shape => {
                let timed = TIMED.iter().find(|timed| timed.name == shape);
                let timed = timed.expect("all other shapes have known times");
                Data::Steps(timed.granularity(), Results::new(timed.count as usize))
            }
        };
        Loops {
            data,
            grain: (input[1] > 0).then_some(input[1] as usize),
        }
    }

    fn run<W: Worker>(&mut self, mut w: W) -> Answer {
        match (&mut self.data, self.grain) {
            (Data::Steps(granularity, results), None) => {
                let granularity = *granularity;
                w.for_each((0.., &mut results.0), move |(i, result)| {
                    granularity.run(i, result)
                });
            }
            (Data::Steps(granularity, results), Some(grain)) => {
                by_joins(w, grain, *granularity, 0, &mut results.0);
            }
            (Data::Tiny, _) => {
                let sum = w.map_reduce(0..black_box(TINY), tiny, u64::wrapping_add);
                return Answer::Number(sum.unwrap_or(0));
            }
            (Data::Vectors(from, to), _) => {
                for _ in 0..ADDITIONS {
                    let from = &*from;
                    w.for_each((from, &mut *to), |(from, to)| *to += 0.5 * from);
                }
            }
        }
        self.done()
    }

    fn verify(&self, answer: &Answer) -> bool {
        match &self.data {
            Data::Tiny => *answer == Answer::Number((0..TINY).map(tiny).sum()),
            Data::Steps(granularity, results) => {
                results.verify(answer, |i| steps(granularity.steps(i), i as u64))
            }
            Data::Vectors(..) => *answer == Answer::Number(VECTOR as u64),
        }
    }
}

impl Loops {
    /// Returns the number of iterations that have done their work.
    fn done(&self) -> Answer {
        match &self.data {
            Data::Tiny => Answer::Number(0),
            Data::Steps(_, results) => results.done(),
            Data::Vectors(_, to) => {
                let right = ADDITIONS as f32 / 2.0;
                Answer::Number(to.iter().filter(|&&sum| sum == right).count() as u64)
            }
        }
    }
}
