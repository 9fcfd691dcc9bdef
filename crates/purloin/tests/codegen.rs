//! The machine code of a join's fast path, of spawns, and of the strips of a loop, in a user's release build.
//!
//! A join costs about a nanosecond because its fast path is some thirty instructions, none of
//! them atomic. The test builds `tests/codegen` with cargo's default release profile,
//! disassembles its joins, and counts the instructions from entry to return.
#![cfg(all(target_arch = "x86_64", target_os = "linux", not(miri), not(loom)))]
#![allow(missing_docs)]

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::process::Command;

/// The function of the library that holds the fast path. The program's `fib` is inlined into it.
const JOIN: &str = "join_in_registers";

/// Maximum number of instructions from the entry to the return of a join that joins again in both
/// of its closures. With the compiler that rust-toolchain.toml names. If a change lowers one, lower
/// it here.
const THROUGH_A_TOKEN: usize = 52;
const WITHOUT_A_TOKEN: usize = 50;

/// Maximum number of instructions for a task that is spawned and that its own worker runs: to push it to the stack, to
/// take it back, and to run it. Some ten of them belong to the task itself and to the loop around the spawn.
const SPAWN: [usize; 3] = [41, 16, 30];
/// Maximum number of instructions from the entry to the return of a finish without tasks.
const FINISH: usize = 95;

#[test]
fn the_fast_path_of_a_spawn_does_not_grow() {
    let program = build();
    let calls_a_task = |i: &Instruction| i.is("call") && i.text.contains("*-0x38(");
    let finishes = disassemble(&program, "6finish6finish17h");
    let costs = finishes.iter().filter_map(|finish| {
        let push = shortest_circle(finish, |i| i.text.contains("run_in_slot"))?;
        let take_back = shortest_circle(finish, calls_a_task)?;
        let empty = shortest_way(finish, 0, |i| i.is("ret"))?;
        Some((push, take_back, empty))
    });
    let (push, take_back, empty) = costs
        .min()
        .expect("there is a finish that spawns in a loop");
    let runs = disassemble(&program, "run_in_slot");
    let run = runs.iter().filter(|run| run.iter().any(|i| i.is("imul")));
    let run = run
        .filter_map(|run| shortest_way(run, 0, |i| i.is("ret")))
        .min();
    let run = run.expect("there is a task that multiplies");
    let found = [push, take_back, run];
    assert!(
        found.iter().zip(SPAWN).all(|(&found, most)| found <= most),
        "a spawn has grown: its push, its way back and its run take {found:?} instructions instead of {SPAWN:?}"
    );
    assert!(
        empty <= FINISH,
        "a finish without tasks has grown from {FINISH} to {empty} instructions"
    );
}

#[test]
fn the_fast_path_of_a_join_does_not_grow() {
    let joins = disassemble(&build(), JOIN);
    let mut kinds = [false; 2];
    for path in joins.iter().filter_map(|code| fast_path(code)) {
        let text: Vec<&str> = path.iter().map(|i| i.text.as_str()).collect();
        let text = text.join("\n");
        for atomic in ["lock", "xchg", "fence"] {
            assert!(
                !text.contains(atomic),
                "a join has an atomic instruction:\n{text}"
            );
        }
        let through_a_token = !text.contains("call_once") && !text.contains("%fs");
        let expected = match through_a_token {
            true => THROUGH_A_TOKEN,
            false => WITHOUT_A_TOKEN,
        };
        kinds[usize::from(through_a_token)] = true;
        assert!(
            path.len() <= expected,
            "the fast path of a join has grown from {expected} to {} instructions:\n{text}",
            path.len(),
        );
    }
    assert_eq!(kinds, [true; 2], "there is a join of each kind");
}

/// Within a strip, a chain of adaptors is what the compiler makes of the same code in a plain loop.
#[test]
fn a_strip_of_a_chain_is_a_plain_loop() {
    let program = build();
    let vector_loops = |name| {
        let functions = disassemble(&program, name);
        let loops = functions.iter().flat_map(|code| loops(code));
        let mut loops: Vec<Vec<String>> = loops
            .filter(|body| body.iter().any(|mnemonic| mnemonic == "paddd"))
            .collect();
        loops.sort_by_key(Vec::len);
        loops
    };
    let (plain, strips) = (vector_loops("plain_sum"), vector_loops("run_block"));
    let innermost = plain
        .first()
        .expect("the compiler has vectorised the plain loop");
    assert_eq!(strips.first(), Some(innermost));
}

