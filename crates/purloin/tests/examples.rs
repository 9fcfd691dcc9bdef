//! The example programs: each runs, checks its own answer, and stays short.
#![cfg(not(any(miri, loom)))]
#![allow(missing_docs)]

mod common;

use std::env::consts::EXE_EXTENSION;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

/// The folder with the executables. `cargo test` builds all examples before it runs any test; `cargo test --test
/// examples` does not, so they are built here. If they are up to date, cargo is not called: after `cargo test` for
/// several packages, whose dependencies have more features, it would build all examples again.
static EXECUTABLES: LazyLock<PathBuf> = LazyLock::new(|| {
    let (profile, folder) = match cfg!(debug_assertions) {
        true => ("test", "debug"),
        false => ("release", "release"),
    };
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let executables = target.join(folder).join("examples");
    if are_up_to_date(&executables) {
        return executables;
    }
    let built = Command::new(env!("CARGO"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["build", "--quiet", "--examples", "--profile", profile])
        .arg("--target-dir")
        .arg(target)
        // With a sanitizer's flags, the build would need a standard library built with the same
        // flags.
        .env_remove("RUSTFLAGS")
        .status()
        .unwrap();
    assert!(built.success(), "the examples cannot be built");
    executables
});

/// Returns whether the executables of all examples exist, and are newer than the sources of the examples and of the
/// library.
fn are_up_to_date(executables: &Path) -> bool {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = common::files(&package.join("examples"));
    let changed = |file: &Path| fs::metadata(file).and_then(|file| file.modified()).ok();
    let built = sources.iter().map(|source| {
        let name = source.file_stem().unwrap();
        changed(&executables.join(name).with_extension(EXE_EXTENSION))
    });
    let Some(oldest) = built.min().flatten() else {
        return false;
    };
    sources.extend(common::files(&package.join("src")));
    sources
        .iter()
        .all(|source| changed(source).is_some_and(|changed| changed < oldest))
}

fn run(example: &str, args: &[&str]) -> Output {
    let mut command = Command::new(EXECUTABLES.join(example));
    command.env("PURLOIN_WORKERS", "2").args(args);
    command.output().unwrap()
}

/// Runs an example, which must succeed, and returns what it prints.
fn output(example: &str, args: &[&str]) -> String {
    let output = run(example, args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{example} failed:\n{errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs an example, which must fail, and returns its error message.
fn error(example: &str, args: &[&str]) -> String {
    let output = run(example, args);
    assert!(!output.status.success(), "{example} succeeded");
    String::from_utf8(output.stderr).unwrap()
}

/// A temporary folder, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("examples-{name}-{}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    /// Returns the path of a file in the folder.
    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_string()
    }

    /// Writes a file, and returns its path.
    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.file(name), text).unwrap();
        self.file(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn every_example_has_fewer_than_80_lines_and_says_how_to_run_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let examples: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(examples.len(), 12);
    for example in examples {
        let text = fs::read_to_string(&example).unwrap();
        let name = example.file_stem().unwrap().to_str().unwrap();
        let lines = text.lines().count();
        assert!(lines < 80, "{name} has {lines} lines");
        let command = format!("cargo run --release --example {name}");
        assert!(text.contains(&command), "{name} does not say `{command}`");
    }
}

#[test]
fn async_server_answers_pings_while_it_counts() {
    let printed = output("async_server", &[]);
    assert!(
        printed.contains("148933 primes below 2000000\n"),
        "{printed}"
    );
    assert!(printed.contains("the longest ping took"), "{printed}");
    error("async_server", &["nowhere"]);
}

#[test]
fn index_finds_the_same_words_in_both_forms() {
    let expected = "5000 words; the longest list has ";
    let printed = output("index", &["serial", "30000"]);
    assert!(printed.starts_with(expected), "{printed}");
    assert_eq!(output("index", &["parallel", "30000"]), printed);
    assert!(error("index", &["fast"]).contains("use serial or parallel"));
}

#[test]
fn knapsack_finds_the_same_weight_in_both_forms() {
    for form in ["write", "read-first"] {
        let printed = output("knapsack", &[form, "12"]);
        assert!(printed.starts_with("1200 of 1201"), "{printed}");
    }
    assert!(error("knapsack", &["fast"]).contains("use write or read-first"));
}

#[test]
fn quicksort_sorts() {
    for count in ["0", "1", "2", "10000"] {
        assert!(output("quicksort", &[count]).contains(&format!("sorted {count} numbers")));
    }
}

#[test]
fn sort_lines_sorts_by_text_length_and_without_case() {
    let folder = Folder::new("sort_lines");
    let file = folder.write("lines", "pear\nBanana\napple\nfig\r\napple");
    let sorted = |order| output("sort_lines", &[&file, order]);
    assert_eq!(sorted("text"), "Banana\napple\napple\nfig\npear\n");
    assert_eq!(sorted("length"), "fig\npear\napple\napple\nBanana\n");
    assert_eq!(sorted("caseless"), "apple\napple\nBanana\nfig\npear\n");
    let message = error("sort_lines", &[&file, "colour"]);
    assert!(message.contains("`length`"), "{message}");
    error("sort_lines", &[&folder.file("missing")]);
}

#[test]
fn merge_files_merges_the_files_it_is_given() {
    let folder = Folder::new("merge_files");
    let a = folder.write("a", "apple\ncherry\nfig\n");
    let b = folder.write("b", "banana\ncherry\n");
    let empty = folder.write("empty", "");
    let merged = folder.file("merged");
    output("merge_files", &[&merged, &a, &empty, &b]);
    let text = fs::read_to_string(&merged).unwrap();
    assert_eq!(text, "apple\nbanana\ncherry\ncherry\nfig\n");

    let unsorted = folder.write("unsorted", "fig\napple\n");
    let message = error("merge_files", &[&merged, &unsorted]);
    assert!(message.contains("not sorted"), "{message}");
}

#[test]
fn merge_files_makes_files_of_its_own() {
    let printed = output("merge_files", &[]);
    assert!(printed.starts_with("merged 800000 lines of 16 files"));
}

#[test]
fn mandelbrot_writes_a_png() {
    let folder = Folder::new("mandelbrot");
    let file = folder.file("image.png");
    output("mandelbrot", &["50", &file]);
    let mut reader = png::Decoder::new(std::io::Cursor::new(fs::read(file).unwrap()))
        .read_info()
        .unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.width, info.height), (60, 50));
    // The set contains 0, and does not reach the corners.
    assert_eq!(pixels[25 * 60 + 44], 0);
    assert_ne!(pixels[0], 0);
}

