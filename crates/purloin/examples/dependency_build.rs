//! Builds targets that depend on each other, like `make -j`. It shows shared futures: a target is a
//! task that begins when those that it needs are built. If one fails, no other begins.
//!
//! Run it: `cargo run --release --example dependency_build [parser.o | circle]`

use std::{collections::HashMap, error::Error, sync::OnceLock};

use purloin::{Pool, SharedHandle, Worker};

/// A target, and the targets that it needs.
type Rule = (&'static str, &'static [&'static str]);
const RULES: [Rule; 7] = [
    ("app", &["syntax.a", "printer.o", "network.o"]),
    ("syntax.a", &["lexer.o", "parser.o"]),
    ("lexer.o", &["tokens.h"]),
    ("parser.o", &["tokens.h"]),
    ("printer.o", &["tokens.h"]),
    ("network.o", &[]),
    ("tokens.h", &[]),
];

/// The contents of a target, or the reason why it could not be built.
type Outcome = Result<String, String>;

/// Sorts the rules so that each target comes after those that it needs.
fn sort(mut rules: Vec<Rule>) -> Result<Vec<Rule>, String> {
    let mut sorted = Vec::<Rule>::new();
    while !rules.is_empty() {
        let is_sorted = |need: &&str| sorted.iter().any(|(target, _)| target == need);
        let is_ready = |rule: &mut Rule| rule.1.iter().all(is_sorted);
        let ready: Vec<Rule> = rules.extract_if(.., is_ready).collect();
        if ready.is_empty() {
            return Err(format!("these targets need each other: {rules:?}"));
        }
        sorted.extend(ready);
    }
    Ok(sorted)
}

/// Pretends to build a target.
fn build(target: &str, needed: &[String], broken: &str) -> Outcome {
    println!("building {target}");
    std::thread::sleep(std::time::Duration::from_millis(50));
    match target == broken {
        true => Err(format!("{target} is broken")),
        false => Ok(format!("{target}({})", needed.join(" "))),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let broken = &std::env::args().nth(1).unwrap_or_default();
    let mut rules = RULES.to_vec();
    if broken == "circle" {
        rules[6].1 = &["app"];
    }
    let (rules, failure) = (sort(rules)?, &OnceLock::new());
    let app = Pool::new()?.run(|mut w| {
        w.finish(|scope| {
            let mut targets: HashMap<&str, SharedHandle<Outcome>> = HashMap::new();
            for (target, needs) in rules {
                let needs: Vec<_> = needs.iter().map(|need| targets[need].clone()).collect();
                let outcome = scope.after(&needs).shared_future(move |_| {
                    let needed = needs.iter().map(|need| need.get().clone());
                    let needed = needed.collect::<Result<Vec<_>, _>>()?;
                    if failure.get().is_some() {
                        return Err(format!("{target} was not begun"));
                    }
                    build(target, &needed, broken).inspect_err(|e| _ = failure.set(e.clone()))
                });
                targets.insert(target, outcome);
            }
            targets["app"].get().clone()
        })
    });
    let app = app.map_err(|_| failure.get().cloned().unwrap_or_default());
    println!("built {}", app?);
    Ok(())
}
