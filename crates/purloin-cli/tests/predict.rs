//! `purloin record` and `purloin predict`, as users and scripts rely on them.
#![allow(missing_docs)]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use common::{json, purloin, refusal, temporary};
use purloin::Worker;
use purloin_analysis::{Program, record};

#[test]
fn a_recording_predicts_more_cores() {
    let directory = temporary("predictions");
    let file = directory.join("nqueens.dag");
    let file = file.to_str().unwrap();
    let output = purloin(&["record", "nqueens=9", "--out", file]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("tasks"), "{text}");
    assert!(
        text.contains("Check on") || text.contains("Not checked"),
        "{text}"
    );
    let machine = directory.join("machine.toml");
    let reach = "steal = '1us'\nsample = '1us'\nmessage = '1us'";
    std::fs::write(
        &machine,
        format!("cores = 16\ntask = '0ns'\n[socket]\n{reach}"),
    )
    .unwrap();
    let machine = machine.to_str().unwrap();
    let predict = ["predict", file, "--cores", "1,2,16", "--json", "-"];
    let report = json(&purloin(&[&predict[..], &["--machine", machine]].concat()));
    let report_tasks = report["tasks"].as_f64().unwrap();
    let predictions = report["predictions"].as_array().unwrap();
    let of = |cell: usize, what: &str| predictions[cell][what].as_f64().unwrap();
    assert_eq!(report["task_seconds"], 0.0);
    assert!((of(0, "speed_up") - 1.0).abs() < 0.01, "{report}");
    assert!((1.8..=2.01).contains(&of(1, "speed_up")), "{report}");
    for cell in 0..3 {
        assert!(
            of(cell, "speed_up") <= 1.01 * of(cell, "most_speed_up"),
            "{report}"
        );
    }
    assert_eq!(predictions[0]["limit"], "cores");
    assert!(of(2, "steals") <= of(2, "attempts"), "{report}");
    assert_eq!(of(2, "attempts"), of(2, "steal_attempts"));
    let check = &report["check"];
    assert!(check["runs"].as_f64().unwrap() >= 5.0, "{check}");
    assert!(check["measured_seconds"].as_f64().unwrap() > 0.0, "{check}");
    assert_eq!(check["trusted"].is_null(), check["cores"] == 1, "{check}");
    assert!(report["warning"].is_null());
    // If the machine does not set the cost of a task, the recording does.
    let report = json(&purloin(&predict));
    let cost = report["task_seconds"].as_f64().unwrap();
    let seconds = &report["predictions"][0]["seconds"];
    let expected = of(0, "seconds") + cost * report_tasks;
    let error = seconds.as_f64().unwrap() / expected - 1.0;
    assert!(error.abs() < 1e-3, "{report}, not {expected}");
    let dag = format!("dag={file}");
    let report = json(&purloin(&[
        "sim",
        "--workload",
        &dag,
        "--cores",
        "2",
        "--trials",
        "1",
        "--json",
        "-",
    ]));
    assert_eq!(report["cells"][0]["tasks"], report_tasks);
    let picture = directory.join("nqueens.svg");
    let page = directory.join("nqueens.html");
    let (plot, html) = (picture.to_str().unwrap(), page.to_str().unwrap());
    let plot = ["predict", file, "--plot", plot, "--html", html];
    let text = String::from_utf8(purloin(&plot).stdout).unwrap();
    let svg = std::fs::read_to_string(picture).unwrap();
    assert!(svg.contains("nqueens=9") && svg.contains("in theory"));
    let page = std::fs::read_to_string(page).unwrap();
    for part in [
        "nqueens=9",
        "in theory",
        "measured",
        "times as fast as on one",
        "<span>Recorded on a machine with ",
    ] {
        assert!(page.contains(part), "no {part}");
    }
    assert!(
        text.contains("1024") && text.contains("limited by"),
        "{text}"
    );
}

