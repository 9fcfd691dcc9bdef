//! Tests of the environment variable `PURLOIN_WORKERS`, each case in a process of its own.

use crate::common;
use purloin::{Pool, Worker};

const NAME: &str = "environment::the_environment_sets_the_number_of_workers";

/// Runs the test in a child process with `PURLOIN_WORKERS`, and returns what it printed.
fn child(workers: &str) -> String {
    let output = common::run_in_child(NAME, &[("PURLOIN_WORKERS", workers)]);
    assert!(output.status.success());
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[test]
fn the_environment_sets_the_number_of_workers() {
    if common::is_child() {
        match Pool::new() {
            Ok(pool) => println!("pool: {} workers", pool.workers()),
            Err(error) => println!("pool: {error}"),
        }
        let explicit = Pool::builder().workers(2).build().unwrap();
        println!("explicit: {} workers", explicit.workers());
        // A function that cannot return an error prints a warning and ignores the variable.
        println!("join: {:?}", purloin::join(|| 1, || 2));
        return;
    }
    let text = child("3");
    assert!(text.contains("pool: 3 workers"), "{text}");
    assert!(text.contains("explicit: 2 workers"), "{text}");
    assert!(
        !child("").contains("PURLOIN_WORKERS"),
        "an empty variable does not count as unset"
    );
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

#[test]
fn a_token_knows_its_worker_and_its_pool() {
    let pool = Pool::builder().workers(3).build().unwrap();
    pool.run(|mut w| {
        assert_eq!(w.workers(), 3);
        assert!(std::ptr::eq(w.pool(), w.pool()));
        assert_eq!(w.pool().workers(), 3);
        assert_eq!(w.pool().run(|w| w.index()), w.index());
        w.pool().spawn(|w| assert!(w.index() < w.workers() + 32));
        let indices = w
            .par(0..1000)
            .map_with_token(|w, _| w.index())
            .collect_vec();
        assert!(indices.iter().all(|index| *index < 3 + 32));
    });
    pool.wait();
    drop(pool);
}

#[test]
fn errors_print_their_text_from_main_and_unwrap() {
    let error = Pool::builder().workers(0).build().unwrap_err();
    assert_eq!(format!("{error:?}"), error.to_string());
    assert_eq!(format!("{error:?}"), "workers must be at least 1");
}
