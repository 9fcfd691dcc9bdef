//! The command line, as users and scripts rely on it.
#![allow(missing_docs)]

mod common;

use std::fs;
use std::path::Path;

use common::{json, purloin, refusal, temporary};
use serde_json::Value;

#[test]
fn list_names_every_kernel_and_scheduler() {
    let output = purloin(&["list"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for name in ["fib", "stress", "nqueens", "uts", "multisort", "skynet"] {
        assert!(text.contains(name), "{name}");
    }
    for name in [
        "return-barrier",
        "api=",
        "direct-stack",
        "victims=",
        "channel",
        "steal=",
        "chase-lev",
        "serial",
        "rayon",
        "chili",
        "forkjoin",
        "openmp",
        "openmp-llvm",
        "tbb",
        "go",
    ] {
        assert!(text.contains(name), "{name}");
    }
}

#[test]
fn the_list_in_the_documentation_is_that_of_the_command() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
    let file = Path::new(folder).join("kernels-and-schedulers.txt");
    let output = purloin(&["list"]);
    assert!(
        fs::read(file).unwrap() == output.stdout,
        "run: purloin list > docs/kernels-and-schedulers.txt"
    );
}

#[test]
fn list_tells_the_times_by_which_the_library_decides() {
    let output = purloin(&["list", "--tunables"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let spin = text.lines().find(|line| line.contains(" SPIN_TIME "));
    assert!(
        spin.unwrap().contains("80µs  Time that a worker spins"),
        "{text}"
    );
    assert!(text.contains("PURLOIN_TUNABLES="), "{text}");
}

#[test]
fn bench_reports_every_cell_as_json() {
    let report = json(&purloin(&[
        "bench",
        "--kernel",
        "fib=20",
        "--kernel",
        "skynet=3",
        "--kernel",
        "nqueens=6",
        "--kernel",
        "multisort=5000",
        "--kernel",
        "futures=12",
        "--kernel",
        "spc=200,0",
        "--kernel",
        "spc-loop=200,0",
        "--scheduler",
        "serial",
        "--scheduler",
        "return-barrier",
        "--scheduler",
        "return-barrier:api=free",
        "--scheduler",
        "return-barrier:forced=off,barrier=off",
        "--scheduler",
        "default-ws",
        "--scheduler",
        "return-barrier-ws",
        "--scheduler",
        "return-barrier:victims=sampling,samples=3",
        "--scheduler",
        "direct-stack:victims=sampling+sets,set-size=2,thieves=1,samples=2",
        "--scheduler",
        "direct-stack:fields=two,steal-delay=1us",
        "--scheduler",
        "channel",
        "--scheduler",
        "channel:steal=half",
        "--scheduler",
        "chase-lev:split=lazy-binary",
        "--scheduler",
        "rayon",
        "--scheduler",
        "chili",
        "--workers",
        "1,3",
        "--runs",
        "2",
        "--json",
        "-",
    ]));
    assert!(report["machine"]["cores"].as_u64().unwrap() >= 1);
    let cells = report["cells"].as_array().unwrap();
    // 1 cell for serial, which always has one worker, and 2 for each of the other 13 schedulers.
    assert_eq!(cells.len(), 7 * (1 + 13 * 2));
    for cell in cells {
        assert_eq!(cell["verified"], true, "{cell}");
        assert_eq!(cell["seconds"].as_array().unwrap().len(), 2);
        assert!(cell["median_seconds"].as_f64().unwrap() > 0.0);
        assert!(cell["vs_serial"].as_f64().unwrap() > 0.0);
        if cell["scheduler"]
            .as_str()
            .unwrap()
            .starts_with("return-barrier")
        {
            for counter in ["steals", "steal_attempts", "free_steals"] {
                assert!(cell["stats"][counter].is_u64(), "{cell}");
            }
        }
    }
    let fib = &cells[0];
    assert_eq!(fib["kernel"], "fib");
    assert_eq!(fib["input"], "20");
    assert_eq!(fib["answer"], "6765");
    assert_eq!(fib["stats"]["tasks"], 10945);
}

#[test]
fn json_replaces_a_file_as_a_whole_and_the_table_goes_to_the_terminal() {
    let directory = temporary("report");
    let file = directory.join("report.json");
    std::fs::write(&file, "the old report").unwrap();
    let output = purloin(&[
        "bench",
        "--kernel",
        "fib=15",
        "--scheduler",
        "return-barrier",
        "--workers",
        "2",
        "--json",
        file.to_str().unwrap(),
    ]);
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("× serial") && table.contains('✓'), "{table}");
    let report: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    // The serial elision is measured as the baseline, but not reported unless the user asks for it.
    assert_eq!(report["cells"].as_array().unwrap().len(), 1);
    assert_eq!(
        std::fs::read_dir(&directory).unwrap().count(),
        1,
        "no partial file is left"
    );
}

#[test]
#[cfg(unix)]
fn json_follows_a_link_and_can_go_to_a_pipe() {
    let directory = temporary("links");
    let (file, link) = (directory.join("file.json"), directory.join("link.json"));
    let _ = std::fs::remove_file(&link);
    std::fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let bench = |to: &str| {
        purloin(&[
            "bench",
            "--kernel",
            "fib=5",
            "--workers",
            "1",
            "--runs",
            "1",
            "--json",
            to,
        ])
    };
    assert!(bench(link.to_str().unwrap()).status.success());
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(std::fs::read_to_string(&file).unwrap().contains("cells"));
    // /dev/stdout is a pipe in this test. It must not be replaced by a file.
    let output = bench("/dev/stdout");
    assert!(output.status.success());
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("\"cells\"")
    );
}

#[test]
fn each_mistake_is_named_in_one_line_with_what_is_possible() {
    let text = refusal(&["bench", "--kernel", "fob"]);
    assert!(
        text.contains("\"fob\"") && text.contains("fib, stress"),
        "{text}"
    );
    let text = refusal(&["bench", "--kernel", "fib=61"]);
    assert!(
        text.contains("from 0 to 60") && text.contains("61"),
        "{text}"
    );
    let text = refusal(&["bench", "--kernel", "fib=20,uts=T1"]);
    assert!(text.contains("give each kernel its own --kernel"), "{text}");
    let text = refusal(&["bench", "--kernel", "uts=T9"]);
    assert!(text.contains("T1, T2, T3 or T3L"), "{text}");
    let text = refusal(&["bench", "--scheduler", "cilk"]);
    assert!(
        text.contains("\"cilk\"") && text.contains("return-barrier"),
        "{text}"
    );
    let text = refusal(&["bench", "--scheduler", "return-barrier:api=none"]);
    assert!(
        text.contains("\"none\"") && text.contains("token or free"),
        "{text}"
    );
    let text = refusal(&["bench", "--scheduler", "channel:steal=two"]);
    assert!(text.contains("one, half or adaptive"), "{text}");
    let text = refusal(&[
        "bench",
        "--scheduler",
        "direct-stack:thieves=0,victims=sets",
    ]);
    assert!(
        text.contains("thieves must be a number from 1 to 4096"),
        "{text}"
    );
    let text = refusal(&["bench", "--scheduler", "direct-stack:steal-delay=4000"]);
    assert!(
        text.contains("steal-delay") && text.contains("4000ns"),
        "{text}"
    );
    let text = refusal(&["bench", "--scheduler", "rayon:api=free"]);
    assert!(
        text.contains("rayon has no option") && text.contains("takes no options"),
        "{text}"
    );
    let text = refusal(&["bench", "--workers", "0"]);
    assert!(text.contains("from 1 to 4096"), "{text}");
    let text = refusal(&["bench", "--workers", "many"]);
    assert!(text.contains("'many'"), "{text}");
    let text = refusal(&["bench", "--runs", "0"]);
    assert!(text.contains("--runs"), "{text}");
    let text = refusal(&["bench", "--json", "/no/such/directory/file"]);
    assert!(text.contains("/no/such/directory/file"), "{text}");
    let text = refusal(&["bench", "--jason", "-"]);
    assert!(
        text.contains("bench has no option '--jason'") && text.contains("--json"),
        "{text}"
    );
    let text = refusal(&["list", "--all"]);
    assert!(
        text.contains("list has no option '--all'") && text.contains("--tunables"),
        "{text}"
    );
    let text = refusal(&["bench", "--stats", "ful"]);
    assert!(
        text.contains("'ful'") && text.contains("basic, full"),
        "{text}"
    );
    let text = refusal(&["bench", "--scheduler", "direct-stack:samples=2"]);
    assert!(text.contains("samples needs victims=sampling"), "{text}");
    let text = refusal(&["bunch"]);
    assert!(
        text.contains("'bunch'") && text.contains("bench, compare, profile"),
        "{text}"
    );
}

#[test]
fn the_help_of_every_command_has_examples_and_an_explanation() {
    for (command, part) in [
        (&[][..], "Exit status"),
        (&["bench"], "See `purloin list`"),
        (&["compare"], "which differences are more than noise"),
        (&["profile"], "a clock reading at each task"),
        (&["record"], "purloin_analysis::record"),
        (&["predict"], "why it is not faster"),
        (&["sim"], "victims   random, near"),
        (&["list"], "the schedulers with their options"),
    ] {
        let output = purloin(&[command, &["--help"]].concat());
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("Examples:"), "{text}");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let part = part.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&part), "{text}");
    }
}

