//! PageRank in its push form: each page adds its rank, in equal shares, to the pages that it links to.
//!
//! Several pages may link to one page. So each worker adds to its own vector, and the vectors are added at the end of a
//! round. rayon makes a vector for each piece of the loop.

use std::sync::LazyLock;

use purloin::PerWorker;
use purloin::prelude::*;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use crate::Row;
use crate::contestants::{printed_time, timed};

/// The environment variable with the path of the program under OpenMP: see `peers/cpp/pagerank.cpp`.
pub const OPENMP: &str = "PURLOIN_PAGERANK_OPENMP";

pub const ROWS: &[Row] = &[Row {
    what: "push PageRank, 10⁶ links, a round",
    ideal: None,
    workers: 1,
    contestants: &[
        ("serial", |_| per_round(push_serially)),
        ("free", |pools| pools.purloin.run(|_| per_round(push_free))),
        ("rayon", |pools| {
            pools.rayon.install(|| per_round(push_rayon))
        }),
        ("openmp", |pools| {
            let threads = pools.purloin.workers().to_string();
            printed_time(OPENMP, &[&threads])
        }),
    ],
}];

const PAGES: usize = 100_000;
const LINKS: usize = 1_000_000;
const ROUNDS: usize = 10;

/// The links of all pages. Page `n` links to the pages `to[first[n]..first[n + 1]]`.
struct Web {
    first: Vec<usize>,
    to: Vec<usize>,
}

static WEB: LazyLock<Web> = LazyLock::new(|| {
    let mut state = 88_172_645_463_325_252_u64;
    let mut random_page = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % PAGES as u64) as usize
    };
    let mut links = vec![Vec::new(); PAGES];
    for _ in 0..LINKS {
        let from = random_page();
        links[from].push(random_page());
    }
    let mut first = vec![0];
    first.extend(links.iter().scan(0, |end, links| {
        *end += links.len();
        Some(*end)
    }));
    Web {
        first,
        to: links.concat(),
    }
});

static RIGHT: LazyLock<Vec<f64>> = LazyLock::new(|| ranks(push_serially));

/// Pushes the rank of a page.
fn push(web: &Web, page: usize, ranks: &[f64], sums: &mut [f64]) {
    let links = &web.to[web.first[page]..web.first[page + 1]];
    let share = ranks[page] / links.len().max(1) as f64;
    for &to in links {
        sums[to] += share;
    }
}

fn push_serially(web: &Web, ranks: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; PAGES];
    (0..PAGES).for_each(|page| push(web, page, ranks, &mut sums));
    sums
}

fn push_free(web: &Web, ranks: &[f64]) -> Vec<f64> {
    let sums = PerWorker::new(|| vec![0.0; PAGES]);
    (0..PAGES)
        .into_par()
        .for_each_init(|| sums.take(), |sums, page| push(web, page, ranks, sums));
    let all = sums.into_iter().reduce(|mut a, b| {
        a.par_mut().zip(&b).for_each(|(a, b)| *a += b);
        a
    });
    all.expect("there are pages")
}

fn push_rayon(web: &Web, ranks: &[f64]) -> Vec<f64> {
    let empty = || vec![0.0; PAGES];
    let add = |mut a: Vec<f64>, b: Vec<f64>| {
        a.iter_mut().zip(&b).for_each(|(a, b)| *a += b);
        a
    };
    // Few pieces, because each has a vector.
    let pages = IntoParallelIterator::into_par_iter(0..PAGES).with_min_len(PAGES / 16);
    let sums = pages.fold(empty, |mut sums, page| {
        push(web, page, ranks, &mut sums);
        sums
    });
    sums.reduce(empty, add)
}

/// Returns the ranks after all rounds.
fn ranks(push_all: impl Fn(&Web, &[f64]) -> Vec<f64>) -> Vec<f64> {
    let first = vec![1.0 / PAGES as f64; PAGES];
    let web = &*WEB;
    (0..ROUNDS).fold(first, |ranks, _| push_all(web, &ranks))
}

/// Returns the time of a round, or nothing if the ranks are wrong.
fn per_round(push_all: impl Fn(&Web, &[f64]) -> Vec<f64>) -> Option<f64> {
    LazyLock::force(&RIGHT);
    let mut found = Vec::new();
    let seconds = timed((), || found = ranks(push_all))?;
    let is_right = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
    let are_right = found.len() == RIGHT.len() && found.iter().zip(&*RIGHT).all(is_right);
    are_right.then_some(seconds / ROUNDS as f64)
}
