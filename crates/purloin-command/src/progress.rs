//! How far a command is: [`progress`].

use std::fmt::Write;
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};

/// A bar that says how many of so many steps are done, shown on standard error if that is a
/// terminal. `unit` is what a step is called, in the plural.
pub fn progress(steps: u64, unit: &str) -> ProgressBar {
    // Of a single step nobody knows how long it will take.
    let time = if steps > 1 { "{left}" } else { "{elapsed}" };
    let template = format!("{{bar:30}} {{pos}}/{{len}} {unit}, {time}  {{msg}}");
    let style = ProgressStyle::with_template(&template);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    let style = style.with_key("left", write_left);
    let bar = ProgressBar::new(steps).with_style(style);
    // Seldom: drawing takes processor time from what is measured.
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}

/// How long the rest takes, if its steps take as long as those before: they may take minutes
/// each, from which a rate of the last moments cannot be told.
fn write_left(state: &ProgressState, text: &mut dyn Write) {
    let (done, all) = (state.pos(), state.len().unwrap_or(0));
    // Nothing can be done about an error.
    let _ = match done {
        0 => write!(text, "{:#} so far", HumanDuration(state.elapsed())),
        _ => {
            let left = all.saturating_sub(done) as f64 / done as f64;
            let left = state.elapsed().mul_f64(left);
            write!(text, "{:#} left", HumanDuration(left))
        }
    };
}
