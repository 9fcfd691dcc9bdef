//! A walk over a tree of folders, and the number of times that its threads went to sleep.
//!
//! Each folder is a task of one scope. The task loops in parallel over the entries, asks the system for each
//! one's size, and spawns a task for each folder that it finds. So tasks and loops take microseconds, and
//! their bodies make system calls. An engine that wakes a thread for each of them spends most of its time on
//! wake-ups.
//!
//! `walk FOLDER` makes the tree in FOLDER if it is not there, walks over it several times, and prints the
//! number of voluntary context switches of the process during these walks.

#[path = "../visit.rs"]
mod visit;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use visit::visit;

/// The folders in each folder, and the depth of the tree.
const BRANCHES: usize = 7;
const DEPTH: u32 = 3;
/// The files in each folder. Each has as many bytes as its name has letters.
const FILES: usize = 8;

/// The number of walks.
const WALKS: usize = 20;

fn main() {
    let folder = std::env::args_os().nth(1).expect("the name of a folder");
    let folder = PathBuf::from(folder);
    // Another process may make the same tree at the same time.
    let complete = folder.join("complete");
    let tree = folder.join("tree");
    if !complete.exists() {
        make(&tree, DEPTH);
        fs::write(&complete, "").unwrap();
    }
    let folders: usize = (0..=DEPTH).map(|depth| BRANCHES.pow(depth)).sum();
    let expected = (folders * FILES * "file 0".len()) as u64;
    // The first walk starts the threads, and fills the system's caches.
    assert_eq!(walk(&tree), expected);
    let before = voluntary_switches();
    for _ in 0..WALKS {
        assert_eq!(walk(&tree), expected);
    }
    println!("{}", voluntary_switches() - before);
}

fn make(folder: &Path, depth: u32) {
    fs::create_dir_all(folder).unwrap();
    for file in 0..FILES {
        let name = format!("file {file}");
        fs::write(folder.join(&name), &name).unwrap();
    }
    for branch in (0..BRANCHES).filter(|_| depth > 0) {
        make(&folder.join(format!("folder {branch}")), depth - 1);
    }
}

/// Returns the bytes of all files.
fn walk(folder: &Path) -> u64 {
    let bytes = AtomicU64::new(0);
    rayon::scope(|scope| visit(scope, folder.to_owned(), &bytes));
    bytes.into_inner()
}

/// Returns how often a thread of this process has given its processor away to wait.
fn voluntary_switches() -> i64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` has room for the result, and all of its fields are numbers.
    unsafe {
        assert_eq!(libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()), 0);
        usage.assume_init().ru_nvcsw
    }
}