#[test]
fn life_moves_a_glider() {
    let printed = output("life", &["20"]);
    let fourth = ". . . . . \n. . # . . \n. . . # . \n. # # # . \n. . . . . \n";
    assert!(printed.contains(&format!("generation 4\n{fourth}")));
    assert!(printed.contains("after 80 generations"));
}

#[test]
fn n_body_conserves_energy() {
    assert!(output("n_body", &["50"]).starts_with("50 bodies, 100 steps"));
}

#[test]
fn word_count_counts_in_subfolders() {
    let folder = Folder::new("word_count");
    folder.write("a.txt", "One fish, two fish");
    fs::create_dir(folder.file("deeper")).unwrap();
    folder.write("deeper/b.txt", "red fish; blue fish!");
    let printed = output("word_count", &[&folder.file("")]);
    assert!(printed.starts_with("8 words, 5 different"), "{printed}");
    assert!(printed.contains("4 fish"), "{printed}");

    error("word_count", &[&folder.file("missing")]);
}

#[test]
fn word_count_knows_the_source_of_purloin() {
    assert!(output("word_count", &[]).contains(" worker\n"));
}

#[test]
fn sudoku_finds_the_solution() {
    let printed = output("sudoku", &[]);
    let solution: Vec<&str> = printed.lines().skip(10).take(9).collect();
    assert_eq!(solution[0], "812753649");
    assert_eq!(solution[8], "796318452");

    // Two equal digits in the first row.
    let contradiction = format!("11{}", ".".repeat(79));
    let message = error("sudoku", &[&contradiction]);
    assert!(message.contains("contradict"), "{message}");
    // The empty cell of the first row sees the 9 below it.
    let unsolvable = format!("12345678.........9{}", ".".repeat(63));
    let message = error("sudoku", &[&unsolvable]);
    assert!(message.contains("no solution"), "{message}");
    let message = error("sudoku", &["123"]);
    assert!(message.contains("81 digits"), "{message}");
}

#[test]
fn dependency_build_stops_at_a_broken_target_and_rejects_circles() {
    let printed = output("dependency_build", &[]);
    let app = "app(syntax.a(lexer.o(tokens.h()) parser.o(tokens.h())) printer.o(tokens.h()) \
               network.o())";
    assert!(printed.contains(app), "{printed}");
    assert_eq!(printed.matches("building tokens.h").count(), 1);

    let output = run("dependency_build", &["parser.o"]);
    let built = String::from_utf8(output.stdout).unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("parser.o is broken"));
    assert!(!built.contains("building app"), "{built}");
    assert!(error("dependency_build", &["circle"]).contains("need each other"));
}
