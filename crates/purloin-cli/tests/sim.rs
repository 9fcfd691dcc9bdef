//! `purloin sim`, as its users and their scripts rely on it.
#![allow(missing_docs)]

mod common;

use common::{json, purloin, refusal};

#[test]
fn a_simulation_is_as_wools_figure_4_says() {
    let report = json(&purloin(&[
        "sim",
        "--workload",
        "tree",
        "--nodes",
        "64,1024",
        "--policy",
        "random,sampling:2",
        "--trials",
        "20",
        "--json",
        "-",
    ]));
    let cells = report["cells"].as_array().unwrap();
    let names: Vec<_> = cells
        .iter()
        .map(|cell| {
            (
                cell["nodes"].as_u64().unwrap(),
                cell["policy"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        (64, "random"),
        (64, "sampling:2"),
        (1024, "random"),
        (1024, "sampling:2"),
    ];
    assert_eq!(names, expected);
    // Sampling does not pay with few cores; with many it removes a third of the attempts.
    let ratio = |cell: usize, what: &str| {
        let of = |cell: usize| cells[cell][what].as_f64().unwrap();
        of(cell) / of(cell - 1)
    };
    assert!(ratio(1, "time") >= 1.0);
    assert!((0.6..=0.75).contains(&ratio(3, "steals")), "{report}");
    let relative = cells[3]["relative_steals"].as_f64().unwrap();
    assert!((relative - ratio(3, "steals")).abs() < 1e-9);
    assert!(cells[3]["relative_steals_margin"].as_f64().unwrap() < 0.05);
}

#[test]
fn a_simulation_with_the_same_seed_is_the_same() {
    let args = [
        "sim",
        "--nodes",
        "32",
        "--policy",
        "forward+half+spare",
        "--json",
        "-",
    ];
    let first = purloin(&args);
    assert_eq!(json(&first), json(&purloin(&args)));
    let other = [&args[..], &["--seed", "99"]].concat();
    assert_ne!(json(&first), json(&purloin(&other)));
}

#[test]
fn mistakes_in_a_simulation_are_named() {
    for (args, part) in [
        (["--nodes", "0"], "from 1 to"),
        (["--nodes", "64,x"], "from 1 to"),
        (["--policy", "randm"], "sampling:K"),
        (["--policy", "leapfrog+half"], "one task"),
        (["--workload", "bush"], "tree=DEPTH"),
        (["--workload", "uts=T9"], "T3L"),
        (["--workload", "tree=31"], "from 0 to 30"),
        (["--trials", "0"], "1..=10000"),
        (["--preset", "wool"], "wool-figure-4"),
    ] {
        let text = refusal(&[&["sim"][..], &args].concat());
        assert!(text.contains(part), "{args:?}: {text}");
    }
    let text = refusal(&["sim", "--preset", "wool-figure-4", "--nodes", "8"]);
    assert!(text.contains("cannot be used with"), "{text}");
}
