//! Merges sorted text files, like `sort -m`: first each half of the files, then the two results.
//! It shows nested joins: a recursion over the files, and within it a recursion over the lines.
//! Without arguments, it creates files in a temporary folder.
//!
//! Run it: `cargo run --release --example merge_files [OUTPUT INPUT...]`

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{env, fs, io, process};

use purloin::{Pool, Worker};

/// Merges the lines of all texts.
fn merge_all<W: Worker>(mut w: W, texts: &[String]) -> Vec<&str> {
    if texts.len() <= 1 {
        return texts.iter().flat_map(|text| text.lines()).collect();
    }
    let (front, back) = texts.split_at(texts.len() / 2);
    let (a, b) = w.join(|w| merge_all(w, front), |w| merge_all(w, back));
    let mut merged = vec![""; a.len() + b.len()];
    merge(w, &a, &b, &mut merged);
    merged
}

/// Merges two sorted slices. The middle of the longer one divides both into smaller and larger
/// lines.
fn merge<'t, W: Worker>(mut w: W, a: &[&'t str], b: &[&'t str], merged: &mut [&'t str]) {
    if a.len() < b.len() {
        return merge(w, b, a, merged);
    }
    if b.is_empty() {
        return merged.copy_from_slice(a);
    }
    let a_middle = a.len() / 2;
    let b_middle = b.partition_point(|line| *line < a[a_middle]);
    let (smaller, larger) = merged.split_at_mut(a_middle + b_middle);
    larger[0] = a[a_middle];
    w.join(
        |w| merge(w, &a[..a_middle], &b[..b_middle], smaller),
        |w| merge(w, &a[a_middle + 1..], &b[b_middle..], &mut larger[1..]),
    );
}

fn merge_files(inputs: &[PathBuf], output: &Path) -> Result<(), Box<dyn Error>> {
    let texts: io::Result<Vec<String>> = inputs.iter().map(fs::read_to_string).collect();
    let texts = texts?;
    let pool = Pool::new()?;
    let start = Instant::now();
    let lines = pool.run(|w| merge_all(w, &texts));
    let time = start.elapsed();
    if !lines.is_sorted() {
        return Err("an input is not sorted".into());
    }
    fs::write(output, lines.join("\n") + "\n")?;
    let (lines, files) = (lines.len(), inputs.len());
    println!("merged {lines} lines of {files} files in {time:.1?}");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<PathBuf> = env::args().skip(1).map(PathBuf::from).collect();
    if let [output, inputs @ ..] = &args[..] {
        return merge_files(inputs, output);
    }
    let folder = env::temp_dir().join(format!("merge_files-{}", process::id()));
    fs::create_dir(&folder)?;
    let inputs: Vec<PathBuf> = (0..16).map(|i| folder.join(format!("{i}.txt"))).collect();
    for (i, input) in inputs.iter().enumerate() {
        let lines = (0..50_000).map(|n| format!("{:08}\n", 17 * n + i));
        fs::write(input, lines.collect::<String>())?;
    }
    merge_files(&inputs, &folder.join("merged.txt"))?;
    fs::remove_dir_all(&folder)?;
    Ok(())
}
