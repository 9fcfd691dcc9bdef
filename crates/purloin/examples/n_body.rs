//! Simulates bodies that attract each other, and checks that their energy is conserved. It shows
//! two loops over the bodies: `Worker::for_each` computes the accelerations, and
//! `Worker::map_reduce` sums the energies.
//!
//! Run it: `cargo run --release --example n_body [BODIES]` (default: 1000)

use std::array::from_fn;

use purloin::{Pool, Worker};

type Vector = [f64; 3];

/// A body of mass 1/n, so that all bodies together have mass 1.
struct Body {
    position: Vector,
    velocity: Vector,
}

const STEPS: usize = 100;
const TIME_STEP: f64 = 0.001;
/// Softens the attraction of bodies that nearly touch.
const SOFTENING: f64 = 0.1;

/// Returns bodies on a spiral. They are at rest, and fall towards each other.
fn spiral(count: usize) -> Vec<Body> {
    let place = |i| {
        let part = i as f64 / count as f64;
        let (sin, cos) = (50.0 * part).sin_cos();
        let (position, velocity) = ([part * cos, part * sin, part * part], [0.0; 3]);
        Body { position, velocity }
    };
    (0..count).map(place).collect()
}

/// Returns the vector from one place to another, and its softened length.
fn distance(from: Vector, to: Vector) -> (Vector, f64) {
    let vector: Vector = from_fn(|i| to[i] - from[i]);
    let squares: f64 = vector.iter().map(|x| x * x).sum();
    (vector, (squares + SOFTENING * SOFTENING).sqrt())
}

fn step<W: Worker>(mut w: W, bodies: &mut [Body]) {
    let mass = 1.0 / bodies.len() as f64;
    let positions: Vec<Vector> = bodies.iter().map(|body| body.position).collect();
    w.for_each(bodies, |body| {
        for other in &positions {
            let (vector, length) = distance(body.position, *other);
            let kick = TIME_STEP * mass / length.powi(3);
            body.velocity = from_fn(|i| body.velocity[i] + kick * vector[i]);
        }
        body.position = from_fn(|i| body.position[i] + TIME_STEP * body.velocity[i]);
    });
}

/// Returns the kinetic and potential energy of all bodies.
fn energy<W: Worker>(mut w: W, bodies: &[Body]) -> f64 {
    let mass = 1.0 / bodies.len() as f64;
    let energy_of = |(i, body): (usize, &Body)| {
        let kinetic = mass / 2.0 * body.velocity.iter().map(|v| v * v).sum::<f64>();
        let potential = |other: &Body| -mass * mass / distance(body.position, other.position).1;
        kinetic + bodies[..i].iter().map(potential).sum::<f64>()
    };
    w.map_reduce((0.., bodies), energy_of, |a, b| a + b)
        .unwrap_or(0.0)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count = std::env::args().nth(1).map_or(Ok(1000), |n| n.parse())?;
    let mut bodies = spiral(count);
    let pool = Pool::new()?;
    let before = pool.run(|w| energy(w, &bodies));
    for _ in 0..STEPS {
        pool.run(|w| step(w, &mut bodies));
    }
    let after = pool.run(|w| energy(w, &bodies));
    println!("{count} bodies, {STEPS} steps: energy {before:.6} before, {after:.6} after");
    assert!((after - before).abs() <= 1e-3 * before.abs());
    Ok(())
}
