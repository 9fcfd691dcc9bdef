//! The product of two dense matrices by seven products of their quadrants.
//!
//! All that lies in one global array, in tiles: both factors, their product, and room
//! for what is computed on the way. The tiles of a matrix are in Z-order, so that a
//! quadrant of it, and a quadrant of that, is a range of tiles like the matrix itself.
//!
//! A product of matrices larger than a tile is three steps, one after the other: sums of
//! quadrants, seven products, and sums of these. Each step is as many tasks as there is
//! work for. Where a task leaves what it computes follows from its place in the
//! recursion, so that nothing is allocated on the way.
//!
//! That room is dear: each level has 7/4 times as much of it as the one above if the
//! seven are computed side by side. So they are only as far down as it takes to keep all
//! ranks busy; above, they are computed one after the other and share theirs.
//!
//! Source: Duran et al., Barcelona OpenMP Tasks Suite (ICPP 2009), after the program of
//! that name in the Cilk distribution.

mod product;
mod sums;

use std::cell::RefCell;
use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use purloin_cluster::{Cluster, Error, GlobalArray, Rank, Task};
use purloin_kernels::{Description, Input, Inputs};

use self::product::{Product, room, row_and_column, tiles};
use super::Kernel;
use super::dense::{add_image, add_product, are_close};
use super::random::Random;

/// Rows and columns of a tile. Three take 384 KiB, which fits a second-level cache.
const SIDE: usize = 128;

/// Numbers in a tile.
const TILE: usize = SIDE * SIDE;

/// Products of tiles at a time that keep a rank busy, even while others have none left.
const PRODUCTS_PER_RANK: u64 = 64;

/// What a task does for a product.
type Step = u32;

/// All of it.
const MULTIPLY: Step = 0;

/// One tile of each of the sums of its left factor's quadrants.
const LEFT_SUMS: Step = 1;

/// The same of its right factor.
const RIGHT_SUMS: Step = 2;

/// One tile of each quadrant of its result, from the seven products.
const WHOLE: Step = 3;

/// What replaces a tile of each quadrant by sums of them.
type SumOfFour = fn(&mut [f64], &mut [f64], &mut [f64], &mut [f64]);

/// A task: a product, or a part of one.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Work {
    product: Product,
    step: Step,
    /// Which tile of a quadrant, for a part.
    tile: u32,
}

impl Task for Work {
    /// Products of tiles.
    type Output = u64;
    type Context = Matrices;

    fn run<R: Rank<Self>>(self, mut rank: R) -> u64 {
        match self.step {
            MULTIPLY => multiply(&mut rank, self.product),
            _ => {
                rank.context().sum(&self);
                0
            }
        }
    }
}

/// Computes a product, and returns how many products of tiles that took.
fn multiply<R: Rank<Work>>(rank: &mut R, product: Product) -> u64 {
    if product.levels == 0 {
        rank.context().multiply_tiles(&product);
        return 1;
    }
    in_parts(rank, product, &[LEFT_SUMS, RIGHT_SUMS]);
    let side_by_side = rank.context().side_by_side;
    let seven = product.seven(side_by_side);
    let products = if product.levels > side_by_side {
        seven.iter().map(|&product| multiply(rank, product)).sum()
    } else {
        let seven = seven.map(|product| Work {
            product,
            step: MULTIPLY,
            tile: 0,
        });
        rank.spawn_all(seven, 0, |sum, products| sum + products)
    };
    in_parts(rank, product, &[WHOLE]);
    products
}

/// Does these steps of a product, each as one task for each tile of a quadrant.
fn in_parts<R: Rank<Work>>(rank: &mut R, product: Product, steps: &[Step]) {
    let parts = steps.iter().flat_map(|&step| {
        (0..product.quadrant()).map(move |tile| Work {
            product,
            step,
            tile,
        })
    });
    rank.spawn_all(parts, (), |(), _| ());
}

/// Both factors, their product, and room for temporaries.
pub struct Matrices {
    /// The tiles, in this order.
    tiles: GlobalArray<f64>,
    levels: u32,
    /// Levels up to which the seven products are computed at the same time.
    side_by_side: u32,
    /// Tiles for the tasks on this rank, one after the other.
    scratch: RefCell<Vec<f64>>,
}

impl Matrices {
    fn get(&self, tile: u32, into: &mut [f64]) {
        self.tiles.get(tile as usize * TILE, into);
    }

    fn put(&self, tile: u32, from: &[f64]) {
        self.tiles.put(tile as usize * TILE, from);
    }

    /// Runs this with tiles of memory, seven at most.
    ///
    /// It is not to spawn anything: another task on this rank needs the same memory.
    fn with_scratch<const COUNT: usize>(&self, work: impl FnOnce([&mut [f64]; COUNT])) {
        let mut scratch = self.scratch.borrow_mut();
        let mut tiles = scratch.chunks_exact_mut(TILE);
        work(std::array::from_fn(|_| tiles.next().expect("seven")));
    }

    /// Computes a product of tiles.
    #[inline(never)]
    fn multiply_tiles(&self, product: &Product) {
        self.with_scratch(|[left, right, result]| {
            self.get(product.left, left);
            self.get(product.right, right);
            result.fill(0.0);
            add_product(SIDE, result, left, right, 1.0);
            self.put(product.result, result);
        });
    }

