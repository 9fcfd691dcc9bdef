//! The product of two matrices of ones, by recursion into quadrants: four tasks, and then four others. A product of
//! 32 by 32 elements is a leaf: three loops, of which the compiler makes vector instructions.

use std::marker::PhantomData;
use std::slice::from_raw_parts_mut;

use purloin::Worker;

pub const SUITE: usize = 2048;

/// Largest size of a matrix.
pub const LARGEST: usize = 1 << 14;

/// Size of a leaf.
const LEAF: usize = 32;

/// Part of a matrix that nothing writes. It begins with the first element of the part.
pub type Factor<'m> = &'m [i32];

/// Part of the matrix of the results.
pub struct Results<'m> {
    first: *mut i32,
    /// Number of rows and of columns.
    len: usize,
    /// Distance between two rows, in this matrix and in the factors.
    row: usize,
    matrix: PhantomData<&'m mut [i32]>,
}

// SAFETY: it is an exclusive reference to the elements of the part, and to no others.
unsafe impl Send for Results<'_> {}

impl Results<'_> {
    /// Divides the part into its quadrants: upper left, upper right, lower left, lower right.
    fn quadrants(&mut self) -> [Results<'_>; 4] {
        let (len, row) = (self.len / 2, self.row);
        [0, len, len * row, len * row + len].map(|offset| Results {
            // SAFETY: the quadrant lies within the part.
            first: unsafe { self.first.add(offset) },
            len,
            row,
            matrix: PhantomData,
        })
    }

    /// Adds the product of two factors, serially.
    fn add_leaf(&mut self, a: Factor<'_>, b: Factor<'_>) {
        let row = self.row;
        for i in 0..self.len {
            // SAFETY: a row of the part, to which this is the only reference.
            let results = unsafe { from_raw_parts_mut(self.first.add(i * row), self.len) };
            for k in 0..self.len {
                let a = a[i * row + k];
                let b = &b[k * row..][..results.len()];
                for (result, b) in results.iter_mut().zip(b) {
                    *result = result.wrapping_add(a.wrapping_mul(*b));
                }
            }
        }
    }
}

/// Two factors, and the matrix of the results.
pub struct Matrices {
    a: Vec<i32>,
    b: Vec<i32>,
    results: Vec<i32>,
    size: usize,
}

impl Matrices {
    /// Returns matrices with `size` rows and columns.
    ///
    /// # Panics
    ///
    /// Panics if the size is no power of two, or more than [`LARGEST`].
    pub fn new(size: usize) -> Self {
        assert!(size.is_power_of_two() && size <= LARGEST);
        Matrices {
            a: vec![1; size * size],
            b: vec![1; size * size],
            results: vec![0; size * size],
            size,
        }
    }

    /// Lets `multiply` add the product of the factors to the results, all of which are zero.
    pub fn multiply(&mut self, multiply: impl FnOnce(Results<'_>, Factor<'_>, Factor<'_>) + Send) {
        let results = Results {
            first: self.results.as_mut_ptr(),
            len: self.size,
            row: self.size,
            matrix: PhantomData,
        };
        multiply(results, &self.a, &self.b);
    }

    /// Returns whether each result is the number of rows, as that of matrices of ones.
    pub fn is_right(&self) -> bool {
        self.results
            .iter()
            .all(|result| *result == self.size as i32)
    }
}

/// Returns the two rounds of products. Each has a factor's quadrant for each quadrant of the results.
fn rounds<'m>(
    a: Factor<'m>,
    b: Factor<'m>,
    results: &Results<'_>,
) -> [[(Factor<'m>, Factor<'m>); 4]; 2] {
    let right = results.len / 2;
    let below = right * results.row;
    [
        [
            (a, b),
            (a, &b[right..]),
            (&a[below..], b),
            (&a[below..], &b[right..]),
        ],
        {
            let (a, b) = (&a[right..], &b[below..]);
            [
                (a, b),
                (a, &b[right..]),
                (&a[below..], b),
                (&a[below..], &b[right..]),
            ]
        },
    ]
}

