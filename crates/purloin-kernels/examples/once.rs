//! throw-away
use purloin::{Pool, Serial};
use purloin_kernels::Job;
fn main() {
    std::thread::Builder::new()
        .stack_size(16 << 20)
        .spawn(move || {
            let a: Vec<String> = std::env::args().skip(1).collect();
            let mut i = Job::parse(&a[1]).unwrap().prepare();
            let n: usize = a[0].parse().unwrap();
            let a = if n == 0 {
                i.run(Serial)
            } else {
                Pool::builder()
                    .workers(n)
                    .build()
                    .unwrap()
                    .run(|w| i.run(w))
            };
            println!("{a}");
        })
        .unwrap()
        .join()
        .unwrap();
}
