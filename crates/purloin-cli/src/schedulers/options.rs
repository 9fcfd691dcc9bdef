//! The options of Purloin's own schedulers.

use std::time::Duration;

use purloin::Splitting;

use purloin_command::format::parse_time;
use purloin_schedulers::Stealing;

/// What `--scheduler NAME:KEY=VALUE,…` can set.
#[derive(Clone, PartialEq, Eq)]
pub struct Options {
    /// Joins without a token.
    pub free: bool,
    pub forced: bool,
    /// Whether the barrier stays.
    pub barrier: bool,
    pub two_fields: bool,
    pub stealing: Stealing,
    pub sampling: bool,
    pub sets: bool,
    /// The least number of victims in a set (Wool's W).
    pub set_size: Option<usize>,
    /// How many thieves are to look at each victim (Wool's m).
    pub thieves: Option<usize>,
    pub samples: Option<usize>,
    pub steal_delay: Duration,
    pub splitting: Splitting,
    /// The most spare workers.
    pub spares: Option<usize>,
    /// Whether workers note where their time goes; not for the user to choose here.
    pub timed: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            free: false,
            forced: true,
            barrier: true,
            two_fields: false,
            stealing: Stealing::default(),
            sampling: false,
            sets: false,
            set_size: None,
            thieves: None,
            samples: None,
            steal_delay: Duration::ZERO,
            splitting: Splitting::default(),
            spares: None,
            timed: false,
        }
    }
}

/// An option that some schedulers have.
pub struct Choice {
    pub key: &'static str,
    /// What it may be.
    pub values: &'static str,
    pub about: &'static str,
    /// Sets it, unless the value is none of those.
    set: fn(&mut Options, &str) -> Option<()>,
}

pub const API: Choice = Choice {
    key: "api",
    values: "token or free",
    about: "joins by the worker's token (usual), or by purloin::join without one",
    set: |options, value| {
        options.free = either(value, "token", "free")?;
        Some(())
    },
};

pub const FORCED: Choice = Choice {
    key: "forced",
    values: "on or off",
    about: "thieves take tasks from a silent victim by force (usual), or wait",
    set: |options, value| {
        options.forced = either(value, "off", "on")?;
        Some(())
    },
};

pub const BARRIER: Choice = Choice {
    key: "barrier",
    values: "on or off",
    about: "tasks below the barrier are stolen for free (usual), or each steal interrupts its victim",
    set: |options, value| {
        options.barrier = either(value, "off", "on")?;
        Some(())
    },
};

pub const FIELDS: Choice = Choice {
    key: "fields",
    values: "one or two",
    about: "a state moved by compare-and-swap (usual), or two and test-and-set",
    set: |options, value| {
        options.two_fields = either(value, "one", "two")?;
        Some(())
    },
};

pub const STEAL: Choice = Choice {
    key: "steal",
    values: "one, half or adaptive",
    about: "how much a thief gets: the oldest task, the older half, or whichever pays (usual)",
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

const VICTIMS: Choice = Choice {
    key: "victims",
    values: "random, sampling, sets or sampling+sets",
    about: "how thieves choose whom to steal from (usual: random)",
    set: |options, value| {
        (options.sampling, options.sets) = match value {
            "random" => (false, false),
            "sampling" => (true, false),
            "sets" => (false, true),
            "sampling+sets" => (true, true),
            _ => return None,
        };
        Some(())
    },
};

const SAMPLES: Choice = Choice {
    key: "samples",
    values: NUMBER,
    about: "victims to compare at most, for sampling (usual: √workers)",
    set: |options, value| {
        options.samples = Some(number(value)?);
        Some(())
    },
};

const SET_SIZE: Choice = Choice {
    key: "set-size",
    values: NUMBER,
    about: "victims in a set at least, for sets (usual: 12)",
    set: |options, value| {
        options.set_size = Some(number(value)?);
        Some(())
    },
};

const THIEVES: Choice = Choice {
    key: "thieves",
    values: NUMBER,
    about: "thieves that look at each victim, for sets (usual: 4)",
    set: |options, value| {
        options.thieves = Some(number(value)?);
        Some(())
    },
};

const STEAL_DELAY: Choice = Choice {
    key: "steal-delay",
    values: "a time from 0ns to 1s, such as 4000ns or 20us",
    about: "makes each steal dearer, for experiments (usual: 0ns)",
    set: |options, value| {
        options.steal_delay = parse_time(value)?;
        Some(())
    },
};

const SPLIT: Choice = Choice {
    key: "split",
    values: "lazy-binary, lazy-guided or lazy-adaptive",
    about: "how much of a loop a thief gets: half, 1/workers, or 1/(1 + idle workers) (usual)",
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

pub const SPARES: Choice = Choice {
    key: "spares",
    values: "a number from 0 to 4096",
    about: "workers that may take the place of blocked ones (usual: as many as workers)",
    set: |options, value| {
        let spares = value.parse().ok()?;
        (spares <= purloin::Builder::MAX_WORKERS).then(|| options.spares = Some(spares))
    },
};

/// How thieves choose their victims.
pub const VICTIM_SELECTION: &[&Choice] = &[&VICTIMS, &SAMPLES, &SET_SIZE, &THIEVES];

/// What every pool of Purloin's has.
pub const EVERY_POOL: &[&Choice] = &[&STEAL_DELAY, &SPLIT];

impl Options {
    /// Reads `KEY=VALUE,…`. The error is one line that says what is possible.
    pub fn parse(scheduler: &str, choices: &[&[&Choice]], text: &str) -> Result<Options, String> {
        let mut options = Options::default();
        for option in text.split(',').filter(|option| !option.is_empty()) {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            let Some(choice) = choices
                .iter()
                .copied()
                .flatten()
                .find(|choice| choice.key == key)
            else {
                let known: Vec<_> = choices
                    .iter()
                    .copied()
                    .flatten()
                    .map(|choice| choice.key)
                    .collect();
                return Err(match known.is_empty() {
                    true => format!("{scheduler} has no option {option:?}; it has none"),
                    false => format!(
                        "{scheduler} has no option {option:?}; there are: {}",
                        known.join(", ")
                    ),
                });
            };
            (choice.set)(&mut options, value).ok_or_else(|| {
                format!(
                    "{scheduler}: {key} must be {}, not {value:?}",
                    choice.values
                )
            })?;
        }
        let without = |kind: &str, key: &str| {
            Err(format!("{scheduler}: {key} goes with victims={kind} only"))
        };
        if options.samples.is_some() && !options.sampling {
            return without("sampling", SAMPLES.key);
        }
        if options.set_size.is_some() && !options.sets {
            return without("sets", SET_SIZE.key);
        }
        if options.thieves.is_some() && !options.sets {
            return without("sets", THIEVES.key);
        }
        Ok(options)
    }
}

/// Whether the value is the second of two.
fn either(value: &str, first: &str, second: &str) -> Option<bool> {
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
    fn what_is_wrong_is_named_and_what_is_right() {
        let parse =
            |text| Options::parse("it", &[&[&VICTIMS, &SAMPLES], &[&STEAL_DELAY]], text).err();
        assert_eq!(parse("victims=sampling,samples=3"), None);
        assert_eq!(
            parse("samples=0,victims=sampling").unwrap(),
            r#"it: samples must be a number from 1 to 4096, not "0""#
        );
        assert_eq!(
            parse("samples=2").unwrap(),
            "it: samples goes with victims=sampling only"
        );
        assert_eq!(
            parse("api=free").unwrap(),
            r#"it has no option "api=free"; there are: victims, samples, steal-delay"#
        );
    }
}
