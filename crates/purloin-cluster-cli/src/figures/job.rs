//! The jobs that a figure measures: [`Job`].

use std::fmt;

use purloin_cluster::{Options, Profiling, Steal};

use crate::values::{cut_off_text, grain_text, time_text};

/// A kernel with its input, the number of ranks, and the options.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Job {
    pub kernel: String,
    pub ranks: usize,
    pub options: Options,
}

impl Job {
    /// Returns the arguments of `purloin-cluster` for this job.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![self.kernel.clone()];
        arguments.extend(option_arguments(&self.options));
        arguments
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranks = match self.ranks {
            1 => "rank",
            _ => "ranks",
        };
        write!(
            f,
            "{} on {} {ranks}",
            self.arguments().join(" "),
            self.ranks
        )
    }
}

/// Returns the arguments for the options that differ from the defaults.
pub fn option_arguments(options: &Options) -> Vec<String> {
    let default = Options::default();
    let mut arguments = Vec::new();
    let mut add = |name: &str, value: String, is_default: bool| {
        if !is_default {
            arguments.extend([name.to_owned(), value]);
        }
    };
    let steal = match options.steal {
        Steal::Async => "async",
        Steal::Sync => "sync",
    };
    let profile = match options.profiling {
        Profiling::Local => "local",
        Profiling::Global => "global",
    };
    let residual = options.residual.to_string();
    let cut_off = cut_off_text(options.cut_off);
    let latency = time_text(options.latency);
    add("--steal", steal.to_owned(), options.steal == default.steal);
    add("--cutoff", cut_off, options.cut_off == default.cut_off);
    add("--residual", residual, options.residual == default.residual);
    let is_default = options.profiling == default.profiling;
    add("--profile", profile.to_owned(), is_default);
    add(
        "--grain",
        grain_text(options.grain),
        options.grain == default.grain,
    );
    add("--latency", latency, options.latency == default.latency);
    arguments
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_options_that_differ_from_the_defaults_are_arguments() {
        let mut options = Options::default();
        assert!(option_arguments(&options).is_empty());
        options.cut_off = purloin_cluster::CutOff::Depth(4);
        options.latency = Duration::from_micros(200);
        let job = Job {
            kernel: "uts=T3".to_owned(),
            ranks: 2,
            options,
        };
        let text = "uts=T3 --cutoff depth:4 --latency 200us on 2 ranks";
        assert_eq!(job.to_string(), text);
    }
}
