//! An index of words: which lines contain which word. It has a part that does not run in parallel. Trace it:
//!
//! ```console
//! PURLOIN_REPORT=index.html cargo run --release --example index
//! PURLOIN_REPORT=index.html cargo run --release --example index -- parallel
//! ```
//!
//! `docs/tracing.md` explains what the report shows.

use std::collections::HashMap;

use purloin::prelude::*;
use purloin::{Pool, span};

/// Number of lines of a part.
const PART: usize = 20_000;

type Index<'t> = HashMap<&'t str, Vec<usize>>;

/// Returns a text of pseudo-random words.
fn text(lines: usize) -> Vec<String> {
    let line = |n: usize| {
        let word = |k: usize| format!("word{}", (n * 31 + k * k * 17 + n * k % 7) % 5000);
        (0..20).map(word).collect::<Vec<_>>().join(" ")
    };
    (0..lines).into_par().map(line).collect()
}

/// Adds the words of the lines from `first` on.
fn add<'t>(index: &mut Index<'t>, first: usize, lines: &'t [String]) {
    for (number, line) in lines.iter().enumerate() {
        for word in line.split(' ') {
            index.entry(word).or_default().push(first + number);
        }
    }
}

/// Moves everything from one index to another.
fn merge<'t>(mut into: Index<'t>, from: Index<'t>) -> Index<'t> {
    from.into_iter()
        .for_each(|(word, lines)| into.entry(word).or_default().extend(lines));
    into
}

fn index<'t>(lines: &'t [String], is_parallel: bool) -> Index<'t> {
    if !is_parallel {
        let mut index = Index::new();
        span("index all lines", || add(&mut index, 0, lines));
        return index;
    }
    let part = |(number, part): (usize, &'t [String])| {
        let mut index = Index::new();
        span("index a part", || add(&mut index, number * PART, part));
        index
    };
    let parts = lines.par().chunks(PART).enumerate().map(part);
    let merged = parts.reduce(|a, b| span("merge", || merge(a, b)));
    merged.unwrap_or_default()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let is_parallel = match args.next().as_deref() {
        None | Some("serial") => false,
        Some("parallel") => true,
        Some(other) => return Err(format!("{other}: use serial or parallel").into()),
    };
    let lines = args.next().map_or(Ok(200_000), |n| n.parse())?;
    let pool = Pool::new()?;
    let (words, longest) = pool.run(|_| {
        let lines = span("make the text", || text(lines));
        let index = index(&lines, is_parallel);
        let lengths = index.par().map(|(_, lines)| lines.len());
        (index.len(), span("find the longest", || lengths.max()))
    });
    let longest = longest.unwrap_or(0);
    println!("{words} words; the longest list has {longest} lines");
    Ok(())
}
