//! Charts of values against numbers of cores: [`Lines`].

use std::collections::BTreeSet;
use std::fmt::Write;

use super::axis::{Axis, Scale, plain};
use super::{Figure, escape};

/// Lines through values for numbers of cores or workers, on a logarithmic horizontal axis.
pub struct Lines {
    /// The quantity on the vertical axis, with its unit.
    pub vertical: String,
    /// What the horizontal axis counts, such as "workers".
    pub horizontal: &'static str,
    /// The scale of the vertical axis.
    pub scale: Scale,
    /// The lines.
    pub series: Vec<Series>,
    /// A shaded region.
    pub region: Option<Region>,
}

/// A shaded region of a chart.
pub struct Region {
    /// The name, for the legend.
    pub name: &'static str,
    /// Numbers of cores, each with the lower and the upper end of the region.
    pub ends: Vec<(f64, f64, f64)>,
}

/// One line of a chart.
pub struct Series {
    /// The name, for the legend.
    pub name: String,
    /// Numbers of cores, each with its value and the margin of the value.
    pub points: Vec<(f64, f64, f64)>,
    /// Whether the line is there to compare with, and has no marks.
    pub is_guide: bool,
}

/// The height of the region with the lines, in pixels.
const HEIGHT: f64 = 260.0;

/// The maximum number of labels on the horizontal axis.
const MAX_LABELS: usize = 8;

/// The least distance between two labels on the horizontal axis, in per cent of its length.
const LABEL_DISTANCE: f64 = 6.0;

/// The marks of the lines, around the point (0, 0).
const MARKS: [&str; 4] = [
    "M0 -4.5a4.5 4.5 0 1 0 .01 0z",
    "M-4 -4h8v8h-8z",
    "M0 -5.5l5.5 5.5l-5.5 5.5l-5.5 -5.5z",
    "M0 -5l5 9h-10z",
];

/// Number of colours in the style sheet.
const COLOURS: usize = 7;

impl Lines {
    /// Draws the chart. `label` says what it shows, for readers who do not see it.
    pub fn figure(&self, label: &str, caption: String) -> Figure {
        let html = self.draw(label);
        Figure {
            html: html.expect("writing to a string cannot fail"),
            caption,
        }
    }

    fn draw(&self, label: &str) -> Result<String, std::fmt::Error> {
        let mut html = String::new();
        let region = self.region.iter().flat_map(|region| &region.ends);
        let points = || self.series.iter().flat_map(|series| &series.points);
        let cores = points()
            .map(|point| point.0)
            .chain(region.clone().map(|ends| ends.0));
        let across = Axis::around(Scale::Logarithmic, cores.clone());
        let values = points().flat_map(|(_, value, margin)| [value - margin, value + margin]);
        let ends = region.clone().flat_map(|(_, low, high)| [*low, *high]);
        let up = Axis::around(self.scale, values.chain(ends));
        let x = |cores: f64| across.place(cores).map(|place| 100.0 * place);
        let y = |value: f64| up.place(value).map(|place| HEIGHT * (1.0 - place));
        let at = |cores, value| Some((x(cores)?, y(value)?));
        write!(
            html,
            "<p class=\"vertical\" aria-hidden=\"true\">{}</p>\n<div class=\"lines\" role=\"img\" \
             aria-label=\"{}\"><svg height=\"{:.0}\">",
            escape(&self.vertical),
            escape(label),
            HEIGHT + 40.0
        )?;
        for tick in up.ticks(6) {
            if let Some(y) = y(tick) {
                write!(
                    html,
                    "<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text x=\"-8\" \
                     y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                    y + 4.0,
                    plain(tick)
                )?;
            }
        }
        let numbers: BTreeSet<u64> = cores.map(|cores| cores as u64).collect();
        let step = numbers.len().div_ceil(MAX_LABELS).max(1);
        // The label of the largest number is always there.
        let mut last = f64::INFINITY;
        for number in numbers.iter().rev().step_by(step) {
            if let Some(x) = x(*number as f64).filter(|x| last - x >= LABEL_DISTANCE) {
                last = x;
                write!(
                    html,
                    "<text x=\"{x:.2}%\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
                    HEIGHT + 18.0,
                    label_of(*number)
                )?;
            }
        }
        write!(
            html,
            "<line class=\"axis\" x1=\"0\" x2=\"100%\" y1=\"{HEIGHT}\" y2=\"{HEIGHT}\"/><text x=\"100%\" \
             y=\"{:.0}\" text-anchor=\"end\">{}</text>",
            HEIGHT + 36.0,
            self.horizontal
        )?;
        if let Some(Region { ends, .. }) = &self.region {
            let low = ends.iter().filter_map(|&(cores, low, _)| at(cores, low));
            let high = ends
                .iter()
                .rev()
                .filter_map(|&(cores, _, high)| at(cores, high));
            let corners = low.chain(high).map(|(x, y)| format!("{x:.2} {y:.1}"));
            let corners: Vec<_> = corners.collect();
            if !corners.is_empty() {
                write!(
                    html,
                    "<svg width=\"100%\" height=\"{HEIGHT}\" viewBox=\"0 0 100 {HEIGHT}\" \
                     preserveAspectRatio=\"none\"><path class=\"band\" d=\"M{}z\"/></svg>",
                    corners.join("L")
                )?;
            }
        }
        for (series, style) in self.styled() {
            let points = series.points.iter();
            let places: Vec<_> = points
                .filter_map(|&(cores, value, _)| at(cores, value))
                .collect();
            write!(html, "<g class=\"{}\">", style.class)?;
            for ends in places.windows(2) {
                let [(x1, y1), (x2, y2)] = [ends[0], ends[1]];
                write!(
                    html,
                    "<line class=\"line\" x1=\"{x1:.2}%\" y1=\"{y1:.1}\" x2=\"{x2:.2}%\" y2=\"{y2:.1}\"/>"
                )?;
            }
            for &(cores, value, margin) in &series.points {
                // On a logarithmic axis, the lower end may have no place.
                let end = |value| at(cores, up.clamp(value));
                let ends = (end(value - margin), end(value + margin));
                if let ((Some((x, low)), Some((_, high))), true) = (ends, margin > 0.0) {
                    write!(
                        html,
                        "<line class=\"margin\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"{low:.1}\" \
                         y2=\"{high:.1}\"/>"
                    )?;
                }
            }
            if let Some(mark) = style.mark {
                for (x, y) in places {
                    write!(
                        html,
                        "<svg x=\"{x:.2}%\" y=\"{y:.1}\" width=\"1\" height=\"1\" overflow=\"visible\"><path \
                         class=\"mark\" d=\"{mark}\"/></svg>"
                    )?;
                }
            }
            html.push_str("</g>");
        }
        html.push_str("</svg></div>\n");
        self.write_legend(&mut html)?;
        Ok(html)
    }

