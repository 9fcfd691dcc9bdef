//! The sum of the numbers of all leaves of a tree with ten children at each node.
//!
//! Source: [skynet](https://github.com/atemerev/skynet).

use purloin::prelude::*;
use rayon::prelude::{IntoParallelIterator as _, ParallelIterator as _};

pub const SUITE: u64 = 100_000_000;

/// Returns the answer for this number of leaves.
pub fn answer(leaves: u64) -> u64 {
    leaves * (leaves - 1) / 2
}

pub fn serial(first: u64, leaves: u64) -> u64 {
    match leaves {
        1 => first,
        _ => {
            let part = leaves / 10;
            (0..10).map(|n| serial(first + n * part, part)).sum()
        }
    }
}

pub fn token<W: Worker>(w: W, first: u64, leaves: u64) -> u64 {
    match leaves {
        1 => first,
        _ => token_children(w, first, leaves / 10, 10),
    }
}

/// Sums the trees of `count` children, each with `part` leaves.
fn token_children<W: Worker>(mut w: W, first: u64, part: u64, count: u64) -> u64 {
    if count == 1 {
        return token(w, first, part);
    }
    let half = count / 2;
    let (a, b) = w.join(
        |w| token_children(w, first, part, half),
        |w| token_children(w, first + half * part, part, count - half),
    );
    a + b
}

pub fn chili(scope: &mut chili::Scope<'_>, first: u64, leaves: u64) -> u64 {
    match leaves {
        1 => first,
        _ => chili_children(scope, first, leaves / 10, 10),
    }
}

fn chili_children(scope: &mut chili::Scope<'_>, first: u64, part: u64, count: u64) -> u64 {
    if count == 1 {
        return chili(scope, first, part);
    }
    let half = count / 2;
    let (a, b) = scope.join(
        |s| chili_children(s, first, part, half),
        |s| chili_children(s, first + half * part, part, count - half),
    );
    a + b
}

/// Defines the tree of joins for a library whose joins take no token.
macro_rules! token_free {
    ($name:ident, $children:ident, $join:path) => {
        pub fn $name(first: u64, leaves: u64) -> u64 {
            match leaves {
                1 => first,
                _ => $children(first, leaves / 10, 10),
            }
        }

        fn $children(first: u64, part: u64, count: u64) -> u64 {
            if count == 1 {
                return $name(first, part);
            }
            let half = count / 2;
            let (a, b) = $join(
                || $children(first, part, half),
                || $children(first + half * part, part, count - half),
            );
            a + b
        }
    };
}

token_free!(free, free_children, purloin::join);
token_free!(rayon, rayon_children, rayon::join);

pub fn loops<W: Worker>(mut w: W, first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let part = leaves / 10;
    w.par(0..10)
        .map_with_token(|w, n| loops(w, first + n * part, part))
        .sum()
}

pub fn loops_free(first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let part = leaves / 10;
    (0..10)
        .into_par()
        .map(|n| loops_free(first + n * part, part))
        .sum()
}

pub fn loops_rayon(first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let part = leaves / 10;
    (0..10_u64)
        .into_par_iter()
        .map(|n| loops_rayon(first + n * part, part))
        .sum()
}

pub fn spawns<W: Worker>(mut w: W, first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let (mut sums, part) = ([0; 10], leaves / 10);
    w.finish(|scope| {
        for (n, sum) in (0..).zip(&mut sums) {
            scope.spawn(move |w| *sum = spawns(w, first + n * part, part));
        }
    });
    sums.iter().sum()
}

pub fn spawns_free(first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let (mut sums, part) = ([0; 10], leaves / 10);
    purloin::finish(|scope| {
        for (n, sum) in (0..).zip(&mut sums) {
            scope.spawn(move |_| *sum = spawns_free(first + n * part, part));
        }
    });
    sums.iter().sum()
}

pub fn spawns_rayon(first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let (mut sums, part) = ([0; 10], leaves / 10);
    rayon::scope(|scope| {
        for (n, sum) in (0..).zip(&mut sums) {
            scope.spawn(move |_| *sum = spawns_rayon(first + n * part, part));
        }
    });
    sums.iter().sum()
}
