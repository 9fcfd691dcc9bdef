//! Every kernel, serially and on pools, against what is known of its answer.

use std::thread;

use purloin::{Pool, Serial};
use purloin_kernels::{Job, KERNELS};

/// Enough for the deepest tree here in a build without optimisation.
const STACK_SIZE: usize = 256 << 20;

fn pool(workers: usize) -> Pool {
    let pool = Pool::builder().workers(workers).stack_size(STACK_SIZE);
    pool.build().expect("a pool")
}

fn serially(job: Job) -> String {
    let run = move || {
        let mut instance = job.prepare();
        let answer = instance.run(Serial);
        assert!(instance.verify(&answer), "{job}: {answer}");
        answer.to_string()
    };
    let thread = thread::Builder::new().stack_size(STACK_SIZE);
    let thread = thread.spawn(run).expect("a thread");
    thread.join().expect("no panic")
}

fn on(pool: &Pool, job: Job) -> String {
    let mut instance = job.prepare();
    let answer = pool.run(|w| instance.run(w));
    assert!(instance.verify(&answer), "{job}: {answer}");
    answer.to_string()
}

/// Checks jobs of one kernel, serially and on two and three workers.
fn check(kernel: &str, answers: &[(u32, &str)]) {
    let pools = [pool(2), pool(3)];
    for (input, answer) in answers {
        let job = Job::parse(&format!("{kernel}={input}")).expect("a job");
        assert_eq!(serially(job), *answer, "{job}, serially");
        for pool in &pools {
            let workers = pool.workers();
            assert_eq!(on(pool, job), *answer, "{job}, {workers} workers");
        }
    }
}

#[test]
fn fib_gives_fibonacci_numbers() {
    check(
        "fib",
        &[(0, "0"), (1, "1"), (2, "1"), (10, "55"), (25, "75025")],
    );
}

#[test]
fn stress_visits_all_leaves_of_all_trees() {
    let all = "1649266917376";
    check("stress", &[(0, all), (1, all), (12, all), (20, all)]);
}

#[test]
fn nqueens_finds_all_solutions() {
    check(
        "nqueens",
        &[
            (1, "1"),
            (2, "0"),
            (3, "0"),
            (4, "2"),
            (5, "10"),
            (6, "4"),
            (7, "40"),
            (8, "92"),
            (9, "352"),
            (10, "724"),
        ],
    );
}

#[test]
fn multisort_sorts_any_number() {
    let sorted = [1, 2, 3, 2047, 2048, 2049, 4095, 4096, 100_003].map(|n| (n, "sorted"));
    check("multisort", &sorted);
}

#[test]
fn skynet_sums_all_leaves() {
    check(
        "skynet",
        &[(0, "0"), (1, "45"), (2, "4950"), (5, "4999950000")],
    );
}

#[test]
fn uts_counts_the_published_trees() {
    let pool = pool(2);
    for (name, size) in [
        ("uts=T1", "4130071 nodes, 3305118 leaves, depth 10"),
        ("uts=T2", "4117769 nodes, 2342762 leaves, depth 81"),
        ("uts=T3", "4112897 nodes, 3599034 leaves, depth 1572"),
    ] {
        assert_eq!(on(&pool, Job::parse(name).expect("a job")), size);
    }
}

#[test]
fn uts_counts_serially() {
    let job = Job::parse("uts=T3").expect("a job");
    assert_eq!(serially(job), "4112897 nodes, 3599034 leaves, depth 1572");
}

#[test]
fn a_wrong_answer_is_noticed() {
    let small = |kernel| match kernel {
        "fib" => "fib=5",
        "stress" => "stress=20",
        "nqueens" => "nqueens=5",
        "multisort" => "multisort=5000",
        "skynet" => "skynet=3",
        other => other,
    };
    let answers = ["fib=4", "multisort=1"].map(|job| {
        let job = Job::parse(job).expect("a job");
        job.prepare().run(Serial)
    });
    for kernel in KERNELS {
        // Not run, so that a sort has not sorted.
        let instance = Job::parse(small(kernel.name)).expect("a job").prepare();
        for answer in answers {
            assert!(!instance.verify(&answer), "{}: {answer}", kernel.name);
        }
    }
}
