//! The progress bar: [`progress`], and [`activity`].

use std::fmt::Write;
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};

/// Returns a progress bar for this number of steps. It appears on standard error if standard error
/// is a terminal. `unit` is the plural of the name of a step.
pub fn progress(steps: u64, unit: &str) -> ProgressBar {
    let template = format!("{{bar:30}} {{pos}}/{{len}} {unit}, {{left}}  {{msg}}");
    let style = ProgressStyle::with_template(&template);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    let style = style.with_key("left", write_left);
    let bar = ProgressBar::new(steps).with_style(style);
    // Draws only once per second, because drawing takes processor time from the measured runs.
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}

/// Returns a line that shows the elapsed time of an activity with an unknown number of steps. It appears on standard
/// error if standard error is a terminal.
pub fn activity() -> ProgressBar {
    let style = ProgressStyle::with_template("{elapsed}  {msg}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
    let line = ProgressBar::new_spinner().with_style(style);
    line.enable_steady_tick(Duration::from_secs(1));
    line
}

/// Writes the estimated remaining time. The estimate uses all finished steps: single steps may take
/// minutes, so a rate of the last seconds, as indicatif computes it, would be 0 most of the time.
fn write_left(state: &ProgressState, text: &mut dyn Write) {
    let (done, all) = (state.pos(), state.len().unwrap_or(0));
    // Ignores errors, because only the display would suffer.
    let _ = match done {
        0 => write!(text, "{:#} so far", HumanDuration(state.elapsed())),
        _ => {
            let left = all.saturating_sub(done) as f64 / done as f64;
            let left = state.elapsed().mul_f64(left);
            write!(text, "{:#} left", HumanDuration(left))
        }
    };
}
