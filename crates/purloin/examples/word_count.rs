//! Counts the words in all files of a folder and its subfolders. It shows `Worker::finish`: the
//! task of a folder spawns one task per entry, so the number of tasks is not known in advance.
//!
//! Run it: `cargo run --release --example word_count [FOLDER]` (default: the source of Purloin)

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::Mutex;
use std::{fs, io};

use purloin::{Pool, Scope, Serial, Spawner, Worker};

type Counts = BTreeMap<String, usize>;

/// Spawns a task for each entry of a folder, and counts the words of a file.
fn visit<'s, S: Spawner>(
    scope: &'s Scope<'s, '_, S>,
    path: &Path,
    total: &'s Mutex<Counts>,
) -> io::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            let path = entry?.path();
            scope.spawn(move |_| {
                if let Err(error) = visit(scope, &path, total) {
                    eprintln!("{}: {error}", path.display());
                }
            });
        }
    } else {
        let counts = count_words(&String::from_utf8_lossy(&fs::read(path)?));
        let mut total = total.lock().unwrap();
        for (word, count) in counts {
            *total.entry(word).or_default() += count;
        }
    }
    Ok(())
}

fn count_words(text: &str) -> Counts {
    let mut counts = Counts::new();
    let words = text.split(|c: char| !c.is_alphanumeric());
    for word in words.filter(|word| !word.is_empty()) {
        *counts.entry(word.to_lowercase()).or_default() += 1;
    }
    counts
}

fn count_folder<W: Worker>(mut w: W, folder: &Path) -> io::Result<Counts> {
    let total = Mutex::new(Counts::new());
    w.finish(|scope| visit(scope, folder, &total))?;
    Ok(total.into_inner().unwrap())
}

fn main() -> Result<(), Box<dyn Error>> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let folder = std::env::args().nth(1).unwrap_or(default.into());
    let folder = Path::new(&folder);
    let counts = Pool::new()?.run(|w| count_folder(w, folder))?;
    assert_eq!(counts, count_folder(Serial, folder)?);

    let total: usize = counts.values().sum();
    let different = counts.len();
    println!("{total} words, {different} different. The most frequent:");
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    for (word, count) in counts.iter().take(10) {
        println!("{count:8} {word}");
    }
    Ok(())
}
