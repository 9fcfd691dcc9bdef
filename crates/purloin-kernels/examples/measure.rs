//! throw-away
use purloin::{Pool, Serial};
use purloin_kernels::Job;
use std::time::Instant;
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let runs: usize = args[0].parse().unwrap();
    std::thread::Builder::new().stack_size(16 << 20).spawn(move || {
    let one = Pool::builder().workers(1).build().unwrap();
    let two = Pool::builder().workers(2).build().unwrap();
    for text in &args[1..] {
        let job = Job::parse(text).unwrap();
        let mut times = [vec![], vec![], vec![]];
        for _ in 0..runs {
            for (which, times) in times.iter_mut().enumerate() {
                let mut instance = job.prepare();
                let start = Instant::now();
                let answer = match which {
                    0 => instance.run(Serial),
                    1 => one.run(|w| instance.run(w)),
                    _ => two.run(|w| instance.run(w)),
                };
                times.push(start.elapsed().as_secs_f64());
                assert!(instance.verify(&answer), "{job} {answer}");
            }
        }
        let m = times.each_mut().map(|t| { t.sort_by(f64::total_cmp); t[t.len() / 2] });
        println!("{:20} serial {:.4} one {:.4} two {:.4}   one/serial {:.3} serial/two {:.3} min1/mins {:.3} minS/min2 {:.3}", job.to_string(), m[0], m[1], m[2], m[1] / m[0], m[0] / m[2], times[1][0]/times[0][0], times[0][0]/times[2][0]);
    }
    println!("{:?}", two.stats());
    }).unwrap().join().unwrap();
}
