//! `PURLOIN_WORKERS`, each case in a process of its own.
#![allow(missing_docs)]

use std::process::Command;

use purloin::Pool;

const MARK: &str = "PURLOIN_TEST_ENVIRONMENT";
const NAME: &str = "the_environment_sets_the_number_of_workers";

/// Runs this test in a child, and returns what it printed.
fn child(workers: &str) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .env(MARK, "1")
        .env("PURLOIN_WORKERS", workers)
        .args(["--exact", NAME, "--nocapture"])
        .output()
        .unwrap();
    assert!(output.status.success());
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[test]
fn the_environment_sets_the_number_of_workers() {
    if std::env::var_os(MARK).is_some() {
        match Pool::new() {
            Ok(pool) => println!("pool: {} workers", pool.workers()),
            Err(error) => println!("pool: {error}"),
        }
        let explicit = Pool::builder().workers(2).build().unwrap();
        println!("explicit: {} workers", explicit.workers());
        // A function that cannot return an error goes on all the same.
        println!("join: {:?}", purloin::join(|| 1, || 2));
        return;
    }
    let text = child("3");
    assert!(text.contains("pool: 3 workers"), "{text}");
    assert!(text.contains("explicit: 2 workers"), "{text}");
    assert!(!child("").contains("PURLOIN_WORKERS"), "empty is as unset");
    for wrong in ["abc", "0", "-1", "1000000"] {
        let text = child(wrong);
        let error =
            format!("PURLOIN_WORKERS must be a number of workers from 1 to 4096, not {wrong:?}");
        assert!(text.contains(&format!("pool: {error}")), "{text}");
        assert!(text.contains("explicit: 2 workers"), "{text}");
        assert!(
            text.contains(&format!("purloin: {error}; going on with")),
            "{text}"
        );
        assert!(text.contains("join: (1, 2)"), "{text}");
    }
}
