//! Peers in other languages: their answers, and what happens if one of them fails.
#![allow(missing_docs)]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{json, purloin, refusal, temporary};
use serde_json::Value;

/// Runs kernels under a scheduler; returns the cells, each of which has a verified answer.
fn verified_cells(scheduler: &str, kernels: &[&str]) -> Vec<Value> {
    let mut args = vec!["bench", "--scheduler", scheduler];
    for kernel in kernels {
        args.extend(["--kernel", kernel]);
    }
    args.extend(["--workers", "2", "--runs", "1", "--json", "-"]);
    let report = json(&purloin(&args));
    let cells = report["cells"].as_array().unwrap();
    assert_eq!(cells.len(), kernels.len());
    for cell in cells {
        assert_eq!(cell["scheduler"], scheduler);
        // Means that the answer is right, and the same as that of the Rust kernel.
        assert_eq!(cell["verified"], true, "{cell}");
        assert!(cell["vs_serial"].as_f64().unwrap() > 0.0);
    }
    cells.clone()
}

/// Returns whether this machine can run a command. If not, says that a test is skipped.
fn can_run(program: &str, args: &[&str]) -> bool {
    let output = Command::new(program).args(args).output();
    let can_run = output.is_ok_and(|output| output.status.success());
    if !can_run {
        eprintln!(
            "skipped: this machine cannot run {program} {}",
            args.join(" ")
        );
    }
    can_run
}

/// The kernels that all peers in other languages have, with small inputs.
const KERNELS: &[&str] = &[
    "fib=17",
    "nqueens=8",
    "uts=T1",
    "multisort=50000,2",
    "loops=coarse",
    "loops=increasing,100",
    "loops=vector",
    "forks=1,50",
    "fanout=1,64,32,10",
    "flood=20,1",
];

/// The kernels that only the peers in C++ have, with small inputs.
const CPP_KERNELS: &[&str] = &[
    "spc=300,0",
    "spc-loop=300,1",
    "bpc=20,9,1",
    "bpc-loop=5,99,0",
    "tree=12,0",
];

#[test]
#[ignore = "compiles the peer: ./x prove peers"]
fn openmp_gives_the_answers_of_the_rust_kernels() {
    if can_run("g++", &["--version"]) {
        verified_cells("openmp", KERNELS);
        verified_cells("openmp", CPP_KERNELS);
    }
}

#[test]
#[ignore = "compiles the peer: ./x prove peers"]
fn openmp_of_llvm_gives_the_answers_of_the_rust_kernels() {
    let include = [
        "-E",
        "-fopenmp",
        "-x",
        "c++",
        "-include",
        "omp.h",
        "/dev/null",
    ];
    if can_run("clang++", &include) {
        verified_cells("openmp-llvm", KERNELS);
        verified_cells("openmp-llvm", CPP_KERNELS);
    }
}

#[test]
#[ignore = "compiles the peer: ./x prove peers"]
fn onetbb_gives_the_answers_of_the_rust_kernels() {
    let include = ["-E", "-x", "c++", "-include", "oneapi/tbb.h", "/dev/null"];
    if can_run("g++", &include) {
        verified_cells("tbb", KERNELS);
        verified_cells("tbb", CPP_KERNELS);
    }
}

#[test]
#[ignore = "compiles the peer: ./x prove peers"]
fn go_gives_the_answers_of_the_rust_kernels() {
    // Go has this package since version 1.21.
    if can_run("go", &["list", "slices"]) {
        verified_cells("go", KERNELS);
    }
}

#[test]
#[ignore = "compiles the peer: ./x prove peers"]
fn java_gives_the_answers_of_the_rust_kernels() {
    if can_run("javac", &["-version"]) {
        verified_cells("forkjoin", KERNELS);
        verified_cells("forkjoin", &["jacobi=40,3", "lud=3"]);
    }
}

#[test]
fn a_peer_in_another_language_names_its_kernels() {
    assert!(
        refusal(&["bench", "--kernel", "skynet", "--scheduler", "forkjoin"])
            .contains("forkjoin has no kernel \"skynet\"")
    );
}

/// Runs two small kernels under rayon and openmp. Only the programs of these folders are installed.
fn bench_all(path: &[&Path], args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_purloin"))
        .args(["bench", "--kernel", "multisort=5000"])
        .args(["--kernel", "multisort=6000"])
        .args(["--scheduler", "openmp", "--scheduler", "rayon"])
        .args(["--workers", "1,2", "--runs", "2", "--json", "-"])
        .args(args)
        .env("PATH", std::env::join_paths(path).unwrap())
        .output()
        .unwrap()
}

