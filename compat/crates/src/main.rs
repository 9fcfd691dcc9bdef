//! Times what crates from the registry do with rayon. `./x rayon --time-crates` builds this program on
//! rayon's own engine and on Purloin, and compares the two.
//!
//! - `rayon-crates [WORKLOAD…]` runs these workloads, or all. For each it prints the name and the
//!   median time in milliseconds.
//! - `rayon-crates --compare ROUNDS PROGRAM…` runs several builds of this program in turn, and prints
//!   a table of their medians.

#[path = "../../programs/src/visit.rs"]
mod visit;

use std::collections::hash_map::DefaultHasher;
use std::hash::BuildHasherDefault;
use std::hint::black_box;
use std::io::{IsTerminal, Write, stderr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, process, thread};

/// A workload: prepares its input, and returns what is timed.
type Workload = fn() -> Box<dyn FnMut()>;

const WORKLOADS: [(&str, Workload); 20] = [
    ("rayon: fib(38) by joins", rayon_fib),
    ("rayon: sum of 1,000", || rayon_sum(1_000)),
    ("rayon: sum of 100,000", || rayon_sum(100_000)),
    ("rayon: sum of 10,000,000", || rayon_sum(10_000_000)),
    ("rayon: scope of 100,000 tasks", rayon_scope),
    ("rayon: 100,000 jobs spawned by a job", || {
        rayon_jobs(|| rayon::spawn(|| (0..JOBS).for_each(|_| rayon::spawn(end_job))))
    }),
    ("rayon: 100,000 jobs spawned outside", || {
        rayon_jobs(|| (0..JOBS).for_each(|_| rayon::spawn(end_job)))
    }),
    ("rayon: 100,000 jobs, each spawned by the last", || {
        rayon_jobs(|| chain(JOBS))
    }),
    (
        "rayon: walk over 20,000 files by loops that spawn",
        rayon_walk,
    ),
    ("halo2_proofs: FFT of 2^14", halo2_fft),
    ("bvh: build over 50,000 boxes", bvh_build),
    ("ark-poly: FFT of 2^16", ark_fft),
    ("ark-ec: multiplication of 2^12 points", ark_msm),
    ("blake3: hash of 1 MiB", || blake3_hash(1 << 20)),
    ("blake3: hash of 16 MiB", || blake3_hash(1 << 24)),
    ("ndarray: exp of 1,000 x 1,000", ndarray_map),
    ("indexmap: sum of 100,000 values", indexmap_sum),
    ("hashbrown: sum of 1,000,000 values", hashbrown_sum),
    ("criterion: analysis of a sample", criterion_analysis),
    ("jwalk: walk over 20,000 files", jwalk_walk),
];

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    if let [flag, rounds, programs @ ..] = &args[..]
        && flag == "--compare"
    {
        return compare(rounds.parse().expect("a number of rounds"), programs);
    }
    for (name, workload) in WORKLOADS {
        if !args.is_empty() && !args.iter().any(|wanted| name.contains(wanted)) {
            continue;
        }
        let mut run = workload();
        run();
        let begin = Instant::now();
        let mut times = Vec::new();
        while times.len() < 5 || begin.elapsed() < Duration::from_millis(400) {
            let begin = Instant::now();
            run();
            times.push(begin.elapsed().as_secs_f64() * 1e3);
        }
        println!("{name}\t{:.4}", median(&mut times));
    }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Prints a Markdown table with the medians of the rounds for each workload and program, and with the
/// median of the ratios to the first program in the same round.
fn compare(rounds: usize, programs: &[String]) {
    for (name, _) in WORKLOADS {
        let mut times = vec![Vec::new(); programs.len()];
        let mut ratios = times.clone();
        for round in 1..=rounds {
            progress(&format!("{name}: round {round} of {rounds}"));
            let run = |program| time_in(program, name);
            let round: Vec<f64> = programs.iter().map(run).collect();
            for (place, time) in round.iter().enumerate() {
                times[place].push(*time);
                ratios[place].push(time / round[0]);
            }
        }
        progress("");
        print!("| {name} |");
        for (place, (times, ratios)) in times.iter_mut().zip(&mut ratios).enumerate() {
            print!(" {:.3} ms", median(times));
            if place > 0 {
                print!(" ({:.2})", median(ratios));
            }
            print!(" |");
        }
        println!();
    }
}

/// Shows what runs now, if standard error is a terminal.
fn progress(text: &str) {
    if stderr().is_terminal() {
        eprint!("\r\x1b[K{text}");
    }
}

