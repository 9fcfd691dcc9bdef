//! SVG pictures of values against numbers of cores or other counts: [`Picture`].

use std::collections::BTreeSet;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use purloin_command::{Failure, page};

use super::svg::{
    Area, Drawing, Drawn, TITLE, bounds, colour, draw_key, draw_name, draw_svg, fill_colour, mark,
    place_in_legend, width_of_legend,
};

/// Rows of panels. Every panel has the same style, the same lines and the same horizontal axis.
pub struct Picture {
    /// The title.
    pub title: String,
    /// The horizontal axis of all panels.
    pub horizontal: Horizontal,
    /// How lines are drawn.
    pub style: Style,
    /// The panels of each row, from left to right.
    pub rows: Vec<Vec<Panel>>,
}

/// The horizontal axis.
#[derive(Clone, Copy)]
pub struct Horizontal {
    /// The title.
    pub title: &'static str,
    /// Logarithmic for numbers of cores. Linear for counts that begin at 0, which has no logarithm.
    pub scale: Scale,
}

impl Horizontal {
    /// Numbers of cores.
    pub const CORES: Horizontal = Horizontal {
        title: "cores",
        scale: Scale::Logarithmic,
    };

    /// Returns the place of a number on the axis.
    fn place(self, number: u32) -> f64 {
        match self.scale {
            Scale::Linear => f64::from(number),
            Scale::Logarithmic => f64::from(number).log2(),
        }
    }

    /// Returns the label of a place with a number.
    fn label(self, place: f64) -> String {
        match self.scale {
            Scale::Linear => count(place.round()),
            Scale::Logarithmic => count(place.exp2().round()),
        }
    }
}

/// The style of a panel's lines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// One line for each series.
    Lines,
    /// Stacked areas. All lines have points for the same numbers.
    Areas,
}

/// One diagram: values against numbers of cores.
pub struct Panel {
    /// The title.
    pub title: String,
    /// The scale of the vertical axis.
    pub scale: Scale,
    /// The lines.
    pub lines: Vec<Line>,
    /// A shaded region: its lower and upper end for each number of cores.
    pub region: Vec<(u32, f64, f64)>,
}

/// The scale of an axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// A vertical axis begins at 0, or at the smallest value if the values are close to each other.
    Linear,
    /// A logarithmic scale, to base 2.
    Logarithmic,
}

/// One line of a panel.
pub struct Line {
    /// The name, for the legend.
    pub name: String,
    /// Numbers of cores with the value and its margin.
    pub points: Vec<(u32, f64, f64)>,
}

/// The width and the height of a panel, in pixels, if the picture has one row.
const LARGE: (u32, u32) = (560, 420);
/// The width and the height of a panel, in pixels, if the picture has several rows.
const SMALL: (u32, u32) = (320, 270);

/// The maximum number of labels on the horizontal axis.
const MAX_MARKS: usize = 12;

/// The name of a shaded region in the legend.
const IN_THEORY: &str = "in theory";

/// The colour of shaded regions.
const SHADE: RGBAColor = RGBAColor(0, 0, 0, 0.2);

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<HorizontalAxis, RangedCoordf64>>;

impl Drawing for Picture {
    fn title(&self) -> &str {
        &self.title
    }

    fn svg(&self) -> Result<String, Failure> {
        let lines = self.rows.iter().flatten().flat_map(|panel| &panel.lines);
        let names = lines.map(|line| line.name.as_str()).chain([IN_THEORY]);
        let (width, height) = self.size_of_panel();
        let size = (
            width * self.columns() as u32 + width_of_legend(names),
            height * self.rows.len() as u32 + TITLE,
        );
        draw_svg(size, |area| self.draw(area))
    }
}

impl Picture {
    fn size_of_panel(&self) -> (u32, u32) {
        match self.rows.len() {
            1 => LARGE,
            _ => SMALL,
        }
    }

    /// Returns the length of the longest row.
    fn columns(&self) -> usize {
        self.rows.iter().map(Vec::len).max().unwrap_or(0)
    }

