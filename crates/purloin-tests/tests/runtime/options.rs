//! Options of a pool.

use crate::spares::outside_beside_a_blocked_join;
use purloin::{BuildError, Pool};

#[test]
#[cfg_attr(miri, ignore = "it asks for more memory than there is")]
fn bad_options_are_named_in_the_error() {
    let error = |builder: purloin::Builder| builder.build().unwrap_err().to_string();
    assert_eq!(
        error(Pool::builder().workers(0)),
        "workers must be at least 1"
    );
    assert_eq!(
        error(Pool::builder().workers(1_000_000)),
        "workers must be at most 4096, not 1000000"
    );
    assert!(error(Pool::builder().stack_size(10)).starts_with("stack_size must be from 65536"));
    assert!(error(Pool::builder().stack_size(usize::MAX)).starts_with("stack_size must be"));
    let large = error(Pool::builder().workers(4096).stack_size(1 << 40));
    assert!(large.starts_with("cannot start worker"), "{large}");
}

#[test]
fn thread_name_is_called_for_regular_workers_only() {
    let names = ["a", "b"];
    let pool = Pool::builder()
        .workers(2)
        .thread_name(move |i| names[i].into());
    outside_beside_a_blocked_join(&pool.build().unwrap());
    let error = Pool::builder().thread_name(|_| "a\0b".into()).build();
    assert_eq!(
        error.unwrap_err().to_string(),
        "thread_name: the name for worker 0 has a zero byte in it"
    );
}

#[test]
fn too_many_spare_workers_are_named_in_the_error() {
    let error = Pool::builder().spare_workers(5000).build().unwrap_err();
    assert!(matches!(error, BuildError::SpareWorkers(5000)));
    assert_eq!(
        error.to_string(),
        "spare_workers must be at most 4096, not 5000"
    );
}