    /// Does what a task does that is a part of a product.
    #[inline(never)]
    fn sum(&self, work: &Work) {
        let product = &work.product;
        let four = |from: u32, to: [u32; 4], sum: SumOfFour| {
            self.with_scratch(|mut tiles: [&mut [f64]; 4]| {
                for (tile, from) in tiles.iter_mut().zip(product.quadrants(from)) {
                    self.get(from + work.tile, tile);
                }
                let [a, b, c, d] = &mut tiles;
                sum(a, b, c, d);
                for (tile, to) in tiles.iter().zip(to) {
                    self.put(to + work.tile, tile);
                }
            });
        };
        match work.step {
            LEFT_SUMS => four(product.left, product.left_sums(), sums::left),
            RIGHT_SUMS => four(product.right, product.right_sums(), sums::right),
            _ => self.with_scratch(|mut tiles: [&mut [f64]; 7]| {
                for (tile, from) in tiles.iter_mut().zip(product.results()) {
                    self.get(from + work.tile, tile);
                }
                let [p, q, r, s, t, u, v] = &mut tiles;
                sums::whole(p, q, r, s, t, u, v);
                for (tile, to) in tiles.iter().zip(product.quadrants(product.result)) {
                    self.put(to + work.tile, tile);
                }
            }),
        }
    }

    /// What is in a tile of a factor at first.
    fn factor(tile: u32, into: &mut [f64]) {
        Random::new(tile.into()).fill(into);
    }

    /// Fills those of these tiles that lie on this rank.
    fn fill(&self, cluster: &Cluster, tiles: Range<u32>, fill: fn(u32, &mut [f64])) {
        let mut scratch = vec![0.0; TILE];
        for tile in tiles {
            if self.tiles.owner(tile as usize) == cluster.rank() {
                fill(tile, &mut scratch);
                self.put(tile, &scratch);
            }
        }
    }

    /// The image of a vector under a matrix from tile `from` on.
    fn image(&self, from: u32, vector: &[f64], get: impl Fn(u32, &mut [f64])) -> Vec<f64> {
        let mut image = vec![0.0; vector.len()];
        let mut scratch = vec![0.0; TILE];
        for tile in 0..tiles(self.levels) {
            get(from + tile, &mut scratch);
            let (row, column) = row_and_column(tile as usize);
            let [row, column] = [row, column].map(|tile| tile * SIDE..(tile + 1) * SIDE);
            add_image(&mut image[row], &scratch, &vector[column]);
        }
        image
    }
}

/// The kernel `strassen`.
pub struct Strassen {
    matrices: Matrices,
    rank: usize,
}

impl Kernel for Strassen {
    const DESCRIPTION: Description = Description {
        name: "strassen",
        about: "the product of two dense matrices of doubles, n by n, by seven of their quadrants",
        inputs: Inputs::Name(&["128", "256", "512", "1024", "2048", "4096", "8192", "16384"]),
        default: "2048",
    };

    type Task = Work;

    fn prepare(cluster: &Cluster, input: Input) -> Result<Self, Error> {
        let levels = input[0];
        let enough = PRODUCTS_PER_RANK * cluster.ranks() as u64;
        let is_enough = |&levels: &u32| 7_u64.pow(levels) >= enough;
        let side_by_side = (0..).find(is_enough).expect("it grows");
        let count = 3 * tiles(levels) + room(levels, side_by_side);
        let matrices = Matrices {
            tiles: GlobalArray::new(cluster, count as usize * TILE, TILE)?,
            levels,
            side_by_side,
            scratch: RefCell::new(vec![0.0; 7 * TILE]),
        };
        let product = Product::whole(matrices.levels);
        matrices.fill(cluster, product.left..product.result, Matrices::factor);
        cluster.barrier();
        let rank = cluster.rank();
        Ok(Strassen { matrices, rank })
    }

    fn context(&self) -> &Matrices {
        &self.matrices
    }

    fn root(&self) -> Work {
        Work {
            product: Product::whole(self.matrices.levels),
            step: MULTIPLY,
            tile: 0,
        }
    }

    /// The factors are as they were; of what was computed from them, nothing is left that
    /// could be taken for the work of another run.
    fn reset(&mut self, cluster: &Cluster) {
        // One rank may be verifying yet.
        cluster.barrier();
        let matrices = &self.matrices;
        let computed = Product::whole(matrices.levels).result..matrices.tiles.blocks() as u32;
        matrices.fill(cluster, computed, |_, tile| tile.fill(0.0));
        cluster.barrier();
    }

    fn answer(&self, products: &u64) -> String {
        format!("{products} products of tiles")
    }

    /// Freivalds' check: whether *c*·*x* is *a*·(*b*·*x*) for some *x*. One rank's word
    /// is enough, and spares the network that of the others.
    fn verify(&self, products: &u64) -> bool {
        let matrices = &self.matrices;
        if self.rank != 0 {
            return true;
        }
        let Product {
            levels,
            left,
            right,
            result,
            ..
        } = Product::whole(matrices.levels);
        let mut vector = vec![0.0; SIDE << levels];
        Random::new(u64::MAX).fill(&mut vector);
        // Not what is left of the factors, but what they were.
        let image = matrices.image(right, &vector, Matrices::factor);
        let expected = matrices.image(left, &image, Matrices::factor);
        let found = matrices.image(result, &vector, |tile, into| matrices.get(tile, into));
        *products == 7_u64.pow(levels) && are_close(&expected, &found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_the_side_of_a_matrix() {
        let inputs = Strassen::DESCRIPTION.inputs;
        for side in [128, 256, 2048, 16384] {
            let input = inputs.parse(&side.to_string()).unwrap();
            assert_eq!(SIDE << input[0], side);
        }
    }
}
