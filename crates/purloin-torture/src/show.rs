//! Prints a program as a tree that people can read.

use std::fmt::Write;

use crate::case::Case;
use crate::program::*;

/// Returns the program and the pools of a case, as text.
pub fn case(case: &Case) -> String {
    let (setup, program) = case.program();
    let mut text = String::new();
    let scheduler = setup.scheduler.name();
    let _ = writeln!(text, "main pool: {scheduler}, {}", setup.main);
    let _ = writeln!(text, "other pool: {}", setup.other);
    for (number, steps) in program.threads.iter().enumerate() {
        let _ = writeln!(text, "thread {number}:");
        steps.iter().for_each(|item| outside(&mut text, item));
    }
    text
}

/// Prints a line, and the tasks below it.
fn line(text: &mut String, depth: usize, number: u32, what: &str, tasks: &[&Task]) {
    let _ = writeln!(text, "{:indent$}[{number}] {what}", "", indent = depth * 2);
    for task in tasks {
        let _ = writeln!(
            text,
            "{:indent$}task {}:",
            "",
            task.id,
            indent = depth * 2 + 2
        );
        task.steps
            .iter()
            .for_each(|item| step(text, depth + 2, item));
    }
}

fn outside(text: &mut String, item: &Item<Outside>) {
    let what = match &item.step {
        Outside::Call(pool, _) => format!("call the {} pool", name(*pool)),
        Outside::Finish(pool, tasks) => {
            line(
                text,
                1,
                item.number,
                &format!("finish on the {} pool", name(*pool)),
                &[],
            );
            for task in tasks {
                line(text, 2, task.number, "spawn", &[&task.step]);
            }
            return;
        }
        Outside::Job {
            pool,
            in_background,
            ..
        } => job(*pool, *in_background),
        Outside::Wait(pool) => format!("wait for the jobs of the {} pool", name(*pool)),
        Outside::Async { pool, polls, .. } => asynchronous(*pool, *polls),
        Outside::Future {
            pool,
            how,
            is_shared,
            ..
        } => {
            let shared = if *is_shared { "shared " } else { "" };
            format!("get a {shared}future of the {} pool, {how:?}", name(*pool))
        }
        Outside::Broadcast(pool) => format!("broadcast to the {} pool", name(*pool)),
        Outside::Look(pool) => format!("look at the {} pool", name(*pool)),
        Outside::Pause => "pause".to_string(),
    };
    line(text, 1, item.number, &what, &item.step.tasks());
}

fn step(text: &mut String, depth: usize, item: &Item<Step>) {
    let what = match &item.step {
        Step::Work(count) => format!("access memory {count} times"),
        Step::Fib(n) => format!("compute the Fibonacci number {n} with joins"),
        Step::Join(kind, _) => format!("join, {kind:?}"),
        Step::Finish(_) => "finish".to_string(),
        Step::Spawn { up, is_after, .. } => {
            let after = if *is_after {
                " after the known futures"
            } else {
                ""
            };
            format!("spawn{after}, {up} scopes out")
        }
        Step::Future {
            kind,
            is_shared,
            then,
            ..
        } => {
            let shared = if *is_shared { "shared " } else { "" };
            format!("{shared}future, {kind:?}; {then:?}")
        }
        Step::Get {
            which,
            how,
            catches,
        } => {
            let catches = if *catches { ", catch its panic" } else { "" };
            format!("get known future {which}, {how:?}{catches}")
        }
        Step::Drop(which) => format!("drop known future {which}"),
        Step::Cancel { up } => format!("cancel the scope {up} scopes out"),
        Step::Loop { kind, len, special } => match special {
            Some((iteration, _)) => format!("loop, {kind:?} of {len}; iteration {iteration} runs"),
            None => format!("loop, {kind:?} of {len}"),
        },
        Step::Call { pool, .. } => format!("call the {} pool", name(*pool)),
        Step::Job {
            pool,
            in_background,
            ..
        } => job(*pool, *in_background),
        Step::Async { pool, polls, .. } => asynchronous(*pool, *polls),
        Step::Blocking(_) => "block until this job has run".to_string(),
        Step::Broadcast => "broadcast".to_string(),
        Step::Yield => "yield to a job".to_string(),
        Step::Meet { kind, serves } => {
            let serves = if *serves { ", with joins" } else { "" };
            format!("spin until another worker has run a task, {kind:?}{serves}")
        }
        Step::Panic => "panic".to_string(),
        Step::Catch(_) => "catch the panic of".to_string(),
    };
    line(text, depth, item.number, &what, &item.step.tasks());
}

fn name(pool: PoolName) -> &'static str {
    match pool {
        PoolName::Main => "main",
        PoolName::Other => "other",
    }
}

fn job(pool: PoolName, in_background: bool) -> String {
    let background = if in_background {
        " in the background"
    } else {
        ""
    };
    format!("job for the {} pool{background}", name(pool))
}

fn asynchronous(pool: PoolName, polls: usize) -> String {
    format!(
        "asynchronous call of the {} pool, polled at most {polls} times",
        name(pool)
    )
}