    fn draw(&self, area: Area<'_>) -> Drawn {
        area.fill(&WHITE)?;
        let area = area.titled(&self.title, ("sans-serif", 18))?;
        let columns = self.columns();
        let (graphs, legend) = area.split_horizontally(self.size_of_panel().0 * columns as u32);
        let places = graphs.split_evenly((self.rows.len(), columns));
        for (row, places) in self.rows.iter().zip(places.chunks(columns.max(1))) {
            for (panel, place) in row.iter().zip(places) {
                panel.draw(place, self.horizontal, self.style)?;
            }
        }
        if let Some(panel) = self.rows.iter().flatten().next() {
            panel.draw_legend(&legend, self.style)?;
        }
        area.present()
    }
}

/// Returns the panels of a picture of [lines](Style::Lines) as charts of a page.
pub fn lines_of(picture: &Picture) -> Vec<page::Lines> {
    let lines = |panel: &Panel| page::Lines {
        vertical: panel.title.clone(),
        horizontal: picture.horizontal.title,
        scale: match panel.scale {
            Scale::Linear => page::Scale::Linear,
            Scale::Logarithmic => page::Scale::Logarithmic,
        },
        series: (panel.lines.iter())
            .map(|line| page::Series {
                name: line.name.clone(),
                points: (line.points.iter())
                    .map(|&(cores, value, margin)| (cores.into(), value, margin))
                    .collect(),
                is_guide: false,
            })
            .collect(),
        region: (!panel.region.is_empty()).then(|| {
            let ends = panel.region.iter();
            let ends = ends.map(|&(cores, low, high)| (cores.into(), low, high));
            page::Region {
                name: IN_THEORY,
                ends: ends.collect(),
            }
        }),
    };
    picture.rows.iter().flatten().map(lines).collect()
}

/// The horizontal axis as plotters draws it.
struct HorizontalAxis {
    ends: (f64, f64),
    /// The places with a label.
    marks: Vec<f64>,
}

impl Ranged for HorizontalAxis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (first, last): (i32, i32)) -> i32 {
        let part = (value - self.ends.0) / (self.ends.1 - self.ends.0);
        first + (part * f64::from(last - first)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.marks.clone()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.ends.0..self.ends.1
    }
}

