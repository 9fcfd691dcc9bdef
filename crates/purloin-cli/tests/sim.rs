//! `purloin sim`, as users and scripts rely on it.
#![allow(missing_docs)]

mod common;

use common::{json, purloin, refusal, temporary};

#[test]
fn sampling_saves_attempts_on_many_cores_as_in_wools_figure_4() {
    let report = json(&purloin(&[
        "sim",
        "--workload",
        "tree",
        "--cores",
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
                cell["cores"].as_u64().unwrap(),
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
    // Sampling does not pay on 64 cores; on 1024 it saves a third of the attempts.
    let ratio = |cell: usize, what: &str| {
        let of = |cell: usize| cells[cell][what].as_f64().unwrap();
        of(cell) / of(cell - 1)
    };
    assert!(ratio(1, "time") >= 1.0);
    assert!((0.6..=0.75).contains(&ratio(3, "attempts")), "{report}");
    let relative = cells[3]["relative_attempts"].as_f64().unwrap();
    assert!((relative - ratio(3, "attempts")).abs() < 1e-9);
    assert!(cells[3]["relative_attempts_margin"].as_f64().unwrap() < 0.06);
}

#[test]
fn equal_seeds_give_equal_results() {
    let args = [
        "sim",
        "--cores",
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
fn a_machine_file_determines_the_number_of_cores() {
    let directory = temporary("machines");
    let path = directory.join("cluster.toml");
    std::fs::write(
        &path,
        "nodes = 4\ncores = 8\n\
         [socket]\nsteal = '1us'\nsample = '100ns'\nmessage = '100ns'\n\
         [network]\nsteal = '10us'\nsample = '2us'\nmessage = '2us'",
    )
    .unwrap();
    let machine = path.to_str().unwrap();
    let args = |policy| {
        [
            "sim",
            "--machine",
            machine,
            "--policy",
            policy,
            "--workload",
            "tree=+6,20us",
            "--json",
            "-",
        ]
    };
    let report = json(&purloin(&args("random,near")));
    let cells = report["cells"].as_array().unwrap();
    assert_eq!(report["workload"], "tree=+6,20us");
    assert!(
        cells
            .iter()
            .all(|cell| cell["cores"] == 32 && cell["tasks"] == 2047.0)
    );
    // Attempts at near victims take less time, so there are more of them.
    assert!(
        cells[1]["relative_attempts"].as_f64().unwrap() > 1.5,
        "{report}"
    );
}

#[test]
fn a_sweep_is_shown_as_a_page() {
    let file = temporary("pictures").join("sweep.html");
    let page = |args: &[&str]| {
        let html = ["--html", file.to_str().unwrap()];
        assert!(
            purloin(&[&["sim"][..], args, &html].concat())
                .status
                .success()
        );
        std::fs::read_to_string(&file).unwrap()
    };
    let several = page(&["--cores", "4,16", "--policy", "random,half"]);
    assert!(several.contains("time relative to random") && several.contains("On 16 cores, "));
    let one = page(&["--cores", "4", "--policy", "random"]);
    assert!(one.contains("time in µs") && one.contains("with the policy random"));
    assert!(
        several.contains("with 95 % confidence intervals") && !several.contains("class=\"origin\"")
    );
    let single = page(&[
        "--cores",
        "4,16",
        "--policy",
        "random,half",
        "--trials",
        "1",
    ]);
    assert!(
        single.contains("One trial has no confidence interval") && !single.contains(", with 95 %")
    );
}

#[test]
fn a_sweep_is_drawn_as_svg() {
    let file = temporary("pictures").join("sweep.svg");
    let picture = |args: &[&str]| {
        let plot = ["--trials", "3", "--plot", file.to_str().unwrap()];
        let output = purloin(&[&["sim"][..], args, &plot].concat());
        assert!(output.status.success() && !output.stdout.is_empty());
        std::fs::read_to_string(&file).unwrap()
    };
    let svg = picture(&["--cores", "4,16,64", "--policy", "random,sampling:2,half"]);
    for part in [
        "<svg",
        "relative to random",
        "sampling:2",
        "half",
        "64",
        "</svg>",
    ] {
        assert!(svg.contains(part), "no {part}");
    }
    // Two panels with three lines each.
    assert!(svg.matches("<polyline").count() >= 6);
    let svg = picture(&["--cores", "4", "--policy", "random"]);
    assert!(svg.contains("time in µs") && !svg.contains("relative"));
    // On one core there are no attempts, and a logarithmic axis has no place for 0. 48 is labelled
    // although it is not a power of two.
    let svg = picture(&["--cores", "48,1", "--policy", "random,random"]);
    // Three points, each with a mark and an error bar, and one mark in the legend.
    assert_eq!(svg.matches("<circle").count(), 2 * (2 + 1) + 1, "{svg}");
    assert!(svg.contains("48"), "{svg}");
}

#[test]
fn each_mistake_is_named_with_what_is_possible() {
    for (args, part) in [
        (["--cores", "0"], "from 1 to"),
        (["--nodes", "64,x"], "from 1 to"),
        (["--policy", "randm"], "sampling:K"),
        (["--policy", "leapfrog+half"], "one task"),
        (["--workload", "bush"], "tree=DEPTH"),
        (["--workload", "uts=T9"], "T3L"),
        (["--workload", "tree=31"], "from 0 to 30"),
        (["--workload", "tree=+7"], "from 0 to 6"),
        (["--workload", "tree=8,-1us"], "negative"),
        (["--workload", "tree=14,3600s"], "days of work"),
        (["--workload", "dag="], "dag=FILE"),
        (["--workload", "dag=nowhere.dag"], "nowhere.dag"),
        (["--machine", "nowhere.toml"], "nowhere.toml"),
        (["--plot", "/nowhere/a.svg"], "cannot write /nowhere/a.svg"),
        (["--trials", "0"], "trials must be a number from 1 to 10000"),
        (["--trials", "-1"], "'-1' for '--trials"),
        (["--workload", "tree=5,0us"], "more than no time"),
        (
            ["--policy", "spare+leapfrog"],
            "spare or leapfrog, not both",
        ),
        (["--plot", "a.png"], "a file name that ends with .svg"),
        (["--preset", "wool"], "wool-figure-4"),
    ] {
        let text = refusal(&[&["sim"][..], &args].concat());
        assert!(text.contains(part), "{args:?}: {text}");
    }
    let text = refusal(&["sim", "--plot", "-", "--json", "-"]);
    assert!(text.contains("both go to -"), "{text}");
    let text = refusal(&["sim", "--preset", "wool-figure-4", "--workload", "tree=3"]);
    assert!(text.contains("cannot be used with"), "{text}");
    let machine = temporary("mistakes").join("small.toml");
    std::fs::write(
        &machine,
        "cores = 2\ntask = '1h'\n[socket]\nsteal = '1us'\nsample = '1us'\nmessage = '1us'",
    )
    .unwrap();
    let sim = |arguments: &[&str]| {
        refusal(&[&["sim", "--machine", machine.to_str().unwrap()], arguments].concat())
    };
    let text = sim(&[]);
    assert!(
        text.contains("task: \"1h\" is not a time: it needs a unit"),
        "{text}"
    );
    let written = std::fs::read_to_string(&machine).unwrap();
    std::fs::write(&machine, written.replace("1h", "3600 s")).unwrap();
    let text = sim(&["--cores", "3"]);
    assert!(text.contains("add a table [network]"), "{text}");
    let text = sim(&["--workload", "tree=20", "--trials", "1"]);
    assert!(text.contains("maximum of seven months"), "{text}");
}

#[test]
fn options_select_a_part_of_a_preset() {
    let args = ["sim", "--preset", "wool-figure-4", "--cores", "16"];
    let trials = ["--trials", "1", "--json", "-"];
    let report = json(&purloin(&[&args[..], &trials].concat()));
    assert_eq!(report["cells"].as_array().unwrap().len(), 7);
    assert_eq!(report["machine"], "the machine of Wool's model");
    let policy = ["--policy", "random,spare"];
    let report = json(&purloin(&[&args[..], &policy, &trials].concat()));
    assert_eq!(report["cells"][1]["policy"], "spare");
}

#[test]
fn former_names_of_options_and_fields_still_work() {
    let trials = ["--trials", "2", "--json", "-"];
    let sim = |cores| json(&purloin(&[&["sim", cores, "8,16"], &trials[..]].concat()));
    let report = sim("--nodes");
    assert_eq!(report, sim("--cores"));
    for cell in report["cells"].as_array().unwrap() {
        for (former, name) in [
            ("nodes", "cores"),
            ("steals", "attempts"),
            ("steals_margin", "attempts_margin"),
            ("relative_steals", "relative_attempts"),
            ("relative_steals_margin", "relative_attempts_margin"),
        ] {
            assert_eq!(cell[former], cell[name], "{cell}");
            assert!(!cell[name].is_null(), "{cell}");
        }
        let number = |name: &str| cell[name].as_f64().unwrap();
        assert!(number("successful_steals") < number("attempts"), "{cell}");
    }
    let help = purloin(&["sim", "--help"]).stdout;
    assert!(!String::from_utf8(help).unwrap().contains("--nodes"));
}
