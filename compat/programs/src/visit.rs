//! The task of a walk over a tree of folders. It loops in parallel over the entries of its folder, asks the
//! system for their sizes, and spawns a task for each folder that it finds.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::Scope;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

/// Adds the bytes of all files in the folder, and in those within it, to `bytes`.
pub fn visit<'s>(scope: &Scope<'s>, folder: PathBuf, bytes: &'s AtomicU64) {
    let entries: Vec<_> = fs::read_dir(folder).unwrap().map(Result::unwrap).collect();
    let sizes: Vec<u64> = entries
        .into_par_iter()
        .filter_map(|entry| {
            let metadata = entry.metadata().unwrap();
            if metadata.is_dir() {
                let inner = entry.path();
                scope.spawn(move |scope| visit(scope, inner, bytes));
                return None;
            }
            Some(metadata.len())
        })
        .collect();
    bytes.fetch_add(sizes.iter().sum(), Relaxed);
}