#[test]
fn each_mistake_is_named_with_its_file_or_option() {
    let directory = temporary("no-predictions");
    let path = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    let (good, bad, cut) = (path("good.dag"), path("bad.dag"), path("cut.dag"));
    let machine = path("machine.toml");
    assert!(
        purloin(&["record", "fib=10", "--out", &good])
            .status
            .success()
    );
    let bytes = std::fs::read(&good).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() - 1]).unwrap();
    std::fs::write(&bad, "no recording at all").unwrap();
    std::fs::write(
        &machine,
        "cores = 0\n[socket]\nsteal = '1us'\nsample = '1us'\nmessage = '1us'",
    )
    .unwrap();
    for (args, part) in [
        (
            &["predict", "nowhere.dag"][..],
            "nowhere.dag: cannot be read",
        ),
        (&["predict", &bad], "bad.dag: not a recording"),
        (&["predict", &cut], "ends too early"),
        (&["predict", &good, "--cores", "0"], "from 1 to"),
        (
            &["predict", &good, "--machine", &machine],
            "machine.toml: nodes x sockets x cores is 0",
        ),
        (&["predict", &good, "--policy", "x"], "no such policy"),
        (&["predict", &good, "--policy", "near,half"], "one policy"),
        (&["record", "stres", "--out", &good], "stres"),
        (
            &["record", "stress=5", "--out", "/nowhere/a.dag"],
            "cannot write /nowhere/a.dag",
        ),
    ] {
        let text = refusal(args);
        assert!(text.contains(part), "{args:?}: {text}");
    }
}

/// A program in which one task creates a future and another task gets it.
struct PassedOn;

impl Program for PassedOn {
    fn run<W: Worker>(&mut self, mut w: W) {
        let future = w.future(|_| ());
        w.join(move |mut w| w.get(future), |_| ());
    }
}

#[test]
fn futures_passed_to_other_tasks_need_the_policy_spare() {
    let file = temporary("futures").join("futures.dag");
    // The name has a control character, which would disturb a terminal and a picture.
    let recording = record("passed\x1b on", &mut PassedOn).unwrap();
    recording
        .write(std::fs::File::create(&file).unwrap())
        .unwrap();
    let file = file.to_str().unwrap();
    let report = json(&purloin(&["predict", file, "--cores", "2", "--json", "-"]));
    assert_eq!(report["program"], "passed\u{fffd} on");
    let dag = format!("dag={file}");
    for args in [
        &["predict", file, "--policy", "near+leapfrog"][..],
        &["sim", "--workload", &dag, "--policy", "spare,near"],
    ] {
        let text = refusal(args);
        assert!(text.contains("use near+spare"), "{text}");
    }
}

/// Tasks that take four times as long while another one runs, as if they competed for a cache line.
#[derive(Default)]
struct Competing(AtomicUsize);

impl Program for Competing {
    fn run<W: Worker>(&mut self, mut w: W) {
        let running = &self.0;
        w.finish(|scope| {
            for _ in 0..32 {
                scope.spawn(move |_| {
                    running.fetch_add(1, SeqCst);
                    for _ in 0..20 {
                        let others = running.load(SeqCst) - 1;
                        let time = Duration::from_micros(if others > 0 { 40 } else { 10 });
                        let start = Instant::now();
                        while start.elapsed() < time {}
                    }
                    running.fetch_sub(1, SeqCst);
                });
            }
        });
    }
}

#[test]
fn a_program_whose_tasks_slow_each_other_down_is_not_trusted() {
    if std::thread::available_parallelism().unwrap().get() == 1 {
        return;
    }
    let file = temporary("competing").join("competing.dag");
    let recording = record("competing", &mut Competing::default()).unwrap();
    recording
        .write(std::fs::File::create(&file).unwrap())
        .unwrap();
    let file = file.to_str().unwrap();
    let report = json(&purloin(&["predict", file, "--cores", "2", "--json", "-"]));
    let check = &report["check"];
    assert_eq!(check["trusted"], false, "{check}");
    // On a busy machine, the workers also wait for a processor.
    let cause = check["cause"].as_str().unwrap();
    assert!(["memory", "waiting"].contains(&cause), "{check}");
    let text = String::from_utf8(purloin(&["predict", file, "--cores", "2"]).stdout).unwrap();
    assert!(text.contains("Do not trust"), "{text}");
}

/// A program whose tasks do not go through its token.
struct Serial;

impl Program for Serial {
    fn run<W: Worker>(&mut self, _: W) {
        std::thread::scope(|scope| {
            scope.spawn(|| purloin::join(|| (), || ()));
        });
    }
}

#[test]
fn a_recording_without_tasks_has_a_warning() {
    let file = temporary("no-tasks").join("serial.dag");
    let recording = record("serial", &mut Serial).unwrap();
    recording
        .write(std::fs::File::create(&file).unwrap())
        .unwrap();
    let file = file.to_str().unwrap();
    let report = json(&purloin(&["predict", file, "--cores", "2", "--json", "-"]));
    assert!(report["warning"].as_str().unwrap().contains("w.join"));
    let text = String::from_utf8(purloin(&["predict", file, "--cores", "2"]).stdout).unwrap();
    assert!(text.contains("Warning: no task was counted"), "{text}");
}
