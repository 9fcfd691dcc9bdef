//! How far a command is: [`progress`].

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar that says how many of so many steps are done, shown on standard error if that is a
/// terminal. `unit` is what a step is called, in the plural.
pub fn progress(steps: u64, unit: &str) -> ProgressBar {
    // Of a single step nobody knows how long it will take.
    let time = if steps > 1 { "{eta} left" } else { "{elapsed}" };
    let template = format!("{{bar:30}} {{pos}}/{{len}} {unit}, {time}  {{msg}}");
    let style = ProgressStyle::with_template(&template);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(steps).with_style(style);
    // Seldom: drawing takes processor time from what is measured.
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}
