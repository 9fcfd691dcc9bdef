//! SVG pictures of values that have names instead of numbers: [`Bars`].

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::prelude::*;
use purloin_command::Failure;
use purloin_sim::Estimate;

use super::svg::{
    Area, Drawing, Drawn, TITLE, bounds, draw_key, draw_name, draw_svg, fill_colour,
    width_of_legend,
};

/// Panels with a group of horizontal bars for each name, from top to bottom.
pub struct Bars {
    /// The title.
    pub title: String,
    /// The names of the groups.
    pub names: Vec<&'static str>,
    /// The names of the bars of each group.
    pub series: Vec<String>,
    /// The value at which bars begin: 1 for ratios, and otherwise 0.
    pub base: f64,
    /// The panels, from left to right.
    pub panels: Vec<BarPanel>,
}

/// One diagram.
pub struct BarPanel {
    /// The title.
    pub title: String,
    /// The values of each name, one for each bar. `None` leaves out the bar.
    pub values: Vec<Vec<Option<Estimate>>>,
}

/// The width of a panel, in pixels.
const WIDTH: u32 = 440;
/// The height of a bar, in pixels.
const BAR: u32 = 11;
/// The distance between two groups, in pixels.
const GAP: u32 = 7;
/// The height of everything around the bars, in pixels.
const FRAME: u32 = 90;
/// The width of a letter of a name, in pixels.
const LETTER: u32 = 7;

impl Drawing for Bars {
    fn title(&self) -> &str {
        &self.title
    }

    fn svg(&self) -> Result<String, Failure> {
        let group = BAR * self.series.len() as u32 + GAP;
        let graphs = WIDTH * self.panels.len() as u32;
        let legend = width_of_legend(self.series.iter().map(String::as_str));
        let size = (
            graphs + legend,
            group * self.names.len() as u32 + FRAME + TITLE,
        );
        draw_svg(size, |area| {
            area.fill(&WHITE)?;
            let area = area.titled(&self.title, ("sans-serif", 18))?;
            let (graphs, legend) = area.split_horizontally(graphs);
            let places = graphs.split_evenly((1, self.panels.len()));
            for (panel, place) in self.panels.iter().zip(&places) {
                self.draw_panel(panel, place)?;
            }
            for (number, name) in self.series.iter().enumerate() {
                draw_key(&legend, number, fill_colour(number).filled())?;
                draw_name(&legend, number, name)?;
            }
            area.present()
        })
    }
}

impl Bars {
    fn draw_panel(&self, panel: &BarPanel, area: &Area<'_>) -> Drawn {
        let longest = self.names.iter().map(|name| name.len()).max();
        let mut chart = ChartBuilder::on(area)
            .caption(&panel.title, ("sans-serif", 15))
            .margin(12)
            .x_label_area_size(24)
            .y_label_area_size(LETTER * longest.unwrap_or(0) as u32 + 12)
            .build_cartesian_2d(self.ends(panel), Names(self.names.len()))?;
        chart
            .configure_mesh()
            .x_labels(8)
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12))
            .y_label_formatter(&|place| self.name(*place).to_owned())
            .draw()?;
        let part = |pixels: f64| {
            let group = BAR as usize * self.series.len() + GAP as usize;
            pixels / group as f64
        };
        for (group, values) in panel.values.iter().enumerate() {
            for (number, value) in values.iter().enumerate() {
                let Some(value) = value.filter(|value| value.mean.is_finite()) else {
                    continue;
                };
                // A group begins half its height above its name.
                let pixels = f64::from(BAR) * number as f64 + f64::from(GAP) / 2.0;
                let top = group as f64 - 0.5 + part(pixels);
                let (bottom, middle) =
                    (top + part(f64::from(BAR)), top + part(f64::from(BAR) / 2.0));
                let bar = [(self.base, top), (value.mean, bottom)];
                chart.draw_series([Rectangle::new(bar, fill_colour(number).filled())])?;
                if value.margin > 0.0 && value.margin.is_finite() {
                    let (low, high) = (value.mean - value.margin, value.mean + value.margin);
                    let style = BLACK.filled();
                    let bar = ErrorBar::new_horizontal(middle, low, value.mean, high, style, 5);
                    chart.draw_series([bar])?;
                }
            }
        }
        let line = [
            (self.base, -0.5),
            (self.base, self.names.len() as f64 - 0.5),
        ];
        chart.draw_series([PathElement::new(line, BLACK.stroke_width(1))])?;
        Ok(())
    }

    fn name(&self, place: f64) -> &str {
        self.names.get(place.round() as usize).unwrap_or(&"")
    }

    /// Returns the ends of the axis of values.
    fn ends(&self, panel: &BarPanel) -> Range<f64> {
        let values = panel.values.iter().flatten().flatten();
        let ends = values.flat_map(|value| match value.margin.is_finite() {
            true => [value.mean - value.margin, value.mean + value.margin],
            false => [value.mean; 2],
        });
        let (low, high) = bounds(ends.chain([self.base]));
        let beyond = 0.05 * (high - low).max(0.01);
        // Bars that begin at 0 have no values below.
        let low = if self.base == 0.0 { 0.0 } else { low - beyond };
        low..high + beyond
    }
}

/// The axis of names, from top to bottom: their number.
struct Names(usize);

impl Ranged for Names {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (first, last): (i32, i32)) -> i32 {
        // The vertical axis of a chart goes upwards, and `first` is its lower end.
        let part = (value + 0.5) / self.0.max(1) as f64;
        last + (part * f64::from(first - last)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        (0..self.0).map(|name| name as f64).collect()
    }

    fn range(&self) -> Range<f64> {
        -0.5..self.0 as f64 - 0.5
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_a_bar_and_every_name_a_label() {
        let value = |mean, margin| {
            let exact = Estimate::exact(mean);
            Some(Estimate { margin, ..exact })
        };
        let bars = Bars {
            title: "bars".to_owned(),
            names: vec!["first", "second"],
            series: vec!["left out".to_owned(), "drawn".to_owned()],
            base: 1.0,
            panels: vec![BarPanel {
                title: "a panel".to_owned(),
                values: vec![
                    vec![None, value(1.5, 0.1)],
                    vec![value(f64::NAN, 0.0), value(0.5, f64::INFINITY)],
                ],
            }],
        };
        let svg = bars.svg().unwrap();
        for text in ["first", "second", "left out", "drawn", "a panel"] {
            assert!(svg.contains(&format!(">\n{text}\n<")), "{text} in {svg}");
        }
        // The background, the legend, and the two bars.
        assert_eq!(svg.matches("<rect").count(), 1 + 2 + 2);
    }
}
