//! Reports: [`Report`].

use std::fmt::Write;
use std::path::Path;

use purloin_command::format::grouped;
use purloin_command::{Destination, Failure};
use purloin_measure::simulation::svg::Drawing;
use purloin_sim::Estimate;

use super::statistics::all_at_once;
use super::{Paper, Results};

/// A report in Markdown, with pictures and verdicts.
#[derive(Default)]
pub struct Report {
    text: String,
    /// The pictures, by the second part of their file names.
    pictures: Vec<(&'static str, Box<dyn Drawing>)>,
    verdicts: Vec<(&'static str, Verdict, String)>,
    notices: Vec<String>,
}

/// Whether our runs support a statement of the paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Confirmed,
    /// Not confirmed here, for a reason that lies in this machine or in this implementation.
    NotHere,
    /// A confidence interval contains the limit, or our values are too rough to decide.
    Undecided,
    /// Neither this machine nor the simulator has what the statement is about.
    Untestable,
}

impl Verdict {
    /// Returns `Confirmed` if this holds, and otherwise `NotHere`.
    pub fn confirmed_if(holds: bool) -> Verdict {
        match holds {
            true => Verdict::Confirmed,
            false => Verdict::NotHere,
        }
    }

    /// Judges the statement that at least one of the values exceeds a threshold: by the ends of
    /// their confidence intervals, not by their means. The intervals are [widened](all_at_once).
    /// Returns `None` if there are no values.
    pub fn some_above(values: &[Estimate], threshold: f64) -> Option<Verdict> {
        let values = all_at_once(values);
        let is_above = |value: &Estimate| value.mean - value.margin > threshold;
        let is_not_above = |value: &Estimate| value.mean + value.margin <= threshold;
        let verdict = match &values[..] {
            [] => return None,
            _ if values.iter().any(is_above) => Verdict::Confirmed,
            _ if values.iter().all(is_not_above) => Verdict::NotHere,
            _ => Verdict::Undecided,
        };
        Some(verdict)
    }

    /// Judges the statement that each of the values exceeds a threshold. The intervals are
    /// [widened](all_at_once). Returns `None` if there are no values.
    pub fn all_above(values: &[Estimate], threshold: f64) -> Option<Verdict> {
        let verdicts = all_at_once(values).into_iter();
        let verdicts = verdicts.map(|value| Verdict::above(value, threshold));
        verdicts.reduce(Verdict::and)
    }

    /// Judges the statement that a value is in a range.
    pub fn within(value: Estimate, [least, most]: [f64; 2]) -> Verdict {
        let (low, high) = (value.mean - value.margin, value.mean + value.margin);
        match (low > least && high < most, low >= most || high <= least) {
            (true, _) => Verdict::Confirmed,
            (_, true) => Verdict::NotHere,
            _ => Verdict::Undecided,
        }
    }

    /// Judges the statement that a value exceeds a threshold.
    pub fn above(value: Estimate, threshold: f64) -> Verdict {
        let verdict = Verdict::some_above(&[value], threshold);
        verdict.expect("there is a value")
    }

    /// Judges the statement that a value does not exceed a threshold.
    pub fn not_above(value: Estimate, threshold: f64) -> Verdict {
        Verdict::above(value, threshold).of_the_opposite()
    }

    /// Returns the verdict on a statement that has two parts.
    pub fn and(self, other: Verdict) -> Verdict {
        match (self, other) {
            (Verdict::Confirmed, other) => other,
            (Verdict::NotHere, _) | (_, Verdict::NotHere) => Verdict::NotHere,
            (verdict, _) => verdict,
        }
    }

    /// Returns the verdict on the statement that most of these hold.
    pub fn most(verdicts: &[Verdict]) -> Verdict {
        let count = |wanted| {
            verdicts
                .iter()
                .filter(|&&verdict| verdict == wanted)
                .count()
        };
        let half = verdicts.len() / 2;
        if count(Verdict::Confirmed) > half {
            return Verdict::Confirmed;
        }
        match verdicts.len() - count(Verdict::NotHere) <= half {
            true => Verdict::NotHere,
            false => Verdict::Undecided,
        }
    }

