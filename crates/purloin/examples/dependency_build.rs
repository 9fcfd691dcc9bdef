//! Builds a program from targets that depend on each other, like `make -j`. It shows
//! `Scope::future`: each target is a future that first gets the results of the targets that it
//! needs. If a target fails, all targets that need it fail, too; the others are built.
//!
//! Run it: `cargo run --release --example dependency_build [BROKEN]`, for example with `parser.o`

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, LazyLock};
use std::thread::sleep;
use std::time::{Duration, Instant};

use purloin::{Handle, Pool, Worker};

/// Targets, each with the targets that it needs. A target comes after the targets that it needs.
const RULES: [(&str, &[&str]); 7] = [
    ("tokens.h", &[]),
    ("lexer.o", &["tokens.h"]),
    ("parser.o", &["tokens.h"]),
    ("printer.o", &["tokens.h"]),
    ("syntax.a", &["lexer.o", "parser.o"]),
    ("network.o", &[]),
    ("app", &["syntax.a", "printer.o", "network.o"]),
];

/// The contents of a target, or the reason why it could not be built.
type Outcome = Result<String, String>;

/// The outcome of a future, shared by several tasks. The first task that needs it waits for the
/// future, and the other tasks wait for the first. This cannot deadlock: a worker may hold a lock
/// while it waits for a future, because it runs no unrelated task during that time.
type Shared = Arc<LazyLock<Outcome, Box<dyn FnOnce() -> Outcome + Send>>>;

fn share(future: Handle<Outcome>) -> Shared {
    Arc::new(LazyLock::new(Box::new(|| future.get())))
}

/// Pretends to build a target.
fn build(target: &str, needed: Vec<String>, broken: &str) -> Outcome {
    println!("building {target}");
    sleep(Duration::from_millis(50));
    match target == broken {
        true => Err(format!("{target} is broken")),
        false => Ok(format!("{target}({})", needed.join(" "))),
    }
}

fn build_app<W: Worker>(mut w: W, broken: &str) -> Outcome {
    w.finish(|scope| {
        let mut futures = HashMap::new();
        for (target, needs) in RULES {
            let outcome_of = |need| Arc::clone(&futures[need]);
            let needs: Vec<Shared> = needs.iter().map(outcome_of).collect();
            let future = scope.future(move |_| {
                let needed: Result<_, _> = needs.iter().map(|need| Outcome::clone(need)).collect();
                build(target, needed?, broken)
            });
            futures.insert(target, share(future));
        }
        Outcome::clone(&futures["app"])
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let broken = std::env::args().nth(1).unwrap_or_default();
    let start = Instant::now();
    let app = Pool::new()?.run(|w| build_app(w, &broken))?;
    println!("built {app} in {:.0?}", start.elapsed());
    Ok(())
}
