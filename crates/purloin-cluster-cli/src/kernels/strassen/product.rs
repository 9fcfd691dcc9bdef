//! The places of factors, results and temporaries: [`Product`].

use bytemuck::{Pod, Zeroable};
use purloin_kernels::strassen::tiles;

/// The number of temporaries of a product, each as large as a quadrant: eight sums, and three of
/// the seven products. The other four products lie in the quadrants of the result.
const TEMPORARIES: u32 = 8 + 3;

/// A product of two square matrices, each of 4 to the power of `levels` tiles in Z-order. A place
/// is the number of a matrix's first tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Product {
    pub levels: u32,
    pub left: u32,
    pub right: u32,
    pub result: u32,
    /// The place of the temporaries, which take [`room`] tiles.
    pub room: u32,
}

/// Returns the number of tiles that the temporaries of a product take. The seven products below a
/// product are computed in parallel if the product has at most `parallel_levels` levels.
pub fn room(levels: u32, parallel_levels: u32) -> u32 {
    match levels {
        0 => 0,
        _ if levels > parallel_levels => {
            TEMPORARIES * tiles(levels - 1) + room(levels - 1, parallel_levels)
        }
        _ => TEMPORARIES * tiles(levels - 1) + 7 * room(levels - 1, parallel_levels),
    }
}

impl Product {
    /// Returns the product of the whole matrices. Both factors, the result and the temporaries lie
    /// one after the other from tile 0 on.
    pub fn whole(levels: u32) -> Product {
        let [left, right, result, room] = [0, 1, 2, 3].map(|matrix| matrix * tiles(levels));
        Product {
            levels,
            left,
            right,
            result,
            room,
        }
    }

    /// Returns the number of tiles in a quadrant.
    pub fn quadrant(&self) -> u32 {
        tiles(self.levels - 1)
    }

    /// Returns the places of the four quadrants of a matrix at the place `from`, in row-major
    /// order.
    pub fn quadrants(&self, from: u32) -> [u32; 4] {
        [0, 1, 2, 3].map(|number| from + number * self.quadrant())
    }

    /// Returns the places of *S₁* to *S₄*.
    pub fn left_sums(&self) -> [u32; 4] {
        self.quadrants(self.room)
    }

    /// Returns the places of *T₁* to *T₄*.
    pub fn right_sums(&self) -> [u32; 4] {
        self.quadrants(self.room + 4 * self.quadrant())
    }

    /// Returns the seven products that make up this product, in the order of the parameters of
    /// [`whole`](purloin_kernels::strassen::sums::whole).
    pub fn seven(&self, parallel_levels: u32) -> [Product; 7] {
        let [a11, a12, _, a22] = self.quadrants(self.left);
        let [s1, s2, s3, s4] = self.left_sums();
        let [b11, _, b21, b22] = self.quadrants(self.right);
        let [t1, t2, t3, t4] = self.right_sums();
        let [c11, c12, c21, c22] = self.quadrants(self.result);
        let [c5, c6, c7, below] = self.quadrants(self.room + 8 * self.quadrant());

        let levels = self.levels - 1;
        let distance = match self.levels > parallel_levels {
            true => 0,
            false => room(levels, parallel_levels),
        };
        let mut next = below;
        [
            (a11, b11, c11),
            (s1, t1, c12),
            (s2, t2, c21),
            (s3, t3, c22),
            (a12, b21, c5),
            (s4, b22, c6),
            (a22, t4, c7),
        ]
        .map(|(left, right, result)| {
            let room = next;
            next += distance;
            Product {
                levels,
                left,
                right,
                result,
                room,
            }
        })
    }

    /// Returns the places of the results of the seven products.
    pub fn results(&self) -> [u32; 7] {
        self.seven(0).map(|product| product.result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Appends the temporaries of a product and of all products below it to `written`: the first
    /// tile of each, and the number of tiles.
    fn temporaries(product: &Product, parallel_levels: u32, written: &mut Vec<(u32, u32)>) {
        if product.levels == 0 {
            return;
        }
        let sums = product.left_sums().into_iter().chain(product.right_sums());
        let tiles = sums.chain(product.results().into_iter().skip(4));
        written.extend(tiles.map(|tile| (tile, product.quadrant())));
        for product in product.seven(parallel_levels) {
            temporaries(&product, parallel_levels, written);
        }
    }

    #[test]
    fn products_computed_in_parallel_have_separate_temporaries() {
        let product = Product::whole(3);
        let mut written = Vec::new();
        temporaries(&product, 3, &mut written);
        written.sort_unstable();
        let mut next = product.room;
        for (tile, len) in written {
            assert_eq!(tile, next);
            next += len;
        }
        assert_eq!(next, product.room + room(3, 3));
    }

    #[test]
    fn products_computed_one_after_the_other_share_their_temporaries() {
        let product = Product::whole(3);
        let seven = product.seven(2);
        let below = product.room + TEMPORARIES * product.quadrant();
        assert!(seven.iter().all(|product| product.room == below));
        let mut written = Vec::new();
        temporaries(&product, 2, &mut written);
        let end = written.iter().map(|(tile, len)| tile + len).max();
        assert_eq!(end, Some(product.room + room(3, 2)));
    }

    #[test]
    fn the_seven_products_have_the_expected_places() {
        let product = Product::whole(1);
        assert_eq!(product.results(), [8, 9, 10, 11, 20, 21, 22]);
        assert_eq!(product.left_sums(), [12, 13, 14, 15]);
        assert_eq!(product.right_sums(), [16, 17, 18, 19]);
        let seven = product.seven(1);
        let lefts = seven.map(|product| product.left);
        assert_eq!(lefts, [0, 12, 13, 14, 1, 15, 3]);
        let rights = seven.map(|product| product.right);
        assert_eq!(rights, [4, 16, 17, 18, 6, 7, 19]);
    }
}
