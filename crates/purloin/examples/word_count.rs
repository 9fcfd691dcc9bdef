//! Counts the words in all files of a folder and its subfolders. It shows `try_fold`: there
//! is one map of counts as long as no other worker has nothing to do, and the first error ends the
//! loop.
//!
//! Run it: `cargo run --release --example word_count [FOLDER]` (default: the source of Purloin)

use std::cmp::Reverse;
use std::collections::HashMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{fs, io};

use purloin::{Pool, Serial, Worker};

type Counts = HashMap<String, usize>;

/// Adds the files of a folder and its subfolders to a list.
fn find_files(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => find_files(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}

fn count_words<W: Worker>(mut w: W, files: &[PathBuf]) -> io::Result<Counts> {
    w.par(files).try_fold(
        Counts::new,
        |mut counts, file| {
            let text = fs::read(file)?;
            let text = String::from_utf8_lossy(&text);
            let words = text.split(|c: char| !c.is_alphanumeric());
            for word in words.filter(|word| !word.is_empty()) {
                *counts.entry(word.to_lowercase()).or_default() += 1;
            }
            Ok(counts)
        },
        |mut counts, more| {
            for (word, count) in more {
                *counts.entry(word).or_default() += count;
            }
            Ok(counts)
        },
    )
}

fn main() -> Result<(), Box<dyn Error>> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let folder = std::env::args().nth(1).unwrap_or(default.into());
    let mut files = Vec::new();
    find_files(Path::new(&folder), &mut files)?;
    let pool = Pool::new()?;
    let counts = pool.run(|w| count_words(w, &files))?;
    assert_eq!(counts, count_words(Serial, &files)?);

    let (total, different) = (counts.values().sum::<usize>(), counts.len());
    println!("{total} words, {different} different. The most frequent:");
    let mut counts: Vec<_> = counts.into_iter().collect();
    pool.run(|mut w| w.sort_by_key(&mut counts, |(_, count)| Reverse(*count)));
    for (word, count) in counts.iter().take(10) {
        println!("{count:8} {word}");
    }
    Ok(())
}
