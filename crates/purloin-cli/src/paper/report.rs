//! Reports: [`Report`].

use std::fmt::Write;
use std::fs;
use std::path::Path;

use purloin_command::{Destination, Failure};
use purloin_sim::Estimate;

use super::{Paper, Results};
use crate::simulation::picture::Picture;

/// A report in Markdown, with pictures and verdicts.
#[derive(Default)]
pub struct Report {
    text: String,
    /// The pictures, by the second part of their file names.
    pictures: Vec<(&'static str, Picture)>,
    verdicts: Vec<(&'static str, Verdict, String)>,
}

/// Whether our runs support a statement of the paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Confirmed,
    /// Not confirmed here, for a reason that lies in this machine or in this implementation.
    NotHere,
}

impl Verdict {
    /// Returns `Confirmed` if this holds, and otherwise `NotHere`.
    pub fn confirmed_if(holds: bool) -> Verdict {
        match holds {
            true => Verdict::Confirmed,
            false => Verdict::NotHere,
        }
    }
}

impl Report {
    /// Adds a heading.
    pub fn section(&mut self, title: &str) {
        self.line(&format!("\n## {title}"));
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: &str) {
        self.line(&format!("\n{text}"));
    }

    /// Adds a table. The first column is text, and the others are numbers.
    pub fn table(&mut self, head: &[&str], rows: &[Vec<String>]) {
        let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
        let head: Vec<_> = head.iter().map(|cell| cell.to_string()).collect();
        let rule = format!("|---{}|", "|---:".repeat(head.len() - 1));
        self.line(&format!("\n{}\n{rule}", line(&head)));
        for row in rows {
            self.line(&line(row));
        }
    }

    /// Adds a picture, which goes to the file PAPER-NAME.svg.
    pub fn picture(&mut self, name: &'static str, picture: Picture) {
        // The paper's name is put in when the report is written.
        self.line(&format!("\n![{}](PAPER-{name}.svg)", picture.title));
        self.pictures.push((name, picture));
    }

    /// Adds a verdict on a statement of the paper.
    pub fn verdict(&mut self, statement: &'static str, verdict: Verdict, reason: String) {
        self.verdicts.push((statement, verdict, reason));
    }

    /// Puts the title, the verdicts and the conditions of the run before the sections.
    pub fn head(&mut self, paper: &Paper, results: &Results) {
        let sections = std::mem::take(&mut self.text);
        let Paper { name, citation, .. } = paper;
        let option = if results.quick { " --quick" } else { "" };
        self.line(&format!("# {citation}"));
        self.paragraph(&format!(
            "This page was written by `purloin paper {name}{option}` (version {}) on {}. It has the \
             paper's values beside those of our runs, as far as its text or tables give them.",
            results.version, results.machine
        ));
        self.section("What the paper says, and what we found");
        let verdicts = std::mem::take(&mut self.verdicts);
        let rows: Vec<_> = verdicts
            .into_iter()
            .map(|(statement, verdict, reason)| {
                let verdict = match verdict {
                    Verdict::Confirmed => "**confirmed**",
                    Verdict::NotHere => "**not confirmed here**",
                };
                format!("- “{statement}” {verdict}: {reason}")
            })
            .collect();
        self.paragraph(&rows.join("\n"));
        self.text.push_str(&sections);
    }

    /// Writes the report and its pictures to a folder.
    pub fn write(self, folder: &Path, paper: &str) -> Result<(), Failure> {
        for (name, picture) in &self.pictures {
            let path = folder.join(format!("{paper}-{name}.svg"));
            Destination::open(&path)?.write_bytes(picture.svg()?.as_bytes())?;
        }
        let text = self.text.replace("](PAPER-", &format!("]({paper}-"));
        let path = folder.join(format!("{paper}.md"));
        fs::write(&path, text)
            .map_err(|error| Failure::Run(format!("cannot write {}: {error}", path.display())))
    }

    fn line(&mut self, line: &str) {
        writeln!(self.text, "{line}").expect("writing to a string cannot fail");
    }
}

/// Returns the geometric mean of the positive finite values, or 1 if there are none.
pub fn geometric_mean(values: &[f64]) -> f64 {
    let logarithms = values.iter().map(|value| value.ln());
    let finite: Vec<_> = logarithms.filter(|value| value.is_finite()).collect();
    (finite.iter().sum::<f64>() / finite.len().max(1) as f64).exp()
}

/// Formats a mean with the margin of its confidence interval, if that is known.
pub fn with_margin(value: Estimate, digits: usize) -> String {
    match value.margin.is_finite() {
        true => format!("{:.digits$} ± {:.digits$}", value.mean, value.margin),
        false => format!("{:.digits$}", value.mean),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_as_many_columns_as_their_heads() {
        let mut report = Report::default();
        report.table(
            &["kernel", "a", "b"],
            &[vec!["fib".into(), "1".into(), "2".into()]],
        );
        let lines: Vec<_> = report.text.trim().lines().collect();
        assert_eq!(
            lines,
            ["| kernel | a | b |", "|---|---:|---:|", "| fib | 1 | 2 |"]
        );
    }
}