/// Runs the commands of the README unchanged. Only in release builds, because the inputs are too
/// large for debug builds.
#[test]
#[cfg(not(debug_assertions))]
fn the_commands_in_the_readme_succeed() {
    let readme = include_str!("../../../README.md");
    let directory = temporary("readme");
    let mut commands = 0;
    for line in readme.lines() {
        let line = line.split(" #").next().unwrap();
        let Some(words) = line.trim().strip_prefix("./x purloin ") else {
            continue;
        };
        let mut args: Vec<_> = words.split_whitespace().collect();
        if args[0] == "bench" {
            match args.iter().position(|arg| *arg == "--runs") {
                Some(place) => args[place + 1] = "1",
                None => args.extend(["--runs", "1"]),
            }
        }
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_purloin"))
            .args(&args)
            .current_dir(&directory)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{line}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        commands += 1;
    }
    assert!(commands >= 3);
}

#[test]
fn full_statistics_report_what_steals_cost() {
    let report = json(&purloin(&[
        "bench",
        "--kernel",
        "fib=22",
        "--scheduler",
        "serial",
        "--scheduler",
        "default-ws",
        "--scheduler",
        "channel",
        "--workers",
        "2",
        "--runs",
        "1",
        "--stats",
        "full",
        "--json",
        "-",
    ]));
    let cells = report["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 3);
    for cell in cells.iter().filter(|cell| cell["scheduler"] != "serial") {
        for part in ["dynamic_overhead", "barrier_cost", "waking_cost"] {
            let part = cell["stats"][part].as_f64().unwrap();
            assert!((0.0..=1.0).contains(&part), "{cell}");
        }
        let steals = cell["stats"]["steals"].as_u64().unwrap();
        for part in ["free_steal_share", "loss_per_steal"] {
            // A run without steals has none of these.
            let part = &cell["stats"][part];
            assert_eq!(part.is_null(), steals == 0, "{cell}");
            assert!(
                (0.0..=1.0).contains(&part.as_f64().unwrap_or(0.0)),
                "{cell}"
            );
        }
        assert!(cell["stats"]["steal_ratio"].as_f64().is_some());
        assert!(cell["stats"]["steal_rate"].as_f64().is_some());
    }
    assert!(cells[0]["stats"]["dynamic_overhead"].is_null());
}

#[test]
fn an_unknown_paper_is_named_with_the_papers_there_are() {
    let message = refusal(&["paper", "nonsense"]);
    assert!(
        message.contains("wool, channel, asynchws, barriers"),
        "{message}"
    );
}

#[test]
fn the_reports_in_the_documentation_are_those_of_their_data() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/papers");
    let folder = temporary("papers");
    let out = folder.to_str().unwrap();
    for paper in ["wool", "channel", "asynchws", "barriers"] {
        let data = docs.join(format!("{paper}.json"));
        let from = data.to_str().unwrap();
        let output = purloin(&["paper", paper, "--from", from, "--out", out]);
        assert!(output.status.success(), "{output:?}");
        let read = |folder: &Path| fs::read_to_string(folder.join(format!("{paper}.md"))).unwrap();
        assert!(
            read(&docs) == read(&folder),
            "./x purloin paper {paper} --from docs/papers/{paper}.json --out docs/papers"
        );
    }
    let channel = docs.join("channel.json");
    let channel = channel.to_str().unwrap();
    let message = refusal(&["paper", "wool", "--from", channel, "--out", out]);
    assert!(message.contains("it is from another paper"), "{message}");
    let again = [
        "paper", "channel", "--from", channel, "--out", out, "--again", "SPC",
    ];
    let message = refusal(&again);
    assert!(
        message.contains("no part \"SPC\"; the parts are task barrier; "),
        "{message}"
    );
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_file_of_finished_parts_that_cannot_be_read_stops_a_paper_before_its_first_part() {
    let folder = temporary("paper");
    let file = folder.join("barriers.quick.unfinished.json");
    std::fs::create_dir_all(&file).unwrap();
    let folder = folder.to_str().unwrap();
    let message = refusal(&["paper", "barriers", "--quick", "--out", folder]);
    assert!(
        message.contains("barriers.quick.unfinished.json") && message.contains("--out"),
        "{message}"
    );
}
