//! The n-body simulation of Barnes and Hut, which treats a distant group of bodies as one body.
//!
//! Source: Return barrier, section 3.1 (100,000 bodies), after the program of the same name in the
//! Lonestar suite.

use std::ops::Range;

use purloin::{Serial, Worker};

use crate::kernel::{self, Answer, Description, Input, Inputs, Kernel};
use crate::random::Xorshift;

type Vector = [f64; 3];

/// A cell counts as one body if its side is less than this fraction of its distance.
const OPENING: f64 = 0.5;

/// The softening length. Bodies that are closer than this attract each other less than points
/// would, which keeps the forces finite.
const SOFTENING: f64 = 1e-3;

const TIME_STEP: f64 = 1e-3;

/// Maximum number of bodies in a cell that is not divided.
const LEAF: usize = 8;

/// Maximum depth of the tree. Without it, bodies in the same place would be divided forever.
const DEPTH: u32 = 48;

/// A cube of space to be divided.
#[derive(Clone, Copy)]
struct Cube {
    corner: Vector,
    side: f64,
    /// The number of levels that may lie below.
    depth: u32,
    /// Maximum number of bodies in a cell that is divided without tasks.
    few: usize,
}

fn combine(a: Vector, b: Vector, f: impl Fn(f64, f64) -> f64) -> Vector {
    [f(a[0], b[0]), f(a[1], b[1]), f(a[2], b[2])]
}

#[derive(Clone, Copy, Debug)]
struct Body {
    mass: f64,
    place: Vector,
    velocity: Vector,
}

/// A cube of space with bodies in it.
#[derive(Debug)]
struct Cell {
    side: f64,
    mass: f64,
    /// The centre of mass.
    centre: Vector,
    inside: Inside,
}

#[derive(Debug)]
enum Inside {
    /// The range of the bodies in the array.
    Bodies(Range<usize>),
    /// The cells that are not empty.
    Cells(Vec<Cell>),
}

/// Returns the acceleration that a mass at this distance causes. `square` is the distance squared.
fn pull(mass: f64, distance: Vector, square: f64) -> Vector {
    let square = square + SOFTENING * SOFTENING;
    let factor = mass / (square * square.sqrt());
    distance.map(|x| factor * x)
}

fn square(vector: Vector) -> f64 {
    vector.iter().map(|x| x * x).sum()
}

impl Cell {
    /// Builds the cell with this corner and side. Sorts its bodies, which start at `first` in the
    /// array, by place.
    fn build<W: Worker>(w: W, bodies: &mut [Body], first: usize, cube: Cube) -> Cell {
        let Cube { side, depth, .. } = cube;
        if bodies.len() <= LEAF || depth == 0 {
            let masses = bodies.iter().map(|body| (body.mass, body.place));
            let (mass, centre) = centre_of_mass(masses);
            let inside = Inside::Bodies(first..first + bodies.len());
            return Cell {
                side,
                mass,
                centre,
                inside,
            };
        }
        let half = Cube {
            side: side / 2.0,
            depth: depth - 1,
            ..cube
        };
        let cells = divide(w, bodies, first, half, 0);
        let (mass, centre) = centre_of_mass(cells.iter().map(|cell| (cell.mass, cell.centre)));
        let inside = Inside::Cells(cells);
        Cell {
            side,
            mass,
            centre,
            inside,
        }
    }

    /// Returns the acceleration of a body at this place.
    fn pull_on(&self, place: Vector, all: &[Body]) -> Vector {
        let distance = combine(self.centre, place, |a, b| a - b);
        let square_of_distance = square(distance);
        match &self.inside {
            _ if self.side * self.side < OPENING * OPENING * square_of_distance => {
                pull(self.mass, distance, square_of_distance)
            }
            Inside::Cells(cells) => cells.iter().fold([0.0; 3], |sum, cell| {
                combine(sum, cell.pull_on(place, all), |a, b| a + b)
            }),
            Inside::Bodies(range) => direct_sum(&all[range.clone()], place),
        }
    }
}

/// Returns the sum of the masses and their centre.
fn centre_of_mass(masses: impl Iterator<Item = (f64, Vector)>) -> (f64, Vector) {
    let (mass, moment) = masses.fold((0.0, [0.0; 3]), |(all, moment), (mass, place)| {
        let moment = combine(moment, place, |sum, x| sum + mass * x);
        (all + mass, moment)
    });
    (mass, moment.map(|x| x / mass))
}

/// Returns the acceleration at `place`, summed over each of these bodies.
fn direct_sum(bodies: &[Body], place: Vector) -> Vector {
    bodies.iter().fold([0.0; 3], |sum, body| {
        let distance = combine(body.place, place, |a, b| a - b);
        let pull = pull(body.mass, distance, square(distance));
        combine(sum, pull, |a, b| a + b)
    })
}

