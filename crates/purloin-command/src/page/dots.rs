//! Charts with a row of dots for each name: [`Dots`].

use std::fmt::Write;

use super::axis::{Axis, Scale};
use super::{Figure, escape};

/// Rows of values on a common axis. Each value is a dot, and a stroke marks the middle.
pub struct Dots {
    /// The rows, from top to bottom.
    pub rows: Vec<Row>,
    /// A value to compare with, which gets a line through all rows.
    pub reference: f64,
    /// Whether the axis is always logarithmic.
    pub ratios: bool,
    /// Formats a value on the axis.
    pub format: fn(f64) -> String,
}

/// The values of one name.
pub struct Row {
    /// The name.
    pub name: String,
    /// A text about the values, such as their median.
    pub value: String,
    /// The values.
    pub dots: Vec<f64>,
    /// The middle, or NaN.
    pub middle: f64,
    /// The ends of an interval, which gets a bar.
    pub interval: Option<(f64, f64)>,
}

/// The height of a row, in pixels.
const HEIGHT: u32 = 26;

/// The ratio of the greatest to the smallest value above which the axis is logarithmic: on a linear axis, the smallest
/// values would be one dot.
const WIDE: f64 = 12.0;

impl Dots {
    /// Draws the chart. `label` says what it shows, for readers who do not see it.
    pub fn figure(&self, label: &str, caption: String) -> Figure {
        let values = || {
            let rows = self.rows.iter().flat_map(|row| {
                let ends = row.interval.into_iter().flat_map(|(low, high)| [low, high]);
                row.dots.iter().copied().chain(ends).chain([row.middle])
            });
            rows.chain([self.reference])
                .filter(|value| value.is_finite() && *value > 0.0)
        };
        let (least, most) = (
            values().fold(f64::INFINITY, f64::min),
            values().fold(0.0, f64::max),
        );
        let axis = match self.ratios || most > WIDE * least {
            true => Axis::around(Scale::Logarithmic, values()),
            false => Axis::from_0(values()),
        };
        let html = self.draw(&axis, label);
        Figure {
            html: html.expect("writing to a string cannot fail"),
            caption,
        }
    }

    fn draw(&self, axis: &Axis, label: &str) -> Result<String, std::fmt::Error> {
        let mut html = String::new();
        let html = &mut html;
        let label = escape(label);
        let at = |value: f64| {
            axis.place(value)
                .map(|place| format!("{:.2}%", 100.0 * place))
        };
        let line = |html: &mut String, kind: &str, value: f64, height: u32| match at(value) {
            Some(x) => write!(
                html,
                "<line class=\"{kind}\" x1=\"{x}\" x2=\"{x}\" y1=\"0\" y2=\"{height}\"/>"
            ),
            None => Ok(()),
        };
        writeln!(
            html,
            "<div class=\"dots\" role=\"img\" aria-label=\"{label}\">"
        )?;
        let ticks = axis.ticks(5);
        for row in &self.rows {
            let (name, value) = (escape(&row.name), escape(&row.value));
            write!(
                html,
                "<span class=\"name\">{name}</span><span class=\"value\">{value}</span><svg \
                 height=\"{HEIGHT}\">"
            )?;
            for &tick in &ticks {
                line(html, "grid", tick, HEIGHT)?;
            }
            line(html, "reference", self.reference, HEIGHT)?;
            let y = HEIGHT / 2;
            if let Some((low, high)) = row.interval
                && let (Some(low), Some(high)) = (at(low), at(high))
            {
                write!(
                    html,
                    "<line class=\"interval\" x1=\"{low}\" x2=\"{high}\" y1=\"{y}\" y2=\"{y}\"/>"
                )?;
            }
            for x in row.dots.iter().filter_map(|&dot| at(dot)) {
                write!(
                    html,
                    "<circle class=\"dot\" cx=\"{x}\" cy=\"{y}\" r=\"4\"/>"
                )?;
            }
            if let Some(x) = at(row.middle) {
                write!(
                    html,
                    "<line class=\"middle\" x1=\"{x}\" x2=\"{x}\" y1=\"4\" y2=\"{}\"/>",
                    HEIGHT - 4
                )?;
            }
            html.push_str("</svg>\n");
        }
        write!(html, "<svg class=\"scale\" height=\"20\">")?;
        for &tick in &ticks {
            if let (Some(place), Some(x)) = (axis.place(tick), at(tick)) {
                let anchor = match place {
                    ..0.06 => "start",
                    0.94.. => "end",
                    _ => "middle",
                };
                let text = escape(&(self.format)(tick));
                write!(
                    html,
                    "<text x=\"{x}\" y=\"15\" text-anchor=\"{anchor}\">{text}</text>"
                )?;
            }
        }
        writeln!(html, "</svg></div>")?;
        Ok(std::mem::take(html))
    }
}