    fn write_legend(&self, html: &mut String) -> std::fmt::Result {
        html.push_str("<ul class=\"legend\">");
        for (series, Style { class, mark }) in self.styled() {
            let mark = mark.map(|mark| {
                format!("<path class=\"mark\" transform=\"translate(11 7)\" d=\"{mark}\"/>")
            });
            write!(
                html,
                "<li><svg width=\"22\" height=\"14\" aria-hidden=\"true\" class=\"{class}\"><line \
                 class=\"line\" x1=\"0\" x2=\"22\" y1=\"7\" y2=\"7\"/>{}</svg>{}</li>",
                mark.unwrap_or_default(),
                escape(&series.name)
            )?;
        }
        if let Some(Region { name, .. }) = &self.region {
            write!(
                html,
                "<li><svg width=\"22\" height=\"14\" aria-hidden=\"true\"><path class=\"band\" \
                 d=\"M0 0h22v14h-22z\"/></svg>{name}</li>"
            )?;
        }
        writeln!(html, "</ul>")
    }

    /// Returns the lines with their styles. The guide takes no colour from the others.
    fn styled(&self) -> impl Iterator<Item = (&Series, Style)> {
        let mut number = 0;
        self.series.iter().map(move |series| match series.is_guide {
            true => (series, Style::GUIDE),
            false => {
                number += 1;
                (series, Style::of(number - 1))
            }
        })
    }
}

/// The style of a line.
struct Style {
    class: String,
    mark: Option<&'static str>,
}

impl Style {
    const GUIDE: Style = Style {
        class: String::new(),
        mark: None,
    };

    /// Returns the style of the line with this number. Once the colours repeat, the marks are hollow.
    fn of(number: usize) -> Style {
        let hollow = if number < COLOURS { "" } else { " hollow" };
        Style {
            class: format!("series c{}{hollow}", number % COLOURS),
            mark: Some(MARKS[number % MARKS.len()]),
        }
    }
}

/// Formats a number of cores in few characters.
fn label_of(number: u64) -> String {
    match number {
        0 => "0".to_string(),
        _ if number.is_multiple_of(1 << 20) => format!("{}Mi", number >> 20),
        _ if number >= 10_000 && number.is_multiple_of(1 << 10) => format!("{}Ki", number >> 10),
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_has_a_mark_and_every_line_a_name() {
        let series = |number: usize| Series {
            name: format!("line <{number}>"),
            points: vec![(1.0, 1.0, 0.0), (64.0, 40.0, 2.0), (f64::NAN, 1.0, 0.0)],
            is_guide: number == 0,
        };
        let lines = Lines {
            vertical: "speed-up".into(),
            horizontal: "cores",
            scale: Scale::Logarithmic,
            series: (0..9).map(series).collect(),
            region: Some(Region {
                name: "in theory",
                ends: vec![(1.0, 0.9, 1.0), (64.0, 30.0, 64.0)],
            }),
        };
        let html = lines.figure("a chart", String::new()).html;
        // Eight lines have two points each, and a mark in the legend. The other one is a guide.
        assert_eq!(html.matches("class=\"mark\"").count(), 8 * 3);
        assert_eq!(html.matches("class=\"margin\"").count(), 9);
        assert!(html.contains("line &lt;8&gt;") && html.contains("in theory"));
        assert!(html.contains(">64</text>") && !html.contains("NaN"));
    }

    fn drawn(points: Vec<(f64, f64, f64)>) -> String {
        let series = Series {
            name: "a line".into(),
            points,
            is_guide: false,
        };
        let lines = Lines {
            vertical: "time".into(),
            horizontal: "workers",
            scale: Scale::Logarithmic,
            series: vec![series],
            region: None,
        };
        lines.figure("a chart", String::new()).html
    }

    #[test]
    fn labels_of_close_numbers_are_left_out() {
        let html = drawn([1.0, 15.0, 16.0].map(|cores| (cores, cores, 0.0)).into());
        let labels = |number| html.contains(&format!("text-anchor=\"middle\">{number}</text>"));
        assert!(labels(1) && !labels(15) && labels(16), "{html}");
    }

    #[test]
    fn a_margin_below_0_ends_at_the_logarithmic_axis() {
        let html = drawn(vec![(1.0, 1.0, 0.1), (2.0, 2.0, 3.0)]);
        assert_eq!(html.matches("class=\"margin\"").count(), 2, "{html}");
    }
}