/// Returns the mnemonics of the loops in a function, sorted: of the code between a jump backwards and its target.
fn loops(code: &[Instruction]) -> Vec<Vec<String>> {
    let jumps = code.iter().enumerate().filter_map(|(end, jump)| {
        let start = code[..end]
            .iter()
            .position(|i| Some(i.address) == jump.target())?;
        Some(&code[start..end])
    });
    let mnemonic = |i: &Instruction| i.text.split_whitespace().next().map(String::from);
    jumps
        .map(|body| {
            let mut mnemonics: Vec<String> = body.iter().filter_map(mnemonic).collect();
            mnemonics.sort();
            mnemonics
        })
        .collect()
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

/// Returns the instructions of each function with this in its name, by `objdump`, which comes with
/// the linker.
fn disassemble(program: &str, name: &str) -> Vec<Vec<Instruction>> {
    let mut objdump = Command::new("objdump");
    let objdump = objdump.args(["-d", "--no-show-raw-insn", program]);
    let output = objdump.output().expect("objdump is there").stdout;
    let output = String::from_utf8(output).unwrap();
    let functions = output.split("\n\n").filter(|function| {
        let title = function.lines().next().unwrap_or_default();
        title.contains(name) && title.ends_with(">:")
    });
    let instruction = |line: &str| {
        let (address, text) = line.trim().split_once(':')?;
        Some(Instruction {
            address: u64::from_str_radix(address, 16).ok()?,
            text: text.trim().to_string(),
        })
    };
    functions
        .map(|function| function.lines().skip(1).filter_map(instruction).collect())
        .collect()
}

/// Returns the number of instructions on the shortest circle through one with this property. A way with another call is a
/// slow path.
fn shortest_circle(code: &[Instruction], is_on_it: impl Fn(&Instruction) -> bool) -> Option<usize> {
    let starts = (0..code.len()).filter(|&place| is_on_it(&code[place]));
    starts
        .filter_map(|start| shortest_way(code, start + 1, |i| i.address == code[start].address))
        .min()
}

/// Returns the number of instructions on the shortest way from the one at `start` to one with this property, both
/// included. A way with a call in between is a slow path.
fn shortest_way(
    code: &[Instruction],
    start: usize,
    is_end: impl Fn(&Instruction) -> bool,
) -> Option<usize> {
    let places = code.iter().enumerate().map(|(place, i)| (i.address, place));
    let places: HashMap<u64, usize> = places.collect();
    let mut seen = vec![false; code.len()];
    let mut open = VecDeque::from([(start, 1)]);
    while let Some((place, length)) = open.pop_front() {
        let Some(instruction) = code.get(place) else {
            continue;
        };
        if is_end(instruction) {
            return Some(length);
        }
        if std::mem::replace(&mut seen[place], true)
            || instruction.is("call")
            || instruction.is("ret")
        {
            continue;
        }
        if let Some(&target) = instruction.target().and_then(|target| places.get(&target)) {
            open.push_back((target, length + 1));
        }
        if !instruction.is("jmp") {
            open.push_back((place + 1, length + 1));
        }
    }
    None
}

/// Returns the shortest way from entry to return that joins twice more: in each of the closures. A
/// way with another call is a slow path, unless it is the call that finds a thread-local value.
fn fast_path(code: &[Instruction]) -> Option<Vec<&Instruction>> {
    let places = code.iter().enumerate().map(|(place, i)| (i.address, place));
    let places: HashMap<u64, usize> = places.collect();
    let mut best: Option<Vec<&Instruction>> = None;
    let mut open = vec![(0, 0, Vec::new())];
    while let Some((place, mut joins, mut path)) = open.pop() {
        let Some(instruction) = code.get(place) else {
            continue;
        };
        path.push(instruction);
        if instruction.is("call") {
            joins += u32::from(instruction.text.contains(JOIN));
            if !instruction.text.contains(JOIN) && !instruction.text.contains("call_once") {
                continue;
            }
        }
        // A way that is long comes around in a circle.
        if joins > 2 || path.len() > 200 {
            continue;
        }
        if instruction.is("ret") {
            if joins == 2 && best.as_ref().is_none_or(|best| path.len() < best.len()) {
                best = Some(path);
            }
            continue;
        }
        if let Some(&target) = instruction.target().and_then(|target| places.get(&target)) {
            open.push((target, joins, path.clone()));
        }
        if !instruction.is("jmp") {
            open.push((place + 1, joins, path));
        }
    }
    best
}
