//! Fibonacci numbers, with two tasks for each addition.

use purloin::Worker;

pub const SUITE: u32 = 39;
pub const SUITE_ANSWER: u64 = 63_245_986;

pub fn token<W: Worker>(mut w: W, n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = w.join(|w| token(w, n - 1), |w| token(w, n - 2));
    a + b
}

pub fn free(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = purloin::join(|| free(n - 1), || free(n - 2));
    a + b
}

pub fn chili(scope: &mut chili::Scope<'_>, n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = scope.join(|s| chili(s, n - 1), |s| chili(s, n - 2));
    a + b
}

pub fn rayon(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = rayon::join(|| rayon(n - 1), || rayon(n - 2));
    a + b
}

pub fn spawns<W: Worker>(mut w: W, n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (mut a, mut b) = (0, 0);
    w.finish(|scope| {
        scope.spawn(|w| a = spawns(w, n - 1));
        scope.spawn(|w| b = spawns(w, n - 2));
    });
    a + b
}

pub fn spawns_free(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (mut a, mut b) = (0, 0);
    purloin::finish(|scope| {
        scope.spawn(|_| a = spawns_free(n - 1));
        scope.spawn(|_| b = spawns_free(n - 2));
    });
    a + b
}

pub fn spawns_rayon(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (mut a, mut b) = (0, 0);
    rayon::scope(|scope| {
        scope.spawn(|_| a = spawns_rayon(n - 1));
        scope.spawn(|_| b = spawns_rayon(n - 2));
    });
    a + b
}
