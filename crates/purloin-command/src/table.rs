//! Tables, as text for a terminal and as HTML for a page: [`Table`].

use std::fmt::Write;

use crate::page::escape;

/// Rows of cells under the names of their columns.
pub struct Table {
    columns: Vec<Column>,
    /// An empty row separates the rows before it from those after it.
    rows: Vec<Vec<String>>,
}

/// A column of a table.
pub struct Column {
    name: &'static str,
    /// The least width of the column as text, in letters.
    width: usize,
    is_left: bool,
}

impl Column {
    /// Returns a column of words. As text, it has at least this number of letters.
    pub const fn left(name: &'static str, width: usize) -> Column {
        Column {
            name,
            width,
            is_left: true,
        }
    }

    /// Returns a column of numbers. As text, it has at least this number of letters.
    pub const fn right(name: &'static str, width: usize) -> Column {
        Column {
            name,
            width,
            is_left: false,
        }
    }
}

impl Table {
    /// Returns a table without rows.
    pub fn new(columns: impl Into<Vec<Column>>) -> Table {
        Table {
            columns: columns.into(),
            rows: Vec::new(),
        }
    }

    /// Adds a row: a cell for each column.
    pub fn row(&mut self, cells: impl Into<Vec<String>>) {
        let cells = cells.into();
        debug_assert_eq!(cells.len(), self.columns.len(), "{cells:?}");
        self.rows.push(cells);
    }

    /// Separates the rows before from those after.
    pub fn separate(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Returns whether the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the table as lines of text, each after two spaces.
    pub fn text(&self) -> String {
        let width = |(place, column): (usize, &Column)| {
            let cells = self.rows.iter().filter_map(|row| row.get(place));
            let cells = cells.map(|cell| cell.chars().count());
            let widest = cells.max().unwrap_or(0);
            widest.max(column.width).max(column.name.chars().count())
        };
        let widths: Vec<_> = self.columns.iter().enumerate().map(width).collect();
        let mut text = String::new();
        let mut write = |cells: &mut dyn Iterator<Item = &str>| {
            let mut line = String::new();
            for ((cell, &width), column) in cells.zip(&widths).zip(&self.columns) {
                let _ = match column.is_left {
                    true => write!(line, "  {cell:<width$}"),
                    false => write!(line, "  {cell:>width$}"),
                };
            }
            text.push_str(line.trim_end());
            text.push('\n');
        };
        write(&mut self.columns.iter().map(|column| column.name));
        for row in &self.rows {
            write(&mut row.iter().map(String::as_str));
        }
        text
    }

    /// Returns the table as HTML. The first cell of each row is its heading.
    pub(crate) fn html(&self, caption: &str) -> String {
        let kind = |place: usize| match self.columns[place].is_left {
            true => " class=\"word\"",
            false => "",
        };
        let caption = escape(caption);
        let mut html = format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{caption}\"><table>\n\
             <caption>{caption}</caption>\n<thead><tr>"
        );
        for (place, column) in self.columns.iter().enumerate() {
            let _ = write!(
                html,
                "<th scope=\"col\"{}>{}</th>",
                kind(place),
                escape(column.name)
            );
        }
        html.push_str("</tr></thead>\n");
        for rows in self.rows.split(Vec::is_empty) {
            html.push_str("<tbody>\n");
            for row in rows {
                html.push_str("<tr>");
                for (place, cell) in row.iter().map(|cell| escape(cell)).enumerate() {
                    let _ = match place {
                        0 => write!(html, "<th scope=\"row\">{cell}</th>"),
                        _ => write!(html, "<td{}>{cell}</td>", kind(place)),
                    };
                }
                html.push_str("</tr>\n");
            }
            html.push_str("</tbody>\n");
        }
        html.push_str("</table></div>\n");
        html
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new([Column::left("name", 0), Column::right("time", 6)]);
        table.row(["µ".to_string(), "1 ms".to_string()]);
        table.separate();
        table.row(["a<b".to_string(), "12 ms".to_string()]);
        table
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let lines = "  name    time\n  µ       1 ms\n\n  a<b    12 ms\n";
        assert_eq!(table().text(), lines);
    }

    #[test]
    fn in_html_cells_are_text() {
        let html = table().html("both");
        assert!(html.contains("<th scope=\"row\">a&lt;b</th><td>12 ms</td>"));
        assert_eq!(html.matches("<tbody>").count(), 2);
    }
}
