//! The outputs of a simulation: a table, a picture, a page and JSON.

use std::path::PathBuf;

use purloin_command::page::Page;
use purloin_command::{Destination, Failure};

use super::picture::Picture;
use super::svg::Drawing;

/// Options for the outputs other than the table.
#[derive(clap::Args)]
pub struct Outputs {
    /// Draw the result as an SVG picture to this file, or to standard output with -
    #[arg(long, value_name = "FILE.svg|-", value_parser = parse_picture)]
    plot: Option<PathBuf>,

    /// Write the result as JSON to this file, or to standard output with -
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,

    /// Write the result as a page to this file: charts and the table
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

fn parse_picture(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let is_svg = |extension: &std::ffi::OsStr| extension.eq_ignore_ascii_case("svg");
    match path.extension() {
        Some(extension) if !is_svg(extension) => {
            Err("pictures are SVG; choose a file name that ends with .svg".into())
        }
        _ => Ok(path),
    }
}

/// The outputs, opened for writing.
pub struct OpenOutputs {
    plot: Option<Destination>,
    json: Option<Destination>,
    html: Option<Destination>,
}

impl Outputs {
    /// Opens the outputs, so that an unwritable file is reported before a long simulation.
    pub fn open(&self) -> Result<OpenOutputs, Failure> {
        if let (Some(plot), Some(json)) = (&self.plot, &self.json)
            && plot == json
        {
            let place = plot.display();
            return Err(Failure::usage(format_args!(
                "--plot and --json both go to {place}; choose two places"
            )));
        }
        let open = |path: &Option<PathBuf>| path.as_deref().map(Destination::open).transpose();
        Ok(OpenOutputs {
            plot: open(&self.plot)?,
            json: open(&self.json)?,
            html: self
                .html
                .as_deref()
                .map(Destination::open_page)
                .transpose()?,
        })
    }
}

impl OpenOutputs {
    /// Writes the outputs that the user asked for. The table goes to standard output, unless the
    /// picture or the JSON goes there.
    pub fn write(
        self,
        report: &impl serde::Serialize,
        table: impl FnOnce() -> String,
        picture: impl FnOnce() -> Picture,
        page: impl FnOnce() -> Page,
    ) -> Result<(), Failure> {
        let is_standard_output = |destination: &Option<Destination>| {
            destination
                .as_ref()
                .is_some_and(Destination::is_standard_output)
        };
        if !is_standard_output(&self.plot) && !is_standard_output(&self.json) {
            purloin_command::print(&table())?;
        }
        if let Some(json) = self.json {
            json.write(report)?;
        }
        if let Some(plot) = self.plot {
            plot.write_bytes(picture().svg()?.as_bytes())?;
        }
        match self.html {
            Some(html) => html.write_page(&page()),
            None => Ok(()),
        }
    }
}
