//! The non-empty blocks of the matrix: [`Pattern`].

/// The value that an empty block has instead of a number.
const EMPTY: u32 = u32::MAX;

/// The non-empty blocks, each with a number. The pattern is symmetric.
#[derive(Debug)]
pub struct Pattern {
    /// The number of blocks in a row.
    side: usize,
    /// The number of each block, or [`EMPTY`], in row-major order.
    numbers: Vec<u32>,
    /// The number of non-empty blocks.
    count: usize,
}

/// Returns whether a block of the input is not empty. The non-empty blocks are the blocks on the
/// diagonal and next to it; in every sixth row, the blocks right of the diagonal in even columns;
/// and in every sixth column, the blocks below the diagonal in even rows.
pub fn is_given(row: usize, column: usize) -> bool {
    let is_even = row.is_multiple_of(2) && column.is_multiple_of(2);
    row.abs_diff(column) <= 1 || is_even && row.min(column).is_multiple_of(3)
}

impl Pattern {
    /// Returns the pattern of the factors of a matrix of `side` × `side` blocks.
    pub fn of_factors(side: usize) -> Pattern {
        let places = (0..side * side).map(|place| is_given(place / side, place % side));
        let mut filled: Vec<bool> = places.collect();
        for step in 0..side {
            let (above, below) = filled.split_at_mut((step + 1) * side);
            let pivots = &above[step * side..];
            for row in below.chunks_exact_mut(side).filter(|row| row[step]) {
                for column in step + 1..side {
                    row[column] |= pivots[column];
                }
            }
        }
        let mut count = 0;
        let numbers = filled.iter().map(|&filled| match filled {
            false => EMPTY,
            true => {
                count += 1;
                count - 1
            }
        });
        Pattern {
            side,
            numbers: numbers.collect(),
            count: count as usize,
        }
    }

    /// Returns the number of blocks in a row.
    pub fn side(&self) -> usize {
        self.side
    }

    /// Returns the number of non-empty blocks.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the number of a block, from 0 to below [`Pattern::count`], or `None` if the block is
    /// empty.
    pub fn number(&self, row: usize, column: usize) -> Option<usize> {
        let number = self.numbers[row * self.side + column];
        (number != EMPTY).then_some(number as usize)
    }

    /// Returns the number of operations on blocks that the factorisation takes.
    pub fn operations(&self) -> u64 {
        let squares = (0..self.side).map(|step| (1 + self.beyond(step).count() as u64).pow(2));
        squares.sum()
    }

    /// Returns the columns of the non-empty blocks to the right of a block on the diagonal. Because
    /// the pattern is symmetric, these are also the rows of the non-empty blocks below it.
    pub fn beyond(&self, step: usize) -> impl Iterator<Item = usize> {
        (step + 1..self.side).filter(move |&column| self.number(step, column).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns which elements are not zero in the factors of a matrix with the input's pattern, but
    /// single numbers instead of blocks.
    fn nonzero_in_factors(side: usize) -> Vec<bool> {
        let given = |place| is_given(place / side, place % side);
        let mut matrix: Vec<f64> = (0..side * side)
            .map(|place| match (place / side, place % side) {
                (i, j) if i == j => (2 * side + i) as f64,
                (i, j) => f64::from(given(place)) / (1 + i + 2 * j) as f64,
            })
            .collect();
        for k in 0..side {
            for i in k + 1..side {
                matrix[i * side + k] /= matrix[k * side + k];
                for j in k + 1..side {
                    matrix[i * side + j] -= matrix[i * side + k] * matrix[k * side + j];
                }
            }
        }
        matrix.iter().map(|&number| number != 0.0).collect()
    }

    #[test]
    fn blocks_fill_where_single_numbers_would() {
        for side in 1..=30 {
            let pattern = Pattern::of_factors(side);
            let places = (0..side * side).map(|place| (place / side, place % side));
            let filled: Vec<_> = places
                .map(|(row, column)| pattern.number(row, column).is_some())
                .collect();
            assert_eq!(filled, nonzero_in_factors(side), "{side}");
        }
    }

    #[test]
    fn blocks_are_numbered_consecutively() {
        let pattern = Pattern::of_factors(20);
        let places = (0..400).map(|place| (place / 20, place % 20));
        let numbers = places.filter_map(|(row, column)| pattern.number(row, column));
        assert!(numbers.eq(0..pattern.count()));
    }

    #[test]
    fn the_pattern_is_symmetric() {
        let pattern = Pattern::of_factors(30);
        for step in 0..30 {
            let below = (step + 1..30).filter(|&row| pattern.number(row, step).is_some());
            assert!(below.eq(pattern.beyond(step)));
        }
    }

    #[test]
    fn the_input_has_few_blocks() {
        let row = |row: usize| -> String {
            let columns = (0..14).map(|column| if is_given(row, column) { 'x' } else { '.' });
            columns.collect()
        };
        let expected = [
            "xxx.x.x.x.x.x.",
            "xxx...........",
            "xxxx..........",
            "..xxx.........",
            "x..xxx........",
            "....xxx.......",
            "x....xxxx.x.x.",
            "......xxx.....",
        ];
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(row), expected);
    }
}