/// Builds the cells of this side at a corner: eight cells for axis 0, and four or two after the
/// space has been divided along the first one or two axes.
fn divide<W: Worker>(
    mut w: W,
    bodies: &mut [Body],
    first: usize,
    cube: Cube,
    axis: usize,
) -> Vec<Cell> {
    if bodies.is_empty() {
        return Vec::new();
    }
    if axis == cube.corner.len() {
        return vec![Cell::build(w, bodies, first, cube)];
    }
    let mut upper = cube;
    upper.corner[axis] += cube.side;
    let is_few = bodies.len() <= cube.few;
    let count = partition(bodies, |body| body.place[axis] < upper.corner[axis]);
    let (low, high) = bodies.split_at_mut(count);
    let next = axis + 1;
    let (mut cells, others) = if is_few {
        (
            divide(Serial, low, first, cube, next),
            divide(Serial, high, first + count, upper, next),
        )
    } else {
        w.join(
            move |w| divide(w, low, first, cube, next),
            move |w| divide(w, high, first + count, upper, next),
        )
    };
    cells.extend(others);
    cells
}

/// Moves the items for which `is_first` is true to the front and returns their number.
fn partition<T>(items: &mut [T], is_first: impl Fn(&T) -> bool) -> usize {
    let mut first = 0;
    for i in 0..items.len() {
        if is_first(&items[i]) {
            items.swap(first, i);
            first += 1;
        }
    }
    first
}

/// The kernel `barnes-hut`.
#[derive(Debug)]
pub struct BarnesHut {
    bodies: Vec<Body>,
    steps: usize,
    /// Maximum number of bodies in a cell that is divided without tasks.
    few: usize,
    /// The acceleration of each body at the last step.
    pulls: Vec<Vector>,
}

impl BarnesHut {
    fn step<W: Worker>(&mut self, w: &mut W) {
        let (bodies, pulls) = (&mut self.bodies, &mut self.pulls);
        let places = bodies.iter().map(|body| body.place);
        let ends = |end: f64, f: fn(f64, f64) -> f64| {
            places.clone().fold([end; 3], |a, b| combine(a, b, f))
        };
        let (corner, end) = (
            ends(f64::INFINITY, f64::min),
            ends(-f64::INFINITY, f64::max),
        );
        let sides = combine(end, corner, |end, corner| end - corner);
        // Slightly larger, so that the body with the largest coordinate is inside.
        let side = sides.into_iter().fold(f64::MIN_POSITIVE, f64::max) * (1.0 + f64::EPSILON);
        let cube = Cube {
            corner,
            side,
            depth: DEPTH,
            few: self.few,
        };
        let root = w.lend(|w| Cell::build(w, bodies, 0, cube));
        let (root, all) = (&root, &**bodies);
        w.for_each((all, &mut *pulls), move |(body, pull)| {
            *pull = root.pull_on(body.place, all);
        });
        w.for_each((&mut **bodies, &*pulls), |(body, pull)| {
            body.velocity = combine(body.velocity, *pull, |v, a| v + TIME_STEP * a);
            body.place = combine(body.place, body.velocity, |x, v| x + TIME_STEP * v);
        });
    }
}

impl Kernel for BarnesHut {
    const DESCRIPTION: Description = Description {
        name: "barnes-hut",
        about: "n-body simulation that treats a distant group of bodies as one",
        inputs: Inputs::Numbers(&[
            kernel::Range {
                name: "bodies",
                min: 1,
                max: 10_000_000,
                default: None,
            },
            kernel::Range {
                name: "steps",
                min: 1,
                max: 1_000_000,
                default: Some(1),
            },
            kernel::Range {
                name: "bodies divided without tasks",
                min: 0,
                max: 10_000_000,
                default: Some(256),
            },
        ]),
        default: "100000",
    };

    /// Makes a ball of bodies at rest that is denser towards its centre.
    fn memory(input: Input) -> u64 {
        let body = size_of::<Body>() + size_of::<Vector>();
        body as u64 * u64::from(input[0])
    }

    fn prepare(input: Input) -> Self {
        let count = input[0] as usize;
        let mut random = Xorshift::new(count as u64);
        let mut body = |_| {
            let mut real = || 2.0 * random.unit() - 1.0;
            let direction = std::iter::repeat_with(|| [real(), real(), real()])
                .find(|place| (0.01..1.0).contains(&square(*place)))
                .expect("about half of all points are inside the ball");
            Body {
                mass: 1.0 / count as f64,
                // Multiplies the distance by itself, which moves bodies towards the centre.
                place: direction.map(|x| x * square(direction).sqrt()),
                velocity: [0.0; 3],
            }
        };
        BarnesHut {
            bodies: (0..count).map(&mut body).collect(),
            steps: input[1] as usize,
            few: input[2] as usize,
            pulls: vec![[1.0; 3]; count],
        }
    }

    fn run<W: Worker>(&mut self, mut w: W) -> Answer {
        for _ in 0..self.steps {
            self.step(&mut w);
        }
        Answer::Number(self.bodies.len() as u64)
    }

    /// Compares the acceleration of some bodies with the sum over all bodies.
    fn verify(&self, answer: &Answer) -> bool {
        let mut before = self.bodies.clone();
        for body in &mut before {
            body.place = combine(body.place, body.velocity, |x, v| x - TIME_STEP * v);
        }
        let near = |(body, pull): (&Body, &Vector)| {
            let expected = direct_sum(&before, body.place);
            let error = combine(*pull, expected, |a, b| a - b);
            square(error) <= (0.02 * 0.02) * square(expected) + 1e-18
        };
        let pairs = before.iter().zip(&self.pulls);
        *answer == Answer::Number(before.len() as u64)
            && pairs.step_by(before.len() / 64 + 1).all(near)
    }
}
