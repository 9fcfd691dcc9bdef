//! The options of Purloin's own schedulers.

use std::time::Duration;

use purloin::Splitting;
use purloin_schedulers::Stealing;

use crate::arguments::parse_time_or_cycles;

/// The values of all options that `--scheduler NAME:KEY=VALUE,…` can set.
#[derive(Clone, PartialEq, Eq)]
pub struct Options {
    /// Whether kernels call the token-free functions.
    pub token_free: bool,
    /// Whether thieves take tasks by force from a victim that does not answer.
    pub forced: bool,
    /// Whether thieves steal tasks below the return barrier for free.
    pub barrier: bool,
    /// Whether a task's state is in two fields instead of one.
    pub two_fields: bool,
    pub stealing: Stealing,
    pub forwards: bool,
    pub victims: Victims,
    /// The minimum number of victims in a set (Wool's W).
    pub set_size: Option<usize>,
    /// The number of thieves that have a victim in their sets (Wool's m).
    pub thieves: Option<usize>,
    /// The maximum number of victims that a thief samples.
    pub samples: Option<usize>,
    pub steal_delay: Duration,
    pub splitting: Splitting,
    /// The maximum number of spare workers.
    pub spares: Option<usize>,
    /// Whether workers measure where their time goes. `--stats full` sets it, not `--scheduler`.
    pub timed: bool,
    /// Number of events that the pool keeps for each worker; `purloin profile` sets it, not `--scheduler`.
    pub traced: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            token_free: false,
            forced: true,
            barrier: true,
            two_fields: false,
            stealing: Stealing::default(),
            forwards: true,
            victims: Victims::Random,
            set_size: None,
            thieves: None,
            samples: None,
            steal_delay: Duration::ZERO,
            splitting: Splitting::default(),
            spares: None,
            timed: false,
            traced: 0,
        }
    }
}

/// How thieves choose their victims.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Victims {
    Random,
    Sampling,
    Sets,
    SampledSets,
}

impl Victims {
    fn are_sampled(self) -> bool {
        matches!(self, Victims::Sampling | Victims::SampledSets)
    }

    fn are_in_sets(self) -> bool {
        matches!(self, Victims::Sets | Victims::SampledSets)
    }
}

/// One option that some schedulers have.
pub struct Setting {
    pub key: &'static str,
    /// The possible values, for `purloin list` and for errors.
    pub values: &'static str,
    /// One line for `purloin list`.
    pub about: &'static str,
    /// Stores the value in the options; returns `None` if the value is not possible.
    set: fn(&mut Options, &str) -> Option<()>,
}

pub const API: Setting = Setting {
    key: "api",
    values: "token or free",
    about: "joins go through the worker's token (default), or through purloin::join without one",
    set: |options, value| {
        options.token_free = is_second(value, "token", "free")?;
        Some(())
    },
};

pub const FORCED: Setting = Setting {
    key: "forced",
    values: "on or off",
    about: "thieves take tasks by force from a victim that does not answer (default on)",
    set: |options, value| {
        options.forced = is_second(value, "off", "on")?;
        Some(())
    },
};

pub const BARRIER: Setting = Setting {
    key: "barrier",
    values: "on or off",
    about: "thieves steal public tasks for free (default on); off: the scheduler default-ws, in \
            which each steal interrupts its victim, without force",
    set: |options, value| {
        options.barrier = is_second(value, "off", "on")?;
        Some(())
    },
};

pub const FIELDS: Setting = Setting {
    key: "fields",
    values: "one or two",
    about: "a task's state is one field changed by compare-and-swap (default), or two fields \
            with a test-and-set lock",
    set: |options, value| {
        options.two_fields = is_second(value, "one", "two")?;
        Some(())
    },
};

pub const FORWARD: Setting = Setting {
    key: "forward",
    values: "on or off",
    about: "a worker without tasks passes a request on (default on); off: it refuses, and the thief \
            asks the next worker",
    set: |options, value| {
        options.forwards = is_second(value, "off", "on")?;
        Some(())
    },
};

pub const STEAL: Setting = Setting {
    key: "steal",
    values: "one, half or adaptive",
    about: "a thief gets the oldest task, the older half, or whichever works better (default \
            adaptive)",
    set: |options, value| {
        options.stealing = match value {
            "one" => Stealing::One,
            "half" => Stealing::Half,
            "adaptive" => Stealing::Adaptive,
            _ => return None,
        };
        Some(())
    },
};

const VICTIMS: Setting = Setting {
    key: "victims",
    values: "random, sampling, sets or sampling+sets",
    about: "how thieves choose their victims (default random)",
    set: |options, value| {
        options.victims = match value {
            "random" => Victims::Random,
            "sampling" => Victims::Sampling,
            "sets" => Victims::Sets,
            "sampling+sets" => Victims::SampledSets,
            _ => return None,
        };
        Some(())
    },
};

const SAMPLES: Setting = Setting {
    key: "samples",
    values: NUMBER,
    about: "maximum number of victims to compare, with sampling (default √workers)",
    set: |options, value| {
        options.samples = Some(number(value)?);
        Some(())
    },
};

