//! `./x torture`: random programs under an adversary, until one fails.
mod calls;
mod case;
mod execute;
mod generate;
mod loops;
mod program;
mod random;
mod setup;
mod sync;
mod tasks;
mod world;

use execute::Outcome;

fn main() {
    world::keep_panics();
    let args: Vec<u64> = std::env::args().skip(1).map(|a| a.parse().unwrap()).collect();
    let start = std::time::Instant::now();
    let (mut events, mut noruns) = (0, 0);
    for seed in args[0]..args[1] {
        let case = case::Case::of_seed(seed, None);
        if args.len() > 2 { eprintln!("{seed}"); }
        match execute::execute(&case) {
            Outcome::NoRun => noruns += 1,
            Outcome::Kept { events: e, fingerprint } => { events += e; if args.len() > 2 { eprintln!("{fingerprint:x}") } }
            Outcome::Failed(f) => { let (s, p) = case.program(); println!("seed {seed}: {}\n{}{s:?}\n{p:#?}", f.what, f.details); return; }
        }
    }
    println!("{events} events, {noruns} noruns, {:?}", start.elapsed());
}
