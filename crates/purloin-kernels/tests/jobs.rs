//! Parsing of jobs: the accepted names and inputs, and the errors for all others.

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
fn a_job_is_parsed_back_from_its_text() {
    for text in [
        "fib=0",
        "fib=60",
        "stress=20",
        "uts=T3L",
        "ssf=16",
        "multisort=9,2",
        "bpc=1,99999",
        "bpc=5,9,1",
        "loops=random",
        "loops=fine,100",
    ] {
        assert_eq!(Job::parse(text).expect("a job").to_string(), text);
    }
}

#[test]
fn inputs_just_out_of_range_are_refused() {
    for kernel in KERNELS {
        if let Inputs::Numbers([first, ..]) = kernel.inputs {
            let parse = |input: i64| Job::parse(&format!("{}={input}", kernel.name));
            let (min, max) = (i64::from(first.min), i64::from(first.max));
            assert!(parse(min).is_ok() && parse(max).is_ok());
            assert!(parse(min - 1).is_err() && parse(max + 1).is_err());
        }
    }
}

#[test]
fn errors_name_the_culprit_and_list_what_is_possible() {
    let all = "fib, stress, nqueens, uts, multisort, skynet, cholesky, ssf, spc, spc-loop, bpc, \
               bpc-loop, tree, futures, loops, jacobi, jacobi-join, fft, lud, \
               lud-join, barnes-hut, floorplan, sparselu, strassen, straggler, forks, fanout, flood";
    assert_eq!(
        error("foo=3"),
        format!(r#"no kernel "foo"; the kernels are {all}"#)
    );
    assert_eq!(
        error("fib=abc"),
        r#"fib: input must be a number from 0 to 60, not "abc""#
    );
    assert_eq!(
        error("nqueens="),
        r#"nqueens: input must be a number from 1 to 16, not """#
    );
    for input in ["9,0", "9,2,3", "9,2,4,5", "9,", ",2", "9,x"] {
        assert_eq!(
            error(&format!("multisort={input}")),
            format!(
                "multisort: input must be <integers: 1 to 200000000>,\
                 <repetitions: 1 to 1000000, default 1>,<cut-off: 4 to 200000000, default 2048>, \
                 not {input:?}"
            )
        );
    }
    assert_eq!(
        error("loops=coarse,-1"),
        r#"loops: input must be fine, coarse, random, increasing, decreasing, tiny or vector,<grain sizes: 0 to 100000000, default 0>, not "coarse,-1""#
    );
    assert_eq!(
        error("uts=T4"),
        r#"uts: input must be T1, T2, T3 or T3L, not "T4""#
    );
    assert_eq!(error(""), format!(r#"no kernel ""; the kernels are {all}"#));
}

#[test]
fn default_numbers_may_be_left_out() {
    assert_eq!(Job::parse("multisort=9,1"), Job::parse("multisort=9"));
    assert_eq!(Job::parse("multisort=9,1,2048"), Job::parse("multisort=9"));
    assert_eq!(Job::parse("ssf=12,1").expect("a job").to_string(), "ssf=12");
}
