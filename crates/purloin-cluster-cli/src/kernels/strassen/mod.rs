//! The product of two dense matrices by seven products of their quadrants, over ranks: see
//! [`purloin_kernels::strassen`].
//!
//! One global array contains both factors, their product and room for temporaries, in tiles. The
//! sums of quadrants consist of many tasks, too. The place of a task's output follows from its
//! position in the recursion, so that tasks allocate nothing.
//!
//! The temporaries take much memory: if the seven products of a level are computed in parallel, the
//! next level needs 7/4 times as much as this level. So only the lowest levels are parallel, just
//! enough of them to keep all ranks busy. On the levels above, the products are computed one after
//! the other and share their temporaries.

mod product;

use std::cell::RefCell;
use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use purloin_cluster::{Cluster, Error, GlobalArray, Rank, Task};
use purloin_kernels::dense::add_product;
use purloin_kernels::strassen::{SIDE, TILE, fill, is_product, sums, tiles};
use purloin_kernels::{Description, Input, strassen};

use self::product::{Product, room};
use super::Kernel;

/// The number of parallel products of tiles per rank that keeps all ranks busy, even when some
/// ranks have none left.
const PRODUCTS_PER_RANK: u64 = 64;

/// The part of a product that a task does.
type Step = u32;

/// The whole product.
const MULTIPLY: Step = 0;

/// One tile of each of the sums of the left factor's quadrants.
const LEFT_SUMS: Step = 1;

/// One tile of each of the sums of the right factor's quadrants.
const RIGHT_SUMS: Step = 2;

/// One tile of each quadrant of the result, from the seven products.
const WHOLE: Step = 3;

/// A function that replaces one tile of each quadrant by sums of these tiles.
type SumOfFour = fn(&mut [f64], &mut [f64], &mut [f64], &mut [f64]);

/// The task that computes a product, or a part of one.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Work {
    product: Product,
    step: Step,
    /// For a part of a product: the number of the tile in its quadrant.
    tile: u32,
}

impl Task for Work {
    /// The number of products of tiles.
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

/// Computes a product, and returns the number of products of tiles that this took.
fn multiply<R: Rank<Work>>(rank: &mut R, product: Product) -> u64 {
    if product.levels == 0 {
        rank.context().multiply_tiles(&product);
        return 1;
    }
    run_steps(rank, product, &[LEFT_SUMS, RIGHT_SUMS]);
    let parallel_levels = rank.context().parallel_levels;
    let seven = product.seven(parallel_levels);
    let products = if product.levels > parallel_levels {
        seven.iter().map(|&product| multiply(rank, product)).sum()
    } else {
        let seven = seven.map(|product| Work {
            product,
            step: MULTIPLY,
            tile: 0,
        });
        rank.spawn_all(seven, 0, |sum, products| sum + products)
    };
    run_steps(rank, product, &[WHOLE]);
    products
}

/// Performs the given steps of a product, with one task for each step and each tile of a quadrant.
fn run_steps<R: Rank<Work>>(rank: &mut R, product: Product, steps: &[Step]) {
    let parts = steps.iter().flat_map(|&step| {
        (0..product.quadrant()).map(move |tile| Work {
            product,
            step,
            tile,
        })
    });
    rank.spawn_all(parts, (), |(), _| ());
}

/// Both factors, their product, and the temporaries.
pub struct Matrices {
    /// The tiles of the left factor, the right factor, the product and the temporaries, in this
    /// order.
    tiles: GlobalArray<f64>,
    levels: u32,
    /// Products with at most this many levels compute their seven products in parallel.
    parallel_levels: u32,
    /// Scratch tiles, which the tasks on this rank use one after the other.
    scratch: RefCell<Vec<f64>>,
}

impl Matrices {
    fn get(&self, tile: u32, into: &mut [f64]) {
        self.tiles.get(tile as usize * TILE, into);
    }

    fn put(&self, tile: u32, from: &[f64]) {
        self.tiles.put(tile as usize * TILE, from);
    }

    /// Calls `work` with `COUNT` scratch tiles, at most seven.
    ///
    /// `work` must not spawn, because other tasks on this rank use the same tiles.
    fn with_scratch<const COUNT: usize>(&self, work: impl FnOnce([&mut [f64]; COUNT])) {
        let mut scratch = self.scratch.borrow_mut();
        let mut tiles = scratch.chunks_exact_mut(TILE);
        work(std::array::from_fn(|_| {
            tiles.next().expect("COUNT is at most seven")
        }));
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

    /// Computes the sums of a task that does a part of a product.
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

    /// Fills the tiles of a range that this rank holds.
    fn fill(&self, cluster: &Cluster, tiles: Range<u32>, fill: fn(u32, &mut [f64])) {
        let mut scratch = vec![0.0; TILE];
        for tile in tiles {
            if self.tiles.owner(tile as usize) == cluster.rank() {
                fill(tile, &mut scratch);
                self.put(tile, &scratch);
            }
        }
    }
}

/// The kernel `strassen`.
pub struct Strassen {
    matrices: Matrices,
    rank: usize,
}

impl Kernel for Strassen {
    const DESCRIPTION: Description = <strassen::Strassen as purloin_kernels::Kernel>::DESCRIPTION;

    type Task = Work;

    fn prepare(cluster: &Cluster, input: Input) -> Result<Self, Error> {
        let levels = input[0];
        let enough = PRODUCTS_PER_RANK * cluster.ranks() as u64;
        let is_enough = |&levels: &u32| 7_u64.pow(levels) >= enough;
        let parallel_levels = (0..).find(is_enough).expect("powers of seven grow");
        let count = 3 * tiles(levels) + room(levels, parallel_levels);
        let matrices = Matrices {
            tiles: GlobalArray::new(cluster, count as usize * TILE, TILE)?,
            levels,
            parallel_levels,
            scratch: RefCell::new(vec![0.0; 7 * TILE]),
        };
        let product = Product::whole(matrices.levels);
        matrices.fill(cluster, product.left..product.result, fill);
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

    /// Clears everything that the last run computed, so that it is not taken for the work of the
    /// next run. The factors have not changed.
    fn reset(&mut self, cluster: &Cluster) {
        // Rank 0 may still be verifying the last run.
        cluster.barrier();
        let matrices = &self.matrices;
        let computed = Product::whole(matrices.levels).result..matrices.tiles.blocks() as u32;
        matrices.fill(cluster, computed, |_, tile| tile.fill(0.0));
        cluster.barrier();
    }

    fn answer(&self, products: &u64) -> String {
        format!("{products} products of tiles")
    }

    /// Checks the product. Only rank 0 checks, which keeps the other ranks' reads off the network.
    fn verify(&self, products: &u64) -> bool {
        let matrices = &self.matrices;
        if self.rank != 0 {
            return true;
        }
        let levels = matrices.levels;
        let first = Product::whole(levels).result;
        *products == 7_u64.pow(levels)
            && is_product(levels, |tile, into| matrices.get(first + tile, into))
    }
}