pub fn serial(mut results: Results<'_>, a: Factor<'_>, b: Factor<'_>) {
    if results.len <= LEAF {
        return results.add_leaf(a, b);
    }
    for round in rounds(a, b, &results) {
        for (results, (a, b)) in results.quadrants().into_iter().zip(round) {
            serial(results, a, b);
        }
    }
}

pub fn token<W: Worker>(mut w: W, mut results: Results<'_>, a: Factor<'_>, b: Factor<'_>) {
    if results.len <= LEAF {
        return results.add_leaf(a, b);
    }
    for [p, q, r, s] in rounds(a, b, &results) {
        let [c, d, e, f] = results.quadrants();
        w.join(
            move |mut w| {
                w.join(
                    move |w| token(w, c, p.0, p.1),
                    move |w| token(w, d, q.0, q.1),
                )
            },
            move |mut w| {
                w.join(
                    move |w| token(w, e, r.0, r.1),
                    move |w| token(w, f, s.0, s.1),
                )
            },
        );
    }
}

pub fn chili(scope: &mut chili::Scope<'_>, mut results: Results<'_>, a: Factor<'_>, b: Factor<'_>) {
    if results.len <= LEAF {
        return results.add_leaf(a, b);
    }
    for [p, q, r, s] in rounds(a, b, &results) {
        let [c, d, e, f] = results.quadrants();
        scope.join(
            move |z| {
                z.join(
                    move |z| chili(z, c, p.0, p.1),
                    move |z| chili(z, d, q.0, q.1),
                )
            },
            move |z| {
                z.join(
                    move |z| chili(z, e, r.0, r.1),
                    move |z| chili(z, f, s.0, s.1),
                )
            },
        );
    }
}

/// Defines the recursion by joins for a library whose joins take no token.
macro_rules! token_free {
    ($name:ident, $join:path) => {
        pub fn $name(mut results: Results<'_>, a: Factor<'_>, b: Factor<'_>) {
            if results.len <= LEAF {
                return results.add_leaf(a, b);
            }
            for [p, q, r, s] in rounds(a, b, &results) {
                let [c, d, e, f] = results.quadrants();
                $join(
                    move || $join(move || $name(c, p.0, p.1), move || $name(d, q.0, q.1)),
                    move || $join(move || $name(e, r.0, r.1), move || $name(f, s.0, s.1)),
                );
            }
        }
    };
}

token_free!(free, purloin::join);
token_free!(rayon, rayon::join);

pub fn spawns<W: Worker>(mut w: W, mut results: Results<'_>, a: Factor<'_>, b: Factor<'_>) {
    if results.len <= LEAF {
        return results.add_leaf(a, b);
    }
    for round in rounds(a, b, &results) {
        let quadrants = results.quadrants();
        w.finish(|scope| {
            for (results, (a, b)) in quadrants.into_iter().zip(round) {
                scope.spawn(move |w| spawns(w, results, a, b));
            }
        });
    }
}

pub fn spawns_free(mut results: Results<'_>, a: Factor<'_>, b: Factor<'_>) {
    if results.len <= LEAF {
        return results.add_leaf(a, b);
    }
    for round in rounds(a, b, &results) {
        let quadrants = results.quadrants();
        purloin::finish(|scope| {
            for (results, (a, b)) in quadrants.into_iter().zip(round) {
                scope.spawn(move |_| spawns_free(results, a, b));
            }
        });
    }
}

pub fn spawns_rayon(mut results: Results<'_>, a: Factor<'_>, b: Factor<'_>) {
    if results.len <= LEAF {
        return results.add_leaf(a, b);
    }
    for round in rounds(a, b, &results) {
        let quadrants = results.quadrants();
        rayon::scope(|scope| {
            for (results, (a, b)) in quadrants.into_iter().zip(round) {
                scope.spawn(move |_| spawns_rayon(results, a, b));
            }
        });
    }
}
