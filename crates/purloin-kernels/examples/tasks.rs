//! throw-away
use purloin::{Counted, Serial};
use purloin_kernels::Job;
use std::sync::atomic::AtomicU64;
fn main() {
    std::thread::Builder::new()
        .stack_size(64 << 20)
        .spawn(move || {
            for text in std::env::args().skip(1) {
                let tasks = AtomicU64::new(0);
                let a = Job::parse(&text)
                    .unwrap()
                    .prepare()
                    .run(Counted::new(Serial, &tasks));
                println!("{text} {a} tasks {}", tasks.into_inner());
            }
        })
        .unwrap()
        .join()
        .unwrap();
}