/// Returns the time of a workload in a build of this program, in milliseconds.
fn time_in(program: &String, workload: &str) -> f64 {
    let output = Command::new(program)
        .arg(workload)
        .stderr(Stdio::null())
        .output();
    let output = output.unwrap_or_else(|error| panic!("cannot run {program}: {error}"));
    assert!(output.status.success(), "{program} has failed");
    let text = String::from_utf8_lossy(&output.stdout);
    let times = text.lines().filter_map(|line| line.split_once('\t'));
    let mut times = times.filter(|(name, _)| *name == workload);
    let time = times.next().and_then(|(_, time)| time.parse().ok());
    time.unwrap_or_else(|| panic!("{program} prints no time for {workload}"))
}

fn rayon_fib() -> Box<dyn FnMut()> {
    fn fib(n: u32) -> u64 {
        if n < 2 {
            return n.into();
        }
        let (a, b) = rayon::join(|| fib(n - 1), || fib(n - 2));
        a + b
    }
    // On a thread of the pool, as in a program whose main function calls `install`.
    Box::new(|| assert_eq!(rayon::scope(|_| fib(black_box(38))), 39_088_169))
}

fn rayon_sum(len: u64) -> Box<dyn FnMut()> {
    use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
    let numbers: Vec<u64> = (0..len).collect();
    Box::new(move || {
        let sum: u64 = numbers.par_iter().map(|n| n ^ (n >> 3)).sum();
        black_box(sum);
    })
}

const JOBS: u32 = 100_000;

/// The number of jobs that have ended.
static ENDED: AtomicU32 = AtomicU32::new(0);

fn end_job() {
    ENDED.fetch_add(1, Ordering::Release);
}

/// Spawns a job that spawns the next.
fn chain(jobs: u32) {
    if jobs > 0 {
        rayon::spawn(move || {
            end_job();
            chain(jobs - 1);
        });
    }
}

/// Lets `spawn` spawn [`JOBS`] jobs, and waits until all have ended.
fn rayon_jobs(spawn: fn()) -> Box<dyn FnMut()> {
    Box::new(move || {
        spawn();
        while ENDED.load(Ordering::Acquire) < JOBS {
            thread::yield_now();
        }
        ENDED.store(0, Ordering::Relaxed);
    })
}

fn rayon_scope() -> Box<dyn FnMut()> {
    Box::new(|| {
        rayon::scope(|scope| (0..JOBS).for_each(|_| scope.spawn(|_| end_job())));
        assert_eq!(ENDED.swap(0, Ordering::Relaxed), JOBS);
    })
}

fn halo2_fft() -> Box<dyn FnMut()> {
    use halo2_proofs::arithmetic::best_fft;
    use halo2_proofs::pasta::Fp;
    let root = Fp::from(7);
    let mut values: Vec<Fp> = (0..1 << 14).map(|n| Fp::from(n).square()).collect();
    Box::new(move || best_fft(&mut values, root, 14))
}

struct Boxed {
    bounds: bvh::aabb::Aabb<f32, 3>,
    index: usize,
}

impl bvh::aabb::Bounded<f32, 3> for Boxed {
    fn aabb(&self) -> bvh::aabb::Aabb<f32, 3> {
        self.bounds
    }
}

impl bvh::bounding_hierarchy::BHShape<f32, 3> for Boxed {
    fn set_bh_node_index(&mut self, index: usize) {
        self.index = index;
    }

    fn bh_node_index(&self) -> usize {
        self.index
    }
}

fn bvh_build() -> Box<dyn FnMut()> {
    use bvh::bounding_hierarchy::BoundingHierarchy;
    let mut state = 1_u32;
    let mut coordinate = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 1000.0
    };
    let mut boxes: Vec<Boxed> = (0..50_000)
        .map(|index| {
            let low = nalgebra::Point3::new(coordinate(), coordinate(), coordinate());
            let bounds = bvh::aabb::Aabb::with_bounds(low, low + nalgebra::Vector3::repeat(1.0));
            Boxed { bounds, index }
        })
        .collect();
    Box::new(move || {
        black_box(bvh::bvh::Bvh::build_par(&mut boxes));
    })
}

fn ark_fft() -> Box<dyn FnMut()> {
    use ark_poly::EvaluationDomain;
    let domain = ark_poly::Radix2EvaluationDomain::<ark_bls12_381::Fr>::new(1 << 16).unwrap();
    let mut values: Vec<ark_bls12_381::Fr> = (0..1_u64 << 16).map(Into::into).collect();
    Box::new(move || domain.fft_in_place(&mut values))
}

