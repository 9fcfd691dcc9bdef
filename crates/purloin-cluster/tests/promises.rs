//! The promises that `examples/promises.rs` and `examples/sizes.rs` check, on one to eight ranks.

mod common;

use common::{LONG, example, job, run};

fn promises_are_kept_on(ranks: usize) {
    for program in ["promises", "sizes"] {
        let output = run(job(ranks, &example(program), &[]), LONG);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && text.contains(&format!("kept on {ranks} ranks")),
            "{program}: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn promises_are_kept_on_one_rank() {
    promises_are_kept_on(1);
}

#[test]
fn promises_are_kept_on_two_ranks() {
    promises_are_kept_on(2);
}

#[test]
fn promises_are_kept_on_four_ranks() {
    promises_are_kept_on(4);
}

#[test]
#[ignore = "eight ranks: ./x prove cluster"]
fn promises_are_kept_on_eight_ranks() {
    promises_are_kept_on(8);
}
