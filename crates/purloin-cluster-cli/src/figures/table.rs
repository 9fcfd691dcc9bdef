//! Tables as text: [`Table`].

/// Cells in columns. The first column contains names, and is aligned to the left.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table with these headings.
    pub fn new<H: Into<String>>(headings: impl IntoIterator<Item = H>) -> Table {
        let mut table = Table { rows: Vec::new() };
        table.row(headings.into_iter().map(Into::into).collect());
        table
    }

    /// Adds a row. Missing cells at its end are empty.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Returns all lines, each indented by two spaces.
    pub fn text(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..columns).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).enumerate();
            let cells = cells.map(|(column, (cell, &width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
            format!("  {}", cells.collect::<Vec<_>>().join("  "))
                .trim_end()
                .to_owned()
                + "\n"
        };
        self.rows.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_aligned_left_and_numbers_right() {
        let mut table = Table::new(["kernel", "0", "±"]);
        table.row(["fib=40", "10.25", "3%"].map(str::to_owned).to_vec());
        table.row(["nqueens=13", "0.97"].map(str::to_owned).to_vec());
        let text = "  kernel          0   ±\n  fib=40      10.25  3%\n  nqueens=13   0.97\n";
        assert_eq!(table.text(), text);
    }
}
