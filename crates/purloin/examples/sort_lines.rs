//! Sorts the lines of a file, like `sort`: by their text, by their length, or without regard to
//! upper and lower case. It shows the sorts, and loops that collect from a text. Without a file, it
//! sorts a million lines, and compares the time with that of the standard library's sort.
//!
//! Run it: `cargo run --release --example sort_lines [FILE [text|length|caseless]]`

use std::error::Error;
use std::time::{Duration, Instant};
use std::{env, fs};

use purloin::{Pool, Worker, lines};

/// Returns the lines of a text, sorted.
fn sorted_lines<'t, W: Worker>(mut w: W, text: &'t str, order: &str) -> Option<Vec<&'t str>> {
    let mut found = w.par(lines(text)).collect::<Vec<_>>();
    match order {
        // Equal texts cannot be told apart, so their order does not matter.
        "text" => w.sort_unstable(&mut found),
        "length" => w.sort_by_key(&mut found, |line| line.len()),
        "caseless" => w.sort_by_cached_key(&mut found, |line| line.to_lowercase()),
        _ => return None,
    }
    Some(found)
}

/// Returns lines of pseudo-random words, by xorshift.
fn random_text(count: usize) -> String {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut line = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        format!("{:x} purloined\n", state >> (state % 40))
    };
    (0..count).map(&mut line).collect()
}

fn time<T>(f: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    (f(), start.elapsed())
}

fn main() -> Result<(), Box<dyn Error>> {
    let pool = Pool::new()?;
    let mut args = env::args().skip(1);
    if let Some(file) = args.next() {
        let order = args.next().unwrap_or("text".into());
        let text = fs::read_to_string(file)?;
        let sorted = pool.run(|w| sorted_lines(w, &text, &order));
        let sorted = sorted.ok_or("the order is `text`, `length` or `caseless`")?;
        sorted.iter().for_each(|line| println!("{line}"));
        return Ok(());
    }
    let text = random_text(1_000_000);
    for order in ["text", "length", "caseless"] {
        let (sorted, parallel) = time(|| pool.run(|w| sorted_lines(w, &text, order)));
        let (expected, serial) = time(|| {
            let mut expected: Vec<&str> = text.lines().collect();
            match order {
                "text" => expected.sort_unstable(),
                "length" => expected.sort_by_key(|line| line.len()),
                _ => expected.sort_by_cached_key(|line| line.to_lowercase()),
            }
            expected
        });
        assert_eq!(sorted.unwrap(), expected);
        let workers = pool.workers();
        println!("by {order}: {parallel:.0?} on {workers} workers, {serial:.0?} in std");
    }
    Ok(())
}
