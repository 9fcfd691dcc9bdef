//! One job of several ranks: [`Job`].

use std::fmt;

use purloin_cluster::{Options, Profiling, Steal};

use crate::values::{cutoff_text, grain_text, time_argument};

/// A kernel with its input, and how it is run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Job {
    pub kernel: String,
    pub ranks: usize,
    pub options: Options,
}

impl Job {
    /// What `purloin-cluster` is to be given for it.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![self.kernel.clone()];
        arguments.extend(unusual(&self.options));
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

/// The arguments for those options that are not as usual.
pub fn unusual(options: &Options) -> Vec<String> {
    let usual = Options::default();
    let mut arguments = Vec::new();
    let mut add = |name: &str, value: String, is_usual: bool| {
        if !is_usual {
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
    let cutoff = cutoff_text(options.cut_off);
    let latency = time_argument(options.latency);
    add("--steal", steal.to_owned(), options.steal == usual.steal);
    add("--cutoff", cutoff, options.cut_off == usual.cut_off);
    add("--residual", residual, options.residual == usual.residual);
    let is_usual = options.profiling == usual.profiling;
    add("--profile", profile.to_owned(), is_usual);
    add(
        "--grain",
        grain_text(options.grain),
        options.grain == usual.grain,
    );
    add("--latency", latency, options.latency == usual.latency);
    arguments
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_what_is_unusual_is_an_argument() {
        let mut options = Options::default();
        assert!(unusual(&options).is_empty());
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