fn ark_msm() -> Box<dyn FnMut()> {
    use ark_ec::{CurveGroup, PrimeGroup, VariableBaseMSM};
    use ark_ff::Field;
    let point = ark_bls12_381::G1Projective::generator();
    let points: Vec<_> = (0..1_u64 << 12)
        .map(|n| (point * ark_bls12_381::Fr::from(n + 1)).into_affine())
        .collect();
    let scalar = |n: u64| ark_bls12_381::Fr::from(n + 2).inverse().unwrap();
    let scalars: Vec<_> = (0..1 << 12).map(scalar).collect();
    Box::new(move || {
        let _ = black_box(ark_bls12_381::G1Projective::msm(&points, &scalars));
    })
}

fn blake3_hash(len: usize) -> Box<dyn FnMut()> {
    let bytes: Vec<u8> = (0..len).map(|n| n as u8).collect();
    Box::new(move || {
        black_box(blake3::Hasher::new().update_rayon(&bytes).finalize());
    })
}

fn ndarray_map() -> Box<dyn FnMut()> {
    let numbers = ndarray::Array2::from_shape_fn((1000, 1000), |(row, column)| {
        (row + column) as f64 / 1000.0
    });
    let mut results = numbers.clone();
    Box::new(move || {
        ndarray::Zip::from(&mut results)
            .and(&numbers)
            .par_for_each(|result, number| *result = number.exp());
    })
}

/// Hashes with the same keys in each run.
type Hashes = BuildHasherDefault<DefaultHasher>;

fn indexmap_sum() -> Box<dyn FnMut()> {
    use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
    let map: indexmap::IndexMap<u64, u64, Hashes> = (0..100_000).map(|n| (n, n)).collect();
    Box::new(move || {
        black_box(map.par_iter().map(|(key, value)| key ^ value).sum::<u64>());
    })
}

fn hashbrown_sum() -> Box<dyn FnMut()> {
    use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
    let map: hashbrown::HashMap<u64, u64, Hashes> = (0..1_000_000).map(|n| (n, n)).collect();
    Box::new(move || {
        black_box(map.par_iter().map(|(key, value)| key ^ value).sum::<u64>());
    })
}

/// The measurement is short, so nearly all of the time goes into the bootstrap.
fn criterion_analysis() -> Box<dyn FnMut()> {
    let folder = Folder::new("criterion");
    let mut criterion = criterion::Criterion::default()
        .without_plots()
        .output_directory(&folder.0)
        .nresamples(50_000)
        .warm_up_time(Duration::from_millis(1))
        .measurement_time(Duration::from_millis(2));
    Box::new(move || {
        let _folder = &folder;
        criterion.bench_function("addition", |b| b.iter(|| black_box(1) + black_box(2)));
    })
}

/// `compat/programs/src/bin/walk.rs` counts how often the threads of such a program go to sleep.
fn rayon_walk() -> Box<dyn FnMut()> {
    let files = files();
    Box::new(move || {
        let bytes = AtomicU64::new(0);
        rayon::scope(|scope| visit::visit(scope, files.clone(), &bytes));
        assert_eq!(bytes.into_inner(), 20_000);
    })
}

fn jwalk_walk() -> Box<dyn FnMut()> {
    let files = files();
    Box::new(move || {
        let files = jwalk::WalkDir::new(&files).into_iter();
        let files = files.filter(|entry| entry.as_ref().unwrap().file_type().is_file());
        assert_eq!(files.count(), 20_000);
    })
}

/// Returns a folder with 20,000 files of one byte, in 200 inner folders. The files stay where they are,
/// because making them takes longer than everything else.
fn files() -> PathBuf {
    let folder = target().join("files");
    for number in (0..200).filter(|_| !folder.join("complete").exists()) {
        let inner = folder.join(format!("files/{}/{}", number % 20, number));
        fs::create_dir_all(&inner).unwrap();
        for file in 0..100 {
            let file = fs::File::create(inner.join(file.to_string()));
            file.unwrap().write_all(b"x").unwrap();
        }
    }
    fs::File::create(folder.join("complete")).unwrap();
    folder.join("files")
}

/// Returns a folder for files that are not kept in the repository.
fn target() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target")
}

/// A temporary folder, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("rayon-crates-{name}-{}", process::id());
        let folder = target().join(name);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