fn errors(output: &Output) -> Vec<String> {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    text.lines().map(str::to_string).collect()
}

/// Returns the cells of a scheduler.
fn cells_of(output: &Output, scheduler: &str) -> Vec<Value> {
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cells = report["cells"].as_array().unwrap().iter();
    let cells = cells.filter(|cell| cell["scheduler"] == scheduler);
    cells.cloned().collect()
}

#[test]
fn each_peer_that_is_not_installed_has_one_line_and_the_others_go_on() {
    let peers = [
        "--scheduler",
        "tbb",
        "--scheduler",
        "go",
        "--scheduler",
        "forkjoin",
    ];
    let output = bench_all(&[Path::new("/nowhere")], &peers);
    assert!(output.status.success());
    let errors = errors(&output);
    assert_eq!(errors.len(), 4, "{errors:?}");
    for (peer, package) in [
        ("openmp", "g++"),
        ("tbb", "libtbb-dev"),
        ("go", "golang-go"),
        ("forkjoin", "default-jdk-headless"),
    ] {
        let is_named = |line: &String| {
            line.starts_with(&format!("purloin: {peer} is left out: ")) && line.contains(package)
        };
        assert!(errors.iter().any(is_named), "{peer}: {errors:?}");
    }
    assert_eq!(cells_of(&output, "rayon").len(), 4);
}

#[test]
fn a_report_without_a_contestant_has_no_cells() {
    let output = Command::new(env!("CARGO_BIN_EXE_purloin"))
        .args(["bench", "--kernel", "fib", "--scheduler", "tbb"])
        .env("PATH", "/nowhere")
        .output()
        .unwrap();
    assert!(output.status.success());
    assert!(output.stdout.is_empty());
    assert_eq!(errors(&output).len(), 1);
}

/// Writes a compiler that makes this shell script of any program; returns the folders in which a
/// command is searched.
#[cfg(unix)]
fn compiler_of(test: &str, script: &str) -> [PathBuf; 3] {
    write_compiler(
        test,
        &format!("cat > peer <<'END'\n#!/bin/sh\n{script}\nEND\nchmod +x peer"),
    )
}

#[cfg(unix)]
fn write_compiler(test: &str, script: &str) -> [PathBuf; 3] {
    let directory = write_program(test, "g++", script);
    [directory, "/bin".into(), "/usr/bin".into()]
}

#[test]
#[cfg(unix)]
fn a_peer_that_cannot_be_built_is_named_once() {
    let messages = "echo 'In file included from a.cpp' >&2; echo 'b.hpp: error: no b' >&2; exit 1";
    let path = write_compiler("cannot-be-built", messages);
    let output = bench_all(&path.each_ref().map(PathBuf::as_path), &[]);
    assert!(output.status.success());
    let errors = errors(&output);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(
        errors[0].contains("openmp is left out: g++: b.hpp: error: no b; it needs g++"),
        "{errors:?}"
    );
    assert_eq!(cells_of(&output, "rayon").len(), 4);
}

#[test]
#[cfg(unix)]
fn a_compiler_that_hangs_is_killed_at_the_time_limit() {
    let path = write_compiler("compiler-hangs", "exec sleep 60");
    let path = path.each_ref().map(PathBuf::as_path);
    let output = bench_all(&path, &["--time-limit", "1"]);
    assert!(output.status.success());
    let errors = errors(&output);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(
        errors[0].contains("openmp is left out: g++ has not ended within 1 s"),
        "{errors:?}"
    );
    assert_eq!(cells_of(&output, "rayon").len(), 4);
}

#[test]
#[cfg(unix)]
fn a_peer_that_fails_or_hangs_is_left_out_and_the_others_go_on() {
    for (test, script, limit, reason) in [
        (
            "fails",
            "echo 'peer: no memory' >&2; exit 1",
            "600",
            "peer: no memory",
        ),
        ("dies", "kill -9 $$", "600", "signal: 9"),
        ("babbles", "echo hello; read line", "600", "\"hello\""),
        ("hangs", "exec sleep 60", "1", "no answer within 1 s"),
        (
            "hangs-later",
            "echo ready; read line; echo 1 1 right sorted; exec sleep 60",
            "1",
            "no answer within 1 s",
        ),
    ] {
        let path = compiler_of(test, script);
        let path = path.each_ref().map(PathBuf::as_path);
        let output = bench_all(&path, &["--time-limit", limit]);
        assert!(output.status.success(), "{test}");
        let errors = errors(&output);
        // One line for each kernel and number of workers.
        assert_eq!(errors.len(), 4, "{test}: {errors:?}");
        for line in errors {
            assert!(line.starts_with("purloin: openmp: "), "{test}: {line}");
            assert!(line.contains("is left out"), "{test}: {line}");
            assert!(line.contains(reason), "{test}: {line}");
        }
        assert_eq!(cells_of(&output, "openmp").len(), 0, "{test}");
        assert_eq!(cells_of(&output, "rayon").len(), 4, "{test}");
    }
}

