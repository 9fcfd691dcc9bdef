//! Parts of SVG pictures: colours, titles and legends.

use plotters::coord::Shift;
use plotters::prelude::*;
use purloin_command::Failure;

/// A drawing that can be written as SVG.
pub trait Drawing {
    /// Returns the title.
    fn title(&self) -> &str;

    /// Returns the drawing as SVG text.
    fn svg(&self) -> Result<String, Failure>;
}

/// The height of the title, in pixels.
pub(super) const TITLE: u32 = 34;

/// The width of the legend without its text, in pixels.
const LEGEND: u32 = 50;
/// The width of a letter in the legend, in pixels.
const LETTER: u32 = 8;
/// The font of the legend.
pub(super) const LABELS: (&str, u32) = ("sans-serif", 13);

/// Colours that people with any kind of colour vision can distinguish.
///
/// Source: Okabe and Ito, *Color Universal Design* (2008).
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 0, 0),
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(150, 150, 150),
];

/// Returns the colour of a line.
pub(super) fn colour(number: usize) -> RGBColor {
    COLOURS[number % COLOURS.len()]
}

/// Returns the colour of an area or a bar: grey for the first, because much black hides the rest.
pub(super) fn fill_colour(number: usize) -> RGBColor {
    match number {
        0 => COLOURS[COLOURS.len() - 1],
        number => colour(number),
    }
}

/// Returns the style of a line's points: filled, or hollow once the colours repeat.
pub(super) fn mark(number: usize) -> ShapeStyle {
    match number < COLOURS.len() {
        true => colour(number).filled(),
        false => colour(number).stroke_width(1),
    }
}

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// Draws SVG of this size, in pixels.
pub(super) fn draw_svg(
    size: (u32, u32),
    draw: impl FnOnce(Area<'_>) -> Drawn,
) -> Result<String, Failure> {
    let mut svg = String::new();
    draw(SVGBackend::with_string(&mut svg, size).into_drawing_area())
        .map_err(|error| Failure::Run(format!("cannot draw the picture: {error}")))?;
    Ok(svg)
}

/// Returns the width of a legend with these names, in pixels.
pub(super) fn width_of_legend<'n>(names: impl Iterator<Item = &'n str>) -> u32 {
    let longest = names.map(str::len).max().unwrap_or(0) as u32;
    LEGEND + LETTER * longest
}

/// Returns the height of a row of a legend, in pixels from the top.
pub(super) fn place_in_legend(row: usize) -> i32 {
    50 + 20 * row as i32
}

/// Draws a rectangle in a row of a legend.
pub(super) fn draw_key(area: &Area<'_>, row: usize, style: ShapeStyle) -> Drawn {
    let y = place_in_legend(row);
    area.draw(&Rectangle::new([(4, y - 6), (24, y + 6)], style))
}

/// Draws the name in a row of a legend.
pub(super) fn draw_name(area: &Area<'_>, row: usize, name: &str) -> Drawn {
    let place = (32, place_in_legend(row) - 6);
    area.draw(&Text::new(name.to_owned(), place, LABELS))
}

/// Returns the smallest and the largest finite value, or 0 and 1 if there is none.
pub(super) fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let finite = values.filter(|value| value.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    match low <= high {
        true => (low, high),
        false => (0.0, 1.0),
    }
}