impl Panel {
    fn draw(&self, area: &Area<'_>, axis: Horizontal, style: Style) -> Drawn {
        let (low, high) = match style {
            Style::Lines => self.vertical_ends(),
            Style::Areas => (0.0, self.highest_sum()),
        };
        let horizontal = HorizontalAxis {
            ends: self.horizontal_ends(axis),
            marks: self.marks(axis),
        };
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, ("sans-serif", 15))
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(52)
            .build_cartesian_2d(horizontal, low..high)?;
        let power_of_two = |power: &f64| match (power - power.round()).abs() < 1e-6 {
            true => count(power.exp2()),
            false => String::new(),
        };
        let plain = |value: &f64| format!("{}", (value * 1e3).round() / 1e3);
        let label: &dyn Fn(&f64) -> String = match self.scale {
            Scale::Linear => &plain,
            Scale::Logarithmic => &power_of_two,
        };
        chart
            .configure_mesh()
            .x_desc(axis.title)
            .x_labels(12)
            .y_labels(10)
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12))
            .x_label_formatter(&|place| axis.label(*place))
            .y_label_formatter(label)
            .draw()?;
        if !self.region.is_empty() {
            let place = |cores: u32, value: f64| (axis.place(cores), self.height(value));
            let low = self.region.iter().map(|&(cores, low, _)| place(cores, low));
            let high = self.region.iter().rev();
            let high = high.map(|&(cores, _, high)| place(cores, high));
            let outline: Vec<_> = low.chain(high).collect();
            chart.draw_series([Polygon::new(outline, SHADE)])?;
        }
        match style {
            Style::Lines => self.draw_lines(&mut chart, axis, low),
            Style::Areas => self.draw_areas(&mut chart, axis),
        }
    }

    /// Draws lines with error bars. `low` is the lower end of the vertical axis.
    fn draw_lines(&self, chart: &mut Chart<'_, '_>, axis: Horizontal, low: f64) -> Drawn {
        for (number, line) in self.lines.iter().enumerate() {
            let colour = colour(number);
            let drawn = line.points.iter();
            let drawn = drawn.filter(|&&(_, value, _)| self.has_place(value));
            let points = drawn.map(|&(cores, value, margin)| {
                let height = |value| self.height(value).max(low);
                let x = axis.place(cores) + self.shift(axis, number);
                (
                    x,
                    height(value - margin),
                    height(value),
                    height(value + margin),
                )
            });
            let points: Vec<_> = points.collect();
            let places = points.iter().map(|&(x, _, y, _)| (x, y));
            chart.draw_series(LineSeries::new(places.clone(), colour.stroke_width(2)))?;
            let mark = mark(number);
            chart.draw_series(places.map(|place| Circle::new(place, 3, mark)))?;
            let has_margin = |&&(_, low, _, high): &&(f64, f64, f64, f64)| low < high;
            let with_margin = points.iter().filter(has_margin);
            chart.draw_series(with_margin.map(|&(x, low, y, high)| {
                ErrorBar::new_vertical(x, low, y, high, colour.filled(), 6)
            }))?;
        }
        Ok(())
    }

    /// Draws areas on top of each other.
    fn draw_areas(&self, chart: &mut Chart<'_, '_>, axis: Horizontal) -> Drawn {
        for (number, (below, above)) in self.sums().windows(2).map(|w| (&w[0], &w[1])).enumerate() {
            let place = |&(cores, value): &(u32, f64)| (axis.place(cores), value);
            let outline = below.iter().map(place).chain(above.iter().rev().map(place));
            let outline: Vec<_> = outline.collect();
            chart.draw_series([Polygon::new(outline, fill_colour(number).filled())])?;
        }
        Ok(())
    }

    /// Returns, for each number of lines, the sums of their values: first of no lines, last of all.
    fn sums(&self) -> Vec<Vec<(u32, f64)>> {
        let numbers = self.lines.iter().flat_map(|line| &line.points);
        let numbers: BTreeSet<u32> = numbers.map(|&(cores, ..)| cores).collect();
        let none: Vec<_> = numbers.into_iter().map(|cores| (cores, 0.0)).collect();
        let mut sums = vec![none];
        for line in &self.lines {
            let mut next = sums[sums.len() - 1].clone();
            for (cores, sum) in &mut next {
                let mut points = line.points.iter();
                *sum += points
                    .find(|point| point.0 == *cores)
                    .map_or(0.0, |point| point.1);
            }
            sums.push(next);
        }
        sums
    }

    /// Returns the upper end of a vertical axis for areas.
    fn highest_sum(&self) -> f64 {
        let sums = self.sums().pop().unwrap_or_default();
        1.1 * bounds(sums.into_iter().map(|(_, sum)| sum)).1
    }

    /// Draws the legend: the name of each line.
    fn draw_legend(&self, area: &Area<'_>, style: Style) -> Drawn {
        for (number, line) in self.lines.iter().enumerate() {
            let y = place_in_legend(number);
            match style {
                Style::Areas => draw_key(area, number, fill_colour(number).filled())?,
                Style::Lines => {
                    let stroke = colour(number).stroke_width(3);
                    area.draw(&PathElement::new([(4, y), (24, y)], stroke))?;
                    area.draw(&Circle::new((14, y), 3, mark(number)))?;
                }
            }
            draw_name(area, number, &line.name)?;
        }
        if !self.region.is_empty() {
            draw_key(area, self.lines.len(), SHADE.filled())?;
            draw_name(area, self.lines.len(), IN_THEORY)?;
        }
        Ok(())
    }

    /// Returns the place of a value on the vertical axis.
    fn height(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value,
            Scale::Logarithmic => value.max(f64::MIN_POSITIVE).log2(),
        }
    }

    /// Returns whether the scale has a place for the value.
    fn has_place(&self, value: f64) -> bool {
        value.is_finite() && (self.scale == Scale::Linear || value > 0.0)
    }

    /// Returns the places of the numbers of cores that get a label: all numbers, or an even
    /// selection.
    fn marks(&self, axis: Horizontal) -> Vec<f64> {
        let points = self.lines.iter().flat_map(|line| &line.points);
        let all: BTreeSet<u32> = points.map(|&(cores, ..)| cores).collect();
        let step = all.len().div_ceil(MAX_MARKS);
        all.into_iter()
            .step_by(step.max(1))
            .map(|cores| axis.place(cores))
            .collect()
    }

    /// Returns the offset by which a line is moved sideways, so that error bars do not overlap.
    fn shift(&self, axis: Horizontal, number: usize) -> f64 {
        let mut points = self.lines.iter().flat_map(|line| &line.points);
        if points.all(|&(.., margin)| margin == 0.0) {
            return 0.0;
        }
        let (low, high) = self.horizontal_ends(axis);
        let lines = self.lines.len() as f64;
        let part = match self.marks(axis).len() {
            1 => 0.8 / lines,
            _ => 0.006,
        };
        (high - low) * part * (number as f64 - (lines - 1.0) / 2.0)
    }

    fn horizontal_ends(&self, axis: Horizontal) -> (f64, f64) {
        let cores = self.lines.iter().flat_map(|line| &line.points);
        let (low, high) = bounds(cores.map(|&(cores, ..)| axis.place(cores)));
        (low - 0.25, high + 0.25)
    }

    fn vertical_ends(&self) -> (f64, f64) {
        let points = self.lines.iter().flat_map(|line| &line.points);
        let values = points.flat_map(|&(_, value, margin)| match self.scale {
            Scale::Linear => [value - margin, value + margin],
            Scale::Logarithmic => [value, value],
        });
        let region = self.region.iter().flat_map(|&(_, low, high)| [low, high]);
        let drawn = values.chain(region).filter(|&value| self.has_place(value));
        let (low, high) = bounds(drawn.map(|value| self.height(value)));
        match self.scale {
            Scale::Linear if low < high / 3.0 => (0.0, 1.1 * high),
            Scale::Linear => {
                let beyond = 0.1 * (high - low).max(0.1 * high);
                (low - beyond, high + beyond)
            }
            // The axis ends at powers of two.
            Scale::Logarithmic => ((low - 0.25).floor(), (high + 0.25).ceil()),
        }
    }
}