#[test]
#[cfg(unix)]
fn only_a_wrong_answer_of_a_peer_makes_the_exit_status_1() {
    let script = "echo ready; while read line; do echo 1000 1000 right seven; done";
    let path = compiler_of("answers-wrongly", script);
    let output = bench_all(&path.each_ref().map(PathBuf::as_path), &[]);
    assert_eq!(output.status.code(), Some(1));
    let errors = errors(&output);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(
        errors[0].contains("under openmp with 2 workers gave a wrong answer: seven"),
        "{errors:?}"
    );
    for (scheduler, is_right) in [("openmp", false), ("rayon", true)] {
        let cells = cells_of(&output, scheduler);
        assert_eq!(cells.len(), 4);
        assert!(cells.iter().all(|cell| cell["verified"] == is_right));
    }
}

/// Writes a shell script with this name; returns its folder.
#[cfg(unix)]
fn write_program(test: &str, name: &str, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let directory = temporary(test);
    let program = directory.join(name);
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    directory
}

#[test]
#[cfg(unix)]
fn a_program_of_the_user_is_a_peer() {
    let script = "[ $1 = fib ] || { echo \"no kernel $1\" >&2; exit 2; }
        echo ready; while read line; do echo 2000 1000 right 55; done";
    let program = write_program("program-of-the-user", "peer", script).join("peer");
    let peer = format!("mine={}", program.display());
    let kernels = ["--kernel", "fib=10", "--kernel", "nqueens=4"];
    let output = Command::new(env!("CARGO_BIN_EXE_purloin"))
        .args(["bench", "--scheduler", "rayon", "--peer", &peer])
        .args(kernels)
        .args(["--workers", "2", "--runs", "1", "--json", "-"])
        .output()
        .unwrap();
    assert!(output.status.success());
    let cells = cells_of(&output, "mine");
    assert_eq!(cells.len(), 1);
    assert_eq!(cells[0]["verified"], true);
    assert_eq!(cells[0]["vs_serial"], 0.5);
    let errors = errors(&output);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(
        errors[0].ends_with("is left out: no kernel nqueens"),
        "{errors:?}"
    );
    assert_eq!(cells_of(&output, "rayon").len(), 2);
}

#[test]
fn a_peer_of_the_user_has_a_name_of_its_own_and_a_program() {
    for peer in ["mine", "=program", "mine="] {
        assert!(refusal(&["bench", "--peer", peer]).contains("is not NAME=PROGRAM"));
    }
    assert!(refusal(&["bench", "--peer", "rayon=program"]).contains("another name"));
}

#[test]
fn a_peer_is_left_out_of_the_kernels_that_it_does_not_have() {
    let output = bench_all(
        &[Path::new("/nowhere")],
        &["--scheduler", "paralight", "--kernel", "spc-loop=10"],
    );
    assert!(output.status.success());
    assert_eq!(cells_of(&output, "paralight").len(), 2);
    assert_eq!(cells_of(&output, "rayon").len(), 6);
    let errors = errors(&output);
    let is_named = |line: &String| line.contains("paralight is left out of multisort, which");
    assert!(errors.iter().any(is_named), "{errors:?}");
}

#[test]
fn a_peer_that_cannot_start_its_threads_is_left_out() {
    let args = [
        "--scheduler",
        "orx-parallel",
        "--kernel",
        "spc-loop=10",
        "--workers",
        "100",
    ];
    let output = Command::new(env!("CARGO_BIN_EXE_purloin"))
        .args([
            "bench",
            "--scheduler",
            "rayon",
            "--runs",
            "1",
            "--json",
            "-",
        ])
        .args(args)
        .output()
        .unwrap();
    assert!(output.status.success());
    let errors = errors(&output);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(
        errors[0].contains("orx-parallel with 100 workers is left out"),
        "{errors:?}"
    );
    assert_eq!(cells_of(&output, "rayon").len(), 1);
}
