//! Tests of runs that are interrupted, and of parts that are measured again.

use super::*;

impl Results {
    /// Returns results of a run with `--quick` that have these data for each part.
    pub fn of_parts(parts: &[Part], data: impl Fn(&str) -> Value) -> Results {
        let mut results = Results::new(Path::new("results.json"), true, String::new());
        for part in parts {
            let data = data(&part.name);
            (part.check)(&data).unwrap();
            let finished = Finished {
                data,
                missing_tools: Vec::new(),
                build: None,
                machine: None,
                earlier: None,
            };
            results.parts.insert(part.name.clone(), finished);
        }
        results
    }
}

/// The file of a run without `--quick`, in a folder of its own that goes with it.
struct TestFile(PathBuf);

impl std::ops::Deref for TestFile {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.0.parent().unwrap());
    }
}

fn new_file(test: &str) -> TestFile {
    let name = format!("purloin-paper-{}-{test}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(&folder).unwrap();
    TestFile(file(&folder, "wool", false))
}

fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path.parent().unwrap()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

fn part() -> Part {
    Part::new("a part", |_| Ok([1.0, 2.0]))
}

fn resume(path: &Path) -> Results {
    Results::resume_as(path, false, "this build".to_string()).unwrap()
}

fn add(results: &mut Results, part: &Part, data: &str) {
    let data = Outcome::Done(serde_json::from_str(data).unwrap());
    results.add(part, data, &[]).unwrap();
}

#[test]
fn finished_parts_are_taken_over() {
    let path = new_file("taken-over");
    add(&mut resume(&path), &part(), "[3, 4]");
    let results = resume(&path);
    assert_eq!(results.state(&part()), State::Finished);
    assert_eq!(results.of::<[f64; 2]>("a part").unwrap(), [3.0, 4.0]);
    assert_eq!(names(&path), ["wool.unfinished.json"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_second_run_does_not_write_the_file_of_a_first() {
    let path = new_file("second-run");
    let results = resume(&path);
    let other = std::process::id() + 1;
    let error = results.check_unused(&path, other).unwrap_err();
    assert!(format!("{error:?}").contains("choose another --out"));
    assert!(results.check_unused(&path, std::process::id()).is_ok());
    results.finish(&path).unwrap();
    assert!(Results::read(&path).unwrap().process.is_none());
}

#[test]
fn the_parts_of_another_build_are_kept_under_another_name() {
    let path = new_file("other-build");
    for build in ["one", "two", "three"] {
        let mut results = Results::resume_as(&path, false, build.to_string()).unwrap();
        assert_eq!(results.state(&part()), State::Unfinished);
        add(&mut results, &part(), "[3, 4]");
    }
    assert_eq!(
        names(&path),
        [
            "wool.unfinished.json",
            "wool.unfinished.json.old",
            "wool.unfinished.json.old2"
        ]
    );
}

#[test]
fn runs_with_and_without_quick_keep_their_parts_side_by_side() {
    let path = new_file("modes");
    let quick = file(path.parent().unwrap(), "wool", true);
    add(&mut resume(&path), &part(), "[3, 4]");
    Results::resume_as(&quick, true, "this build".to_string()).unwrap();
    assert_eq!(resume(&path).state(&part()), State::Finished);
    assert_eq!(
        names(&path),
        ["wool.quick.unfinished.json", "wool.unfinished.json"]
    );
}

#[test]
fn a_corrupt_file_is_kept_under_another_name() {
    let path = new_file("corrupt");
    fs::write(&*path, b"{\"parts\": \xff").unwrap();
    assert_eq!(resume(&path).state(&part()), State::Unfinished);
    let old = fs::read(path.with_extension("json.old")).unwrap();
    assert_eq!(old, b"{\"parts\": \xff");
}

#[test]
fn a_folder_that_cannot_be_written_is_noticed_before_the_first_part() {
    let path = new_file("unwritable").join("missing/wool.unfinished.json");
    let result = Results::resume_as(&path, false, String::new());
    assert!(matches!(result, Err(Failure::Usage(_))));
}

#[test]
fn data_of_another_type_or_length_are_measured_again() {
    let path = new_file("other-data");
    for data in ["\"text\"", "[3]", "[3, 4, 5]"] {
        let mut results = resume(&path);
        add(&mut results, &part(), data);
        assert!(matches!(results.state(&part()), State::Outdated(_)));
        let Err(Failure::Run(text)) = results.of::<[f64; 2]>("a part") else {
            panic!("{data} is not an array of two numbers");
        };
        assert!(text.contains("a part") && text.contains("wool.unfinished.json"));
    }
}

#[test]
fn a_part_that_could_not_be_measured_is_not_stored() {
    let path = new_file("missing");
    let mut results = resume(&path);
    let reason = Outcome::Missing("no MPI".into());
    results.add(&part(), reason, &[]).unwrap();
    assert_eq!(results.of::<String>("a part").unwrap(), "no MPI");
    assert_eq!(resume(&path).state(&part()), State::Unfinished);
}

#[test]
fn a_part_is_measured_again_once_its_tool_is_installed() {
    let path = new_file("tool");
    let tool = Tool("no-such-compiler");
    let part = part().using(tool);
    add(&mut resume(&path), &part, "[3, 4]");
    let results = resume(&path);
    assert_eq!(results.state_with(&part, |_| false), State::Finished);
    assert!(matches!(
        results.state_with(&part, |_| true),
        State::Outdated(_)
    ));
}

#[test]
fn a_part_is_measured_again_with_another_build_of_its_executable() {
    let path = new_file("executable");
    let executable = path.with_file_name("purloin-cluster");
    let part = part().by(Some(executable.clone()));
    fs::write(&executable, "one build").unwrap();
    add(&mut resume(&path), &part, "[3, 4]");
    assert_eq!(resume(&path).state(&part), State::Finished);
    fs::write(&executable, "another build").unwrap();
    assert!(matches!(resume(&path).state(&part), State::Outdated(_)));
}

#[test]
fn a_part_is_measured_again_after_the_part_whose_data_it_uses() {
    let path = new_file("source");
    let later = || Part::after("a part", "a later part", |_, data: [f64; 2]| Ok(data));
    let mut results = resume(&path);
    add(&mut results, &part(), "[3, 4]");
    add(&mut results, &later(), "[3, 4]");
    assert_eq!(resume(&path).state(&later()), State::Finished);
    let data = Outcome::Done(serde_json::json!([5, 6]));
    results.add(&part(), data, &[part(), later()]).unwrap();
    let results = resume(&path);
    assert_eq!(results.state(&part()), State::Finished);
    assert_eq!(results.state(&later()), State::Unfinished);
}

#[test]
fn one_part_of_a_finished_run_is_measured_again() {
    let path = new_file("again");
    let other = || Part::new("another part", |_| Ok([1.0]));
    let parts = [part(), other()];
    let mut results = Results::resume(&path, false).unwrap();
    add(&mut results, &part(), "[3, 4]");
    add(&mut results, &other(), "[5]");
    let finished = path.with_file_name("wool.json");
    results.finish(&finished).unwrap();

    let unknown = Results::read(&finished).unwrap();
    let Err(Failure::Usage(text)) = unknown.without(&["c".to_string()], &parts, &path) else {
        panic!("there is no part c");
    };
    assert!(text.contains("a part; another part"), "{text}");
    let again = ["a part".to_string()];
    let mut results = Results::read(&finished).unwrap();
    results.build = "an earlier build".to_string();
    let mut results = results.without(&again, &parts, &path).unwrap();
    assert_eq!(results.state(&part()), State::Unfinished);
    assert_eq!(results.state(&other()), State::Finished);
    add(&mut results, &part(), "[6, 7]");
    // The interrupted run goes on from there.
    let results = Results::resume(&path, false).unwrap();
    assert_eq!(results.state(&part()), State::Finished);
    assert_eq!(results.of::<[f64; 1]>("another part").unwrap(), [5.0]);
    assert_eq!(results.measured_again().len(), 1);
    let earlier = Results::read(&finished).unwrap();
    assert!(earlier.measured_again().is_empty());
    let Err(Failure::Usage(text)) = earlier.without(&again, &parts, &path) else {
        panic!("a run is unfinished");
    };
    assert!(text.contains("move it away"), "{text}");
    let mut foreign = Results::read(&finished).unwrap();
    foreign.machine = "another processor".to_string();
    fs::remove_file(&*path).unwrap();
    assert!(foreign.without(&again, &parts, &path).is_err());
}

#[test]
fn counts_may_be_added_to_the_times_of_another_machine() {
    let path = new_file("counts");
    add(&mut resume(&path), &part(), "[3, 4]");
    let counts = || Part::new("counts", |_| Ok([1_u64])).of_counts();
    let parts = [part(), counts()];
    let mut foreign = resume(&path);
    fs::remove_file(&*path).unwrap();
    foreign.machine = "another processor".to_string();
    let mut results = foreign
        .without(&["counts".to_string()], &parts, &path)
        .unwrap();
    add(&mut results, &counts(), "[5]");
    assert_eq!(results.machine, "another processor");
    let this = Results::new(&path, false, String::new()).machine;
    assert_eq!(results.on_other_machines(), [("counts", &*this)]);
    assert_eq!(results.of::<[f64; 2]>("a part").unwrap(), [3.0, 4.0]);
}

#[test]
fn lists_of_times_have_at_least_one_and_no_zeros() {
    #[derive(Deserialize, Debug)]
    struct Times {
        #[serde(deserialize_with = "times")]
        seconds: Vec<f64>,
    }
    let times: Times = serde_json::from_str(r#"{"seconds": [1.5]}"#).unwrap();
    assert_eq!(times.seconds, [1.5]);
    for wrong in [r#"{"seconds": []}"#, r#"{"seconds": [1.5, 0.0]}"#] {
        serde_json::from_str::<Times>(wrong).unwrap_err();
    }
}