/// Formats a number in few characters.
fn count(number: f64) -> String {
    const KIBI: f64 = 1024.0;
    match number {
        _ if number >= KIBI * KIBI => format!("{}Mi", number / KIBI / KIBI),
        _ if number >= 16.0 * KIBI => format!("{}Ki", number / KIBI),
        _ if number > 0.0 && number < 1e-3 => format!("{number:.1e}"),
        _ => format!("{number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASKS: Horizontal = Horizontal {
        title: "tasks",
        scale: Scale::Linear,
    };

    fn panel(title: &str, lines: usize) -> Panel {
        let line = |number| Line {
            name: format!("line {number}"),
            points: (0..7).map(|tasks| (tasks, 1.0, 0.1)).collect(),
        };
        Panel {
            title: title.to_owned(),
            scale: Scale::Linear,
            lines: (0..lines).map(line).collect(),
            region: Vec::new(),
        }
    }

    #[test]
    fn rows_may_differ_in_length() {
        let picture = Picture {
            title: "a picture".to_owned(),
            horizontal: TASKS,
            style: Style::Lines,
            rows: vec![
                vec![panel("left", 2), panel("right", 2)],
                vec![panel("below", 2)],
            ],
        };
        let svg = picture.svg().unwrap();
        for title in ["left", "right", "below"] {
            assert!(svg.contains(&format!(">\n{title}\n<")), "{title} in {svg}");
        }
        assert_eq!(svg.matches(">\nline 1\n<").count(), 1);
        let none = Picture {
            rows: Vec::new(),
            ..picture
        };
        none.svg().unwrap();
    }

    #[test]
    fn counts_from_0_have_places_within_the_picture() {
        let picture = Picture {
            title: "a picture".to_owned(),
            horizontal: TASKS,
            style: Style::Lines,
            rows: vec![vec![panel("a panel", 1)]],
        };
        let svg = picture.svg().unwrap();
        let is_number = |text: &&str| text.parse::<i64>().is_ok();
        let numbers = svg.split(['"', ',', ' ']).filter(is_number);
        let width = 2 * i64::from(LARGE.0);
        for number in numbers.map(|text| text.parse::<i64>().unwrap()) {
            assert!((0..width).contains(&number), "{number} in {svg}");
        }
        // Every number of tasks has a label.
        for tasks in 0..7 {
            assert!(svg.contains(&format!(">\n{tasks}\n<")), "{tasks} in {svg}");
        }
    }
}
