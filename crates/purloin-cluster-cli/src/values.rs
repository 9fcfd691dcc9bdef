//! Values of options, as text: parsing and printing.

use std::time::Duration;

use purloin_cluster::{CutOff, Grain, MAX_RESIDUAL};
use purloin_command::format::parse_time;

pub fn parse_cut_off(text: &str) -> Result<CutOff, String> {
    match text.split_once(':') {
        Some(("depth", depth)) => match depth.parse() {
            Ok(depth @ 0..=1_000_000) => Ok(CutOff::Depth(depth)),
            _ => Err("a depth is a number from 0 to 1000000, such as depth:5".to_owned()),
        },
        None if text == "adaptive" => Ok(CutOff::Adaptive),
        None if text == "paper" => Ok(CutOff::Paper),
        None if text == "none" => Ok(CutOff::None),
        None if text == "queue" => Ok(CutOff::Queue),
        _ => Err("a cut-off is adaptive, paper, none, depth:D or queue".to_owned()),
    }
}

/// Returns a cut-off as an argument.
pub fn cut_off_text(cut_off: CutOff) -> String {
    match cut_off {
        CutOff::Adaptive => "adaptive".to_owned(),
        CutOff::Paper => "paper".to_owned(),
        CutOff::None => "none".to_owned(),
        CutOff::Depth(depth) => format!("depth:{depth}"),
        CutOff::Queue => "queue".to_owned(),
    }
}

/// Parses a number from `least` to `most`.
pub fn parse_number(text: &str, least: usize, most: usize) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| format!("it must be a number from {least} to {most}"))
}

pub fn parse_residual(text: &str) -> Result<usize, String> {
    parse_number(text, 0, MAX_RESIDUAL)
}

pub fn parse_runs(text: &str) -> Result<usize, String> {
    parse_number(text, 1, 1000)
}

pub fn parse_latency(text: &str) -> Result<Duration, String> {
    parse_time(text).ok_or_else(|| "a latency is a time from 0ns to 1s, such as 200us".to_owned())
}

pub fn parse_grain(text: &str) -> Result<Grain, String> {
    match text {
        "auto" => Ok(Grain::Auto),
        _ => parse_time(text)
            .map(Grain::Fixed)
            .ok_or_else(|| "a grain is auto, or a time from 0ns to 1s, such as 2ms".to_owned()),
    }
}

/// Returns a grain as an argument.
pub fn grain_text(grain: Grain) -> String {
    match grain {
        Grain::Auto => "auto".to_owned(),
        Grain::Fixed(time) => time_text(time),
    }
}

/// Returns a time as an argument, in its largest unit without a fraction.
pub fn time_text(time: Duration) -> String {
    let nanoseconds = time.as_nanos();
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    let unit = units
        .iter()
        .find(|(_, size)| nanoseconds > 0 && nanoseconds.is_multiple_of(*size));
    let (unit, size) = unit.unwrap_or(&("ns", 1));
    format!("{}{unit}", nanoseconds / size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_time_is_the_time_that_was_parsed() {
        for text in ["0ns", "1s", "200us", "15ms", "1001us", "7ns"] {
            assert_eq!(time_text(parse_time(text).unwrap()), text);
        }
    }
}
