//! The machine code of a join's fast path, in a user's release build.
//!
//! A join costs about a nanosecond because its fast path is some thirty instructions, none of
//! them atomic. The test builds `tests/codegen` with cargo's default release profile,
//! disassembles two functions, and counts the instructions from entry to return.
#![cfg(all(target_arch = "x86_64", target_os = "linux", not(miri), not(loom)))]
#![allow(missing_docs)]

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

/// The number of instructions in a call of `fib` that joins, without the two calls that it makes,
/// with the compiler that rust-toolchain.toml names. If a change lowers a number, lower it here.
const EXPECTED: [(&str, usize); 2] = [("fib_by_value", 37), ("fib_without_token", 37)];

#[test]
fn the_fast_path_of_a_join_does_not_grow() {
    let program = build();
    for (function, expected) in EXPECTED {
        let code = disassemble(&program, function);
        let path = fast_path(&code).unwrap_or_else(|| panic!("{function} has no fast path"));
        let text = path
            .iter()
            .map(|i| i.text.as_str())
            .collect::<Vec<_>>()
            .join("\n");
        for atomic in ["lock", "xchg", "fence"] {
            assert!(
                !text.contains(atomic),
                "{function} has an atomic instruction:\n{text}"
            );
        }
        assert!(
            path.len() <= expected,
            "the fast path of {function} has grown from {expected} to {} instructions:\n{text}",
            path.len(),
        );
    }
}

/// Builds the program as a user would, regardless of the flags with which this test is built.
fn build() -> String {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/codegen/Cargo.toml");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("codegen");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(&target)
        .env("RUSTFLAGS", "")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .status()
        .unwrap();
    assert!(built.success());
    let program = target.join("release/codegen");
    program.into_os_string().into_string().unwrap()
}

struct Instruction {
    address: u64,
    text: String,
}

impl Instruction {
    fn is(&self, mnemonic: &str) -> bool {
        self.text.starts_with(mnemonic)
    }

    /// Returns the target of a direct jump.
    fn target(&self) -> Option<u64> {
        let operand = self.text.split_whitespace().nth(1)?;
        self.is("j")
            .then(|| u64::from_str_radix(operand, 16).ok())?
    }
}

/// Returns the instructions of a function, by `objdump`, which comes with the linker.
fn disassemble(program: &str, function: &str) -> Vec<Instruction> {
    let mut objdump = Command::new("objdump");
    let objdump = objdump.args(["-d", "--no-show-raw-insn", program]);
    let output = objdump.output().expect("objdump is there").stdout;
    let output = String::from_utf8(output).unwrap();
    let begin = format!("<{function}>:");
    let lines = output.lines().skip_while(|line| !line.ends_with(&begin));
    lines
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| {
            let (address, text) = line.trim().split_once(':')?;
            Some(Instruction {
                address: u64::from_str_radix(address, 16).ok()?,
                text: text.trim().to_string(),
            })
        })
        .collect()
}

/// Returns the shortest path from entry to return with exactly two calls, one for each closure. The
/// base case has no calls, and a slow path has a different number.
fn fast_path(code: &[Instruction]) -> Option<Vec<&Instruction>> {
    let places = code.iter().enumerate().map(|(place, i)| (i.address, place));
    let places: HashMap<u64, usize> = places.collect();
    let mut best: Option<Vec<&Instruction>> = None;
    let mut open = vec![(0, 0, Vec::new())];
    while let Some((place, calls, mut path)) = open.pop() {
        let Some(instruction) = code.get(place) else {
            continue;
        };
        // A longer path goes around in a circle.
        if calls > 2 || path.len() > 200 {
            continue;
        }
        path.push(instruction);
        if instruction.is("ret") {
            if calls == 2 && best.as_ref().is_none_or(|best| path.len() < best.len()) {
                best = Some(path);
            }
            continue;
        }
        if let Some(&target) = instruction.target().and_then(|target| places.get(&target)) {
            open.push((target, calls, path.clone()));
        }
        if !instruction.is("jmp") {
            open.push((place + 1, calls + usize::from(instruction.is("call")), path));
        }
    }
    best
}