    /// Returns the verdict on the opposite statement.
    pub fn of_the_opposite(self) -> Verdict {
        match self {
            Verdict::Confirmed => Verdict::NotHere,
            Verdict::NotHere => Verdict::Confirmed,
            other => other,
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
    pub fn picture(&mut self, name: &'static str, picture: impl Drawing + 'static) {
        // The paper's name is put in when the report is written.
        self.line(&format!("\n![{}](PAPER-{name}.svg)", picture.title()));
        self.pictures.push((name, Box::new(picture)));
    }

    /// Adds a paragraph to the top of the page, above the verdicts.
    pub fn notice(&mut self, text: String) {
        self.notices.push(text);
    }

    /// Adds a verdict on a statement of the paper.
    pub fn verdict(&mut self, statement: &'static str, verdict: Verdict, reason: String) {
        self.verdicts.push((statement, verdict, reason));
    }

    /// Returns the verdict on a statement, if there is one.
    pub fn found(&self, statement: &str) -> Option<Verdict> {
        let mut verdicts = self.verdicts.iter();
        let (_, verdict, _) = verdicts.find(|(other, ..)| *other == statement)?;
        Some(*verdict)
    }

    /// Returns the statements that have a verdict.
    #[cfg(test)]
    pub fn statements(&self) -> Vec<&'static str> {
        let statements = self.verdicts.iter().map(|(statement, ..)| *statement);
        statements.collect()
    }

    #[cfg(test)]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Puts the title, the verdicts and the conditions of the run before the sections.
    pub fn head(&mut self, paper: &Paper, results: &Results) {
        let sections = std::mem::take(&mut self.text);
        let Paper { name, citation, .. } = paper;
        let option = if results.quick { " --quick" } else { "" };
        self.line(&format!("# {citation}"));
        self.paragraph(&format!(
            "`purloin paper {name}{option}` (version {}) wrote this page on {}. It shows our values beside \
             the paper's, where the paper's text or tables state them. The data is in \
             [{name}.json]({name}.json).",
            results.version, results.machine
        ));
        let tools = results.missing_tools();
        if !tools.is_empty() {
            let them = if tools.len() == 1 { "it" } else { "them" };
            self.paragraph(&format!(
                "**Not installed here**: {}. The page leaves out the runs that need {them}, and does \
                 not judge the statements that need those runs.",
                tools.join(" and ")
            ));
        }
        let again = results.measured_again();
        if !again.is_empty() {
            self.paragraph(&format!(
                "Another build than that of the rest measured these parts: {}.",
                again.join("; ")
            ));
        }
        for (part, machine) in results.on_other_machines() {
            self.paragraph(&format!(
                "The part \"{part}\" has counts only, and no times. They come from another machine: {machine}."
            ));
        }
        for notice in std::mem::take(&mut self.notices) {
            self.paragraph(&notice);
        }
        self.section("What the paper says, and what we found");
        self.paragraph(
            "± is a 95 % confidence interval. If our value has one, a statement is **confirmed** if the \
             whole interval meets our limit, and **not confirmed here** if the whole interval misses it. \
             **Not decided** means that the interval contains the limit, or that our values are too rough to \
             decide. *Certainly* always refers to the whole interval. If a verdict depends on the extreme of \
             several values, we widen their intervals so that all of them hold simultaneously with about 95 \
             % confidence. The text shows a widened interval only where it says so.",
        );
        let verdicts = std::mem::take(&mut self.verdicts);
        let rows: Vec<_> = verdicts
            .into_iter()
            .map(|(statement, verdict, reason)| {
                let verdict = match verdict {
                    Verdict::Confirmed => "**confirmed**",
                    Verdict::NotHere => "**not confirmed here**",
                    Verdict::Undecided => "**not decided**",
                    Verdict::Untestable => "**cannot be tested here**",
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
        Destination::open(&path)?.write_bytes(text.as_bytes())
    }

    fn line(&mut self, line: &str) {
        writeln!(self.text, "{line}").expect("writing to a string cannot fail");
    }
}

/// Formats a value, or its absence.
pub fn or_dash<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> String {
    value.map_or("–".to_string(), text)
}

/// Formats the least of several values: rounded down to two digits.
pub fn at_least(value: f64) -> String {
    format!("at least {:.2}", (100.0 * value).floor() / 100.0)
}

/// Formats a mean with the margin of its confidence interval, if that is known.
pub fn with_margin(value: Estimate, digits: usize) -> String {
    let rounded = |value: f64| with_commas(&format!("{value:.digits$}"));
    let mean = match rounded(value.mean) {
        zero if zero == rounded(-0.0) => rounded(0.0),
        mean => mean,
    };
    match value.margin.is_finite() {
        true => format!("{mean} ± {}", rounded(value.margin)),
        false => mean,
    }
}

/// Groups the digits of a decimal number before its point.
fn with_commas(number: &str) -> String {
    let begin = number.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
    let (sign, number) = number.split_at(begin);
    let end = number.find('.').unwrap_or(number.len());
    let (whole, fraction) = number.split_at(end);
    let whole = whole.parse().map_or_else(|_| whole.to_string(), grouped);
    format!("{sign}{whole}{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(mean: f64, margin: f64) -> Estimate {
        Estimate {
            mean,
            margin,
            freedom: 100,
        }
    }

    #[test]
    fn a_high_mean_with_a_wide_interval_decides_nothing() {
        let noisy = estimate(2.298, 5.377);
        let verdict = |values: &[Estimate]| Verdict::some_above(values, 1.1);
        assert_eq!(verdict(&[noisy]), Some(Verdict::Undecided));
        let clear = estimate(1.16, 0.01);
        assert_eq!(verdict(&[noisy, clear]), Some(Verdict::Confirmed));
        assert_eq!(verdict(&[estimate(1.0, 0.05)]), Some(Verdict::NotHere));
        let one_run = estimate(1.5, f64::INFINITY);
        assert_eq!(verdict(&[one_run]), Some(Verdict::Undecided));
        assert_eq!(verdict(&[]), None);
        let not = |value: Estimate| Verdict::not_above(value, 1.1);
        assert_eq!(not(estimate(1.0, 0.05)), Verdict::Confirmed);
        assert_eq!(not(clear), Verdict::NotHere);
        assert_eq!(not(noisy), Verdict::Undecided);
    }

    #[test]
    fn all_of_several_values_must_be_above() {
        let judge = |values: &[Estimate]| Verdict::all_above(values, 1.0);
        let (above, below, unclear) = (estimate(1.2, 0.1), estimate(0.8, 0.1), estimate(1.0, 0.1));
        assert_eq!(judge(&[]), None);
        assert_eq!(judge(&[above, above]), Some(Verdict::Confirmed));
        assert_eq!(judge(&[above, unclear]), Some(Verdict::Undecided));
        assert_eq!(judge(&[unclear, below]), Some(Verdict::NotHere));
    }

    #[test]
    fn most_of_several_statements_are_more_than_half() {
        use Verdict::*;
        assert_eq!(Verdict::most(&[Confirmed, Confirmed, NotHere]), Confirmed);
        assert_eq!(Verdict::most(&[Confirmed, NotHere]), NotHere);
        assert_eq!(Verdict::most(&[Confirmed, Undecided, NotHere]), Undecided);
        assert_eq!(Verdict::most(&[Undecided, NotHere, NotHere]), NotHere);
    }

    #[test]
    fn the_best_of_several_values_needs_a_wider_interval() {
        let best = estimate(1.12, 0.018);
        let others = [estimate(1.0, 0.01); 5];
        let verdict = |values: &[Estimate]| Verdict::some_above(values, 1.1).unwrap();
        assert_eq!(verdict(&[best]), Verdict::Confirmed);
        let all: Vec<_> = others.into_iter().chain([best]).collect();
        assert_eq!(verdict(&all), Verdict::Undecided);
        let (place, deciding) = crate::statistics::deciding(&all, 1.1).unwrap();
        assert!(place == 5 && deciding.margin > 0.024 && deciding.margin < 0.026);
        assert_eq!(verdict(&[others[0]; 6]), Verdict::NotHere);
    }

    #[test]
    fn a_small_negative_mean_is_written_as_zero() {
        assert_eq!(with_margin(estimate(-0.04, 2.21), 1), "0.0 ± 2.2");
        assert_eq!(with_margin(estimate(-0.06, f64::INFINITY), 1), "-0.1");
        assert_eq!(at_least(0.9963), "at least 0.99");
        assert_eq!(
            with_margin(estimate(-12345.6, 1234.5), 1),
            "-12,345.6 ± 1,234.5"
        );
        let unknown = estimate(f64::NAN, f64::INFINITY);
        assert_eq!(with_margin(unknown, 1), "NaN");
    }

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
