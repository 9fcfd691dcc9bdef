//! Atomics, locks, threads and clocks come from `src/sync/` alone, so that a build can replace them.
#![cfg(not(miri))]

mod common;

use std::fs;
use std::path::Path;

/// What only `sync/` may name.
const BEHIND_THE_DOOR: [&str; 11] = [
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
            Some(last) if last.contains("use ") && !last.ends_with(';') => last.push_str(line),
            _ => lines.push(line.to_string()),
        }
    }
    let mut code = Vec::new();
    for line in lines {
        match line.split_once("::{") {
            Some((path, names)) if path.contains("use std") => {
                let names = names.trim_end_matches("};").split(',').map(str::trim);
                code.extend(names.map(|name| format!("{path}::{name};")));
            }
            _ => code.push(line),
        }
    }
    code
}

#[test]
fn atomics_locks_threads_and_clocks_come_from_one_folder() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    for path in common::files(&src) {
        let inside = path.strip_prefix(&src).unwrap();
        let is_model = inside.components().any(|part| part.as_os_str() == "models");
        // The example is code of another crate.
        let is_test = ["tests.rs", "models.rs", "example.rs"]
            .iter()
            .any(|name| inside.ends_with(name));
        if inside.starts_with("sync") || is_model || is_test {
            continue;
        }
        for line in code(&fs::read_to_string(&path).unwrap()) {
            let passes_by = BEHIND_THE_DOOR.iter().any(|name| line.contains(name))
                || line.contains("thread_local!") && !line.contains("crate::sync::thread_local!");
            if passes_by {
                found.push(format!("{}: {}", inside.display(), line.trim()));
            }
        }
    }
    assert!(
        found.is_empty(),
        "not from `crate::sync`:\n{}",
        found.join("\n")
    );
}
