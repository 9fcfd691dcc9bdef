//! Checks the imports of each file of the library.
#![cfg(not(miri))]

mod common;

use std::fs;
use std::path::Path;

/// Names that only the files of `sync/` may contain.
const ONLY_IN_SYNC: [&str; 11] = [
    "std::sync::atomic",
    "std::sync::Mutex",
    "std::sync::RwLock",
    "std::sync::Condvar",
    "std::sync::Once",
    "std::sync::Barrier",
    "std::sync::mpsc",
    "std::thread::",
    "std::thread;",
    "std::time::Instant",
    "std::hint::spin_loop",
];

/// Returns the lines of a file without comments, tests and models. An import is one line, and imports of
/// several names are split, as in `std::sync::Mutex`.
fn code(text: &str) -> Vec<String> {
    let mut lines = Vec::<String>::new();
    let mut is_in_test = false;
    for line in text.lines() {
        let is_test = [
            "#[cfg(test)]",
            "#[cfg(loom)]",
            "#[cfg(all(test,",
            "#[cfg(all(loom,",
        ]
        .iter()
        .any(|test| line.starts_with(test));
        is_in_test |= is_test;
        if is_in_test {
            // An item ends in its first column, or is one line.
            is_in_test = is_test
                || !(line.starts_with('}') || line.ends_with(';') && !line.starts_with(' '));
            continue;
        }
        let line = line.trim();
        match lines.last_mut() {
            _ if line.starts_with("//") => (),
            Some(last) if is_import(last) && !last.ends_with(';') => last.push_str(line),
            _ => lines.push(line.to_string()),
        }
    }
    let mut code = Vec::new();
    for line in lines {
        match line.split_once("::{") {
            Some((path, names)) if path.contains("use std") || path.ends_with("use crate") => {
                let names = names.trim_end_matches("};").split(',').map(str::trim);
                code.extend(names.map(|name| format!("{path}::{name};")));
            }
            _ => code.push(line),
        }
    }
    code
}

/// The files and folders of each layer. ARCHITECTURE.md describes the layers.
const LAYERS: [&[&str]; 4] = [
    &[
        "append_vec",
        "call",
        "cancel",
        "error",
        "per_worker",
        "progress",
        "shards",
        "sleep",
        "stats",
        "sync",
        "this_thread",
        "tracing",
        "tunables",
        "unwind",
        "victim",
    ],
    &[
        "graph",
        "handle",
        "loops",
        "par",
        "promise",
        "scope",
        "shared_handle",
        "sort",
        "worker",
    ],
    &["pool", "runtime", "scheduler"],
    &["asynchronous", "implement", "serial", "token_free"],
];

/// Paths that lead to files of the third layer that import nothing of the second or third one.
const FOUNDATIONS: [(&str, &str); 2] = [
    (
        "crate::runtime::ReturnBarrier;",
        "runtime/return_barrier/options.rs",
    ),
    ("crate::runtime::state::", "runtime/state.rs"),
];

fn is_import(line: &str) -> bool {
    line.starts_with("use ") || line.starts_with("pub") && line.contains(" use ")
}

/// Returns the number of the layer of a file or module, or nothing if it is in none.
fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|names| names.contains(&name))
}

/// Atomics, locks, threads and clocks come from `src/sync/`, so that a build can replace them.
#[test]
fn atomics_locks_threads_and_clocks_come_from_one_folder() {
    let found = lines(|file, line| {
        !file.starts_with("sync")
            && (ONLY_IN_SYNC.iter().any(|name| line.contains(name))
                || line.contains("thread_local!") && !line.contains("crate::sync::thread_local!"))
    });
    assert!(
        found.is_empty(),
        "not from `crate::sync`:\n{}",
        found.join("\n")
    );
}

#[test]
fn each_layer_imports_from_itself_and_from_lower_layers() {
    let found = lines(|file, line| {
        let inside = file.to_str().unwrap();
        let own = match inside.split(['/', '.']).next() {
            _ if inside == "lib.rs" => return false,
            _ if FOUNDATIONS.iter().any(|(_, path)| *path == inside) => 0,
            name => name.and_then(layer).expect(inside),
        };
        let is_foundation = FOUNDATIONS.iter().any(|(path, _)| line.contains(path));
        let names = line.split("crate::").skip(1);
        let mut names = names.map(|rest| rest.split([':', ';', ')']).next().unwrap());
        // A macro of the crate is in no layer.
        let is_fine =
            |name: &str| name.contains('!') || layer(name).is_some_and(|layer| layer <= own);
        !line.starts_with("#[doc") && !is_foundation && !names.all(is_fine)
    });
    assert!(
        found.is_empty(),
        "imports from higher layers, or by names that are in no layer:\n{}",
        found.join("\n")
    );
}

/// Returns the lines of the library's code, with their files, for which `is_wanted` returns true.
fn lines(is_wanted: impl Fn(&Path, &str) -> bool) -> Vec<String> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    for path in common::files(&src) {
        let file = path.strip_prefix(&src).unwrap();
        let is_model = file.components().any(|part| part.as_os_str() == "models");
        // The example is code of another crate.
        let is_test = ["tests.rs", "models.rs", "example.rs"]
            .iter()
            .any(|name| file.ends_with(name));
        if is_model || is_test {
            continue;
        }
        let code = code(&fs::read_to_string(&path).unwrap());
        let wanted = code.iter().filter(|line| is_wanted(file, line));
        found.extend(wanted.map(|line| format!("{}: {}", file.display(), line.trim())));
    }
    found
}
