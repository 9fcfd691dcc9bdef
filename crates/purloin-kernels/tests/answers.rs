//! Runs every kernel serially and on pools, and compares its answers with known ones.

use std::thread;

use purloin::{Pool, Serial};
use purloin_kernels::uts::{self, Node, Shape, TREES, Tree};
use purloin_kernels::{Job, KERNELS, stress};

/// Stack size in bytes. The deepest tree of these tests fits it in a build without optimisation.
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

/// Checks the answers of one kernel to these inputs, serially and on two and three workers.
fn check<I: std::fmt::Display>(kernel: &str, answers: &[(I, &str)]) {
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
    let pools = [pool(2), pool(3)];
    for height in 0..10 {
        let answer = stress::tree(Serial, height, 1);
        let first = 1_u64 << height;
        let of_leaves = (first..2 * first).map(|leaf| stress::tree(Serial, 0, leaf));
        assert_eq!(answer, of_leaves.fold(0, u64::wrapping_add));
        for pool in &pools {
            assert_eq!(pool.run(|w| stress::tree(w, height, 1)), answer);
        }
    }
    // Trees of every height have the same leaves in total, and so the same answer.
    let all = "15058796337637621760";
    assert_eq!(serially(Job::parse("stress=0").expect("a job")), all);
    assert_eq!(on(&pools[0], Job::parse("stress=12").expect("a job")), all);
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
fn multisort_sorts_any_number_of_integers() {
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
fn uts_counts_tree_t1() {
    let size = "4130071 nodes, 3305118 leaves, depth 10";
    assert_eq!(on(&pool(2), Job::parse("uts=T1").expect("a job")), size);
}

#[test]
fn uts_counts_tree_t2() {
    let size = "4117769 nodes, 2342762 leaves, depth 81";
    assert_eq!(on(&pool(2), Job::parse("uts=T2").expect("a job")), size);
}

#[test]
fn uts_counts_tree_t3() {
    let size = "4112897 nodes, 3599034 leaves, depth 1572";
    assert_eq!(on(&pool(3), Job::parse("uts=T3").expect("a job")), size);
}

#[test]
fn uts_counts_the_same_serially_and_on_a_pool() {
    let pool = pool(2);
    for depth in 0..=6 {
        let tree = Tree {
            shape: Shape::GeometricFixed { depth },
            ..TREES[0]
        };
        let serially = uts::count(Serial, &Node::root(&tree));
        assert_eq!(serially.depth, depth);
        assert_eq!(pool.run(|w| uts::count(w, &Node::root(&tree))), serially);
    }
}

#[test]
fn a_wrong_answer_is_not_verified() {
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
        // The instance has not run, so that even "sorted" is a wrong answer of a sort.
        let instance = Job::parse(small(kernel.name)).expect("a job").prepare();
        for answer in answers {
            assert!(!instance.verify(&answer), "{}: {answer}", kernel.name);
        }
    }
}

#[test]
fn cholesky_factors_matrices_of_any_size() {
    let pools = [pool(2), pool(3)];
    for rows in ["1", "2", "4", "5", "31", "125", "125,7", "60,1,3", "250"] {
        let job = Job::parse(&format!("cholesky={rows}")).expect("a job");
        let blocks = serially(job);
        for pool in &pools {
            assert_eq!(on(pool, job), blocks, "{job}");
        }
    }
}

#[test]
fn ssf_finds_the_longest_copies() {
    check("ssf", &[("2", "0"), ("12,3", "19052")]);
}

#[test]
fn multisort_sorts_repeatedly() {
    check("multisort", &[("10000,3", "sorted")]);
}

#[test]
fn multisort_sorts_with_any_cut_off() {
    let inputs = [
        "1,1,4",
        "3,1,4",
        "4,1,4",
        "5,1,4",
        "1000,2,5",
        "1000,1,1000000",
    ];
    check("multisort", &inputs.map(|input| (input, "sorted")));
}

#[test]
fn producers_spawn_all_their_consumers() {
    check("spc", &[("0", "0"), ("1,0", "1"), ("10000,0", "10000")]);
    check(
        "spc-loop",
        &[("0", "0"), ("1,0", "1"), ("10000,1", "10000")],
    );
    let inputs = [
        ("1,0,0", "0"),
        ("3,9,0", "27"),
        ("2000,9,0", "18000"),
        ("1,5000,1", "5000"),
    ];
    check("bpc", &inputs);
    check("bpc-loop", &inputs);
}

#[test]
fn forks_fanout_and_flood_give_the_known_answers() {
    check("forks", &[("0,1", "2"), ("1,20", "40")]);
    check("fanout", &[("0,1,1,1", "1"), ("1,65,32,3", "65")]);
    check("flood", &[("1,0", "1"), ("20,1", "400")]);
}

#[test]
fn tree_futures_and_straggler_give_the_known_answers() {
    check("tree", &[("0,0", "0"), ("1", "1"), ("15,1", "610")]);
    check("futures", &[("0", "0"), ("1", "1"), ("20", "6765")]);
    check("straggler", &[("0,0", "1"), ("3,5", "6")]);
}

#[test]
fn loops_of_every_shape_run_all_iterations() {
    let shapes = ["random", "increasing", "decreasing"].map(|shape| (shape, "100000"));
    check("loops", &shapes);
    check(
        "loops",
        &[
            ("coarse", "2000"),
            ("coarse,10", "2000"),
            ("vector", "65536"),
        ],
    );
}

#[test]
fn jacobi_gives_the_same_mesh_serially_and_on_a_pool() {
    for input in ["3,1", "4,7", "100,10", "257,3"] {
        let job = Job::parse(&format!("jacobi={input}")).expect("a job");
        let serially = serially(job);
        assert_eq!(on(&pool(3), job), serially, "{job}");
    }
}

#[test]
fn fft_transforms_every_number_of_points() {
    let sizes: Vec<_> = (0..=15).map(|n| (n, (1 << n).to_string())).collect();
    let sizes: Vec<_> = sizes.iter().map(|(n, size)| (*n, size.as_str())).collect();
    check("fft", &sizes);
}

#[test]
fn lud_factors_matrices_of_any_size() {
    check("lud", &[(1, "16"), (2, "32"), (7, "112"), (16, "256")]);
}

#[test]
fn barnes_hut_agrees_with_direct_summation() {
    let inputs = [("1", "1"), ("2,3", "2"), ("100,5", "100"), ("5000", "5000")];
    check("barnes-hut", &inputs);
}

#[test]
fn the_recursive_forms_give_the_answers_of_the_loops() {
    for input in ["3,1", "100,10", "257,3"] {
        let [joins, loops] = ["jacobi-join", "jacobi"].map(|kernel| {
            let job = Job::parse(&format!("{kernel}={input}")).expect("a job");
            (on(&pool(3), job), serially(job))
        });
        assert_eq!(joins, loops, "{input}");
    }
    check("lud-join", &[("16", "16"), ("32", "32"), ("256", "256")]);
}

#[test]
fn leaves_may_be_as_small_as_a_point_or_a_body() {
    check("fft", &[("0,1", "1"), ("10,1", "1024"), ("14,1", "16384")]);
    check("barnes-hut", &[("2,1,0", "2"), ("5000,2,0", "5000")]);
}

#[test]
fn floorplan_finds_the_smallest_areas() {
    check(
        "floorplan",
        &[(1, "30"), (5, "216"), (10, "323"), (15, "713")],
    );
}

#[test]
fn sparselu_factors_matrices_of_any_size() {
    let inputs = [("1", "1"), ("2,1", "5"), ("7,5", "80"), ("12,16", "230")];
    check("sparselu", &inputs);
}

#[test]
fn strassen_takes_seven_products_for_each_level() {
    check("strassen", &[("128", "1"), ("256", "7"), ("512", "49")]);
}
