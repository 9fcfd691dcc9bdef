//! Pages in HTML that show a result: [`Page`].
//!
//! A page has the style of the report of a traced run, and holds everything it needs. It has no script: the charts are
//! SVG, in which horizontal places are percentages, so that a chart is as wide as the screen while its texts keep their
//! size.

mod axis;
mod dots;
mod lines;

use std::ffi::OsString;
use std::fmt::Write;

pub use self::axis::Scale;
pub use self::dots::{Dots, Row};
pub use self::lines::{Lines, Region, Series};
use crate::Machine;
use crate::table::Table;

/// A page that shows the result of a command.
pub struct Page {
    /// The command, such as `purloin bench`.
    pub command: &'static str,
    /// What the result is about.
    pub title: String,
    /// Where the result comes from, such as [`this_machine`]; may be empty.
    pub origin: Vec<String>,
    /// The result in one sentence.
    pub sentence: String,
    /// More sentences.
    pub details: Vec<String>,
    /// The parts of the result.
    pub sections: Vec<Section>,
    /// The meaning of the columns, one in each line.
    pub legend: String,
}

/// A part of a page: charts, and the tables with their numbers.
#[derive(Default)]
pub struct Section {
    /// The title.
    pub title: String,
    /// A sentence below the title; may be empty.
    pub lead: String,
    /// The charts.
    pub figures: Vec<Figure>,
    /// Tables with their captions.
    pub tables: Vec<(String, Table)>,
}

/// A chart as HTML, with its caption.
pub struct Figure {
    html: String,
    caption: String,
}

/// Returns this machine, as the origin of a page.
pub fn this_machine() -> Vec<String> {
    let machine = Machine::this();
    vec![
        machine.processor,
        format!("{} cores", machine.cores),
        format!("Purloin {}", machine.purloin),
    ]
}

impl Page {
    /// Returns the page as HTML. Its end names the machine, and the command line of this process.
    pub fn html(&self) -> String {
        let mut html = String::new();
        self.write(&mut html)
            .expect("writing to a string cannot fail");
        html
    }

    fn write(&self, html: &mut String) -> std::fmt::Result {
        let (command, title) = (escape(self.command), escape(&self.title));
        let machine = Machine::this();
        write!(
            html,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <!-- The page loads nothing: the browser itself refuses every request. -->\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
             style-src 'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n\
             <title>{title} – {command}</title>\n<style>\n{}{}</style>\n</head>\n<body>\n<main>\n\
             <header>\n<p class=\"kicker\">{command}</p>\n<h1>{title}</h1>\n\
             {}</header>\n<section class=\"verdict\" aria-label=\"Verdict\">\n\
             <p class=\"title\">{}</p>\n",
            purloin_trace::STYLE,
            include_str!("charts.css"),
            self.origin_html(),
            escape(&self.sentence)
        )?;
        write_list(html, self.details.iter().map(String::as_str))?;
        html.push_str("</section>\n");
        for section in &self.sections {
            section.write(html)?;
        }
        html.push_str("<footer>\n<h2>About these numbers</h2>\n");
        let columns = self.legend.lines().filter(|line| !line.is_empty());
        write_list(html, columns)?;
        writeln!(
            html,
            "<p>The command line was <code>{}</code>, on {}, {} cores, {} {}, with Purloin {}. The page \
             holds all its data and loads nothing from the network.</p>\n</footer>\n</main>\n</body>\n\
             </html>",
            escape(&command_line(std::env::args_os())),
            escape(&machine.processor),
            machine.cores,
            machine.architecture,
            machine.system,
            machine.purloin
        )
    }

    fn origin_html(&self) -> String {
        let parts = self.origin.iter();
        let parts = parts.map(|part| format!("<span>{}</span>", escape(part)));
        match self.origin.is_empty() {
            true => String::new(),
            false => format!("<p class=\"origin\">{}</p>\n", parts.collect::<String>()),
        }
    }
}

impl Section {
    fn write(&self, html: &mut String) -> std::fmt::Result {
        writeln!(html, "<section>\n<h2>{}</h2>", escape(&self.title))?;
        if !self.lead.is_empty() {
            writeln!(html, "<p class=\"muted\">{}</p>", escape(&self.lead))?;
        }
        html.push_str("<div class=\"charts\">\n");
        for Figure { html: svg, caption } in &self.figures {
            let caption = escape(caption);
            writeln!(
                html,
                "<figure>\n{svg}<figcaption>{caption}</figcaption>\n</figure>"
            )?;
        }
        html.push_str("</div>\n");
        for (caption, table) in &self.tables {
            html.push_str(&table.html(caption));
        }
        html.push_str("</section>\n");
        Ok(())
    }
}

fn write_list<'l>(html: &mut String, lines: impl Iterator<Item = &'l str>) -> std::fmt::Result {
    let items: Vec<_> = lines.map(escape).collect();
    match items.is_empty() {
        true => Ok(()),
        false => writeln!(html, "<ul><li>{}</li></ul>", items.join("</li><li>")),
    }
}

/// Returns a text in which no character has a meaning in HTML.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\0' => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// Returns a command line that a shell reads as these arguments, as far as they are UTF-8. The program is named without
/// its folder.
fn command_line(arguments: impl Iterator<Item = OsString>) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_=:,.+/@%".contains(letter);
    let mut words: Vec<_> = arguments
        .map(|word| word.to_string_lossy().into_owned())
        .map(
            |word| match !word.is_empty() && word.chars().all(is_plain) {
                true => word,
                false => format!("'{}'", word.replace('\'', "'\\''")),
            },
        )
        .collect();
    if let Some(program) = words.first_mut() {
        *program = program.rsplit('/').next().unwrap_or_default().to_string();
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_command_line_as_it_was() {
        let words = ["/bin/purloin", "predict", "my file", "it's", "a=b:c,d"];
        let line = command_line(words.into_iter().map(OsString::from));
        assert_eq!(line, "purloin predict 'my file' 'it'\\''s' a=b:c,d");
    }

    #[test]
    fn texts_are_not_read_as_html() {
        let page = Page {
            command: "purloin bench",
            title: "</style><script>".into(),
            origin: vec!["<p>".into()],
            sentence: "a & \"b\"".into(),
            details: vec!["<b>".into()],
            sections: vec![Section {
                title: "<h2>".into(),
                ..Section::default()
            }],
            legend: "x: <i>\n".into(),
        };
        let html = page.html();
        assert!(!html.contains("<script") && !html.contains("<b>") && !html.contains("<i>"));
        assert!(html.contains("a &amp; &quot;b&quot;") && html.contains("<span>&lt;p&gt;</span>"));
        assert!(
            !html.contains("http:") && !html.contains("https:"),
            "nothing to load"
        );
    }
}