const SET_SIZE: Setting = Setting {
    key: "set-size",
    values: NUMBER,
    about: "minimum number of victims in a set, with sets (default 12)",
    set: |options, value| {
        options.set_size = Some(number(value)?);
        Some(())
    },
};

const THIEVES: Setting = Setting {
    key: "thieves",
    values: NUMBER,
    about: "number of thieves that have a victim in their sets, with sets (default 4)",
    set: |options, value| {
        options.thieves = Some(number(value)?);
        Some(())
    },
};

pub const STEAL_DELAY: Setting = Setting {
    key: "steal-delay",
    values: "a time from 0ns to 1s, such as 4000ns, 20us or 4000cycles",
    about: "extra time that each steal takes, for experiments (default 0ns)",
    set: |options, value| {
        options.steal_delay = parse_time_or_cycles(value)?;
        Some(())
    },
};

const SPLIT: Setting = Setting {
    key: "split",
    values: "lazy-binary, lazy-guided or lazy-adaptive",
    about: "a thief gets half of a loop, 1/workers, or 1/(1 + idle workers) (default \
            lazy-adaptive)",
    set: |options, value| {
        options.splitting = match value {
            "lazy-binary" => Splitting::LazyBinary,
            "lazy-guided" => Splitting::LazyGuided,
            "lazy-adaptive" => Splitting::LazyAdaptive,
            _ => return None,
        };
        Some(())
    },
};

pub const SPARES: Setting = Setting {
    key: "spares",
    values: "a number from 0 to 4096",
    about: "maximum number of spare workers, which replace blocked workers (default: as many \
            as workers, at least 128)",
    set: |options, value| {
        let spares = value.parse().ok()?;
        (spares <= purloin::Builder::MAX_WORKERS).then(|| options.spares = Some(spares))
    },
};

/// The options for how thieves choose their victims.
pub const VICTIM_SELECTION: &[&Setting] = &[&VICTIMS, &SAMPLES, &SET_SIZE, &THIEVES];

/// The options of every pool.
pub const EVERY_POOL: &[&Setting] = &[&SPLIT];

impl Options {
    /// Parses `KEY=VALUE,…`. The error is one line that names the part at fault and the valid
    /// choices.
    pub fn parse(scheduler: &str, settings: &[&[&Setting]], text: &str) -> Result<Options, String> {
        let settings = settings.concat();
        let mut options = Options::default();
        let mut set: Vec<&str> = Vec::new();
        for option in text.split(',').filter(|option| !option.is_empty()) {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            let Some(setting) = settings.iter().find(|setting| setting.key == key) else {
                let keys: Vec<_> = settings.iter().map(|setting| setting.key).collect();
                return Err(match keys.is_empty() {
                    true => format!("{scheduler} has no option {key:?}; it takes no options"),
                    false => format!(
                        "{scheduler} has no option {key:?}; its options are {}",
                        keys.join(", ")
                    ),
                });
            };
            if set.contains(&key) {
                return Err(format!(
                    "{scheduler}: {key} is set twice; leave out one of them"
                ));
            }
            set.push(key);
            (setting.set)(&mut options, value).ok_or_else(|| {
                format!(
                    "{scheduler}: {key} must be {}, not {value:?}",
                    setting.values
                )
            })?;
        }
        options.check(scheduler)?;
        Ok(options)
    }

    /// Returns an error for an option that does nothing without another option.
    fn check(&self, scheduler: &str) -> Result<(), String> {
        let needs = |key: &str, victims: &str| {
            Err(format!(
                "{scheduler}: {key} needs victims={victims} or victims=sampling+sets"
            ))
        };
        if self.samples.is_some() && !self.victims.are_sampled() {
            return needs(SAMPLES.key, "sampling");
        }
        if self.set_size.is_some() && !self.victims.are_in_sets() {
            return needs(SET_SIZE.key, "sets");
        }
        if self.thieves.is_some() && !self.victims.are_in_sets() {
            return needs(THIEVES.key, "sets");
        }
        Ok(())
    }
}

/// Returns whether the value is `second`, and `None` if it is neither `first` nor `second`.
fn is_second(value: &str, first: &str, second: &str) -> Option<bool> {
    match value {
        value if value == first => Some(false),
        value if value == second => Some(true),
        _ => None,
    }
}

const NUMBER: &str = "a number from 1 to 4096";

fn number(value: &str) -> Option<usize> {
    let number = value.parse().ok()?;
    (1..=purloin::Builder::MAX_WORKERS)
        .contains(&number)
        .then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_wrong_option_and_the_possible_ones() {
        let parse =
            |text| Options::parse("it", &[&[&VICTIMS, &SAMPLES], &[&STEAL_DELAY]], text).err();
        assert_eq!(parse("victims=sampling,samples=3"), None);
        assert_eq!(
            parse("samples=0,victims=sampling").unwrap(),
            r#"it: samples must be a number from 1 to 4096, not "0""#
        );
        assert_eq!(
            parse("samples=2").unwrap(),
            "it: samples needs victims=sampling or victims=sampling+sets"
        );
        assert_eq!(
            parse("api=free").unwrap(),
            r#"it has no option "api"; its options are victims, samples, steal-delay"#
        );
        assert_eq!(
            parse("samples=2,victims=sampling,samples=3").unwrap(),
            "it: samples is set twice; leave out one of them"
        );
    }
}
