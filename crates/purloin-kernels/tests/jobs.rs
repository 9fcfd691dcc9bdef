//! Kernels by name: what is accepted, and what is said otherwise.

use purloin_kernels::{Inputs, Job, KERNELS};

fn error(text: &str) -> String {
    Job::parse(text).expect_err(text).to_string()
}

#[test]
fn every_kernel_has_a_default_input() {
    for kernel in KERNELS {
        let job = Job::parse(kernel.name).expect("a job");
        assert_eq!(job.kernel(), kernel.name);
        assert_eq!(job.input(), kernel.default);
        assert_eq!(
            job.to_string(),
            format!("{}={}", kernel.name, kernel.default)
        );
    }
}

#[test]
fn a_job_is_read_back_from_its_text() {
    for text in ["fib=0", "fib=60", "stress=20", "nqueens=16", "uts=T3L"] {
        assert_eq!(Job::parse(text).expect("a job").to_string(), text);
    }
}

#[test]
fn inputs_just_out_of_range_are_refused() {
    for kernel in KERNELS {
        if let Inputs::Number { least, most } = kernel.inputs {
            let parse = |input: i64| Job::parse(&format!("{}={input}", kernel.name));
            let (least, most) = (i64::from(least), i64::from(most));
            assert!(parse(least).is_ok() && parse(most).is_ok());
            assert!(parse(least - 1).is_err() && parse(most + 1).is_err());
        }
    }
}

#[test]
fn errors_name_the_culprit_and_what_is_possible() {
    assert_eq!(
        error("foo=3"),
        r#"no kernel "foo"; there are: fib, stress, nqueens, uts, multisort, skynet"#
    );
    assert_eq!(
        error("fib=abc"),
        r#"fib: input must be a number from 0 to 60, not "abc""#
    );
    assert_eq!(
        error("nqueens="),
        r#"nqueens: input must be a number from 1 to 16, not """#
    );
    assert_eq!(
        error("uts=T4"),
        r#"uts: input must be T1, T2, T3 or T3L, not "T4""#
    );
    assert_eq!(
        error(""),
        r#"no kernel ""; there are: fib, stress, nqueens, uts, multisort, skynet"#
    );
}
