//! The pools of a random program: schedulers and options.

use std::fmt;

use purloin::{Builder, Sampling, Scheduler, Sets, Splitting};

use crate::random::Random;

/// The schedulers under test, by the names that `--scheduler` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchedulerName {
    ReturnBarrier,
    ReturnBarrierWithoutForce,
    #[cfg(feature = "schedulers")]
    ReturnBarrierWs,
    #[cfg(feature = "schedulers")]
    DefaultWs,
    #[cfg(feature = "schedulers")]
    DirectStack,
    #[cfg(feature = "schedulers")]
    DirectStackTwoFields,
    #[cfg(feature = "schedulers")]
    ChaseLev,
    #[cfg(feature = "schedulers")]
    ChannelOne,
    #[cfg(feature = "schedulers")]
    ChannelHalf,
    #[cfg(feature = "schedulers")]
    ChannelAdaptive,
    #[cfg(feature = "schedulers")]
    ChannelWithoutForwarding,
}

use SchedulerName::*;

impl SchedulerName {
    pub const ALL: &[(&'static str, SchedulerName)] = &[
        ("return-barrier", ReturnBarrier),
        ("return-barrier-without-force", ReturnBarrierWithoutForce),
        #[cfg(feature = "schedulers")]
        ("return-barrier-ws", ReturnBarrierWs),
        #[cfg(feature = "schedulers")]
        ("default-ws", DefaultWs),
        #[cfg(feature = "schedulers")]
        ("direct-stack", DirectStack),
        #[cfg(feature = "schedulers")]
        ("direct-stack-two-fields", DirectStackTwoFields),
        #[cfg(feature = "schedulers")]
        ("chase-lev", ChaseLev),
        #[cfg(feature = "schedulers")]
        ("channel-one", ChannelOne),
        #[cfg(feature = "schedulers")]
        ("channel-half", ChannelHalf),
        #[cfg(feature = "schedulers")]
        ("channel-adaptive", ChannelAdaptive),
        #[cfg(feature = "schedulers")]
        ("channel-without-forwarding", ChannelWithoutForwarding),
    ];

    pub fn name(self) -> &'static str {
        let mut all = SchedulerName::ALL.iter();
        let found = all.find(|(_, scheduler)| *scheduler == self);
        found.expect("the list has all schedulers").0
    }

    /// Returns the scheduler with this name, or else a list of all names.
    pub fn named(name: &str) -> Result<SchedulerName, String> {
        let mut all = SchedulerName::ALL.iter();
        match all.find(|(known, _)| *known == name) {
            Some((_, scheduler)) => Ok(*scheduler),
            None => {
                let names: Vec<_> = SchedulerName::ALL.iter().map(|(name, _)| *name).collect();
                Err(format!(
                    "no scheduler \"{name}\"; the schedulers are {}",
                    names.join(", ")
                ))
            }
        }
    }

    /// Whether it is the default scheduler, which code without tokens uses.
    pub fn is_default(self) -> bool {
        matches!(self, ReturnBarrier | ReturnBarrierWithoutForce)
    }

    pub fn is_channel(self) -> bool {
        self.name().starts_with("channel")
    }
}

/// The options of a pool.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub workers: usize,
    /// Number of spare workers, or the default number.
    pub spares: Option<usize>,
    pub runs_anything: bool,
    pub rescues_calls: bool,
    pub handles_panics: bool,
    victims: usize,
    splitting: usize,
    timed: bool,
}

/// The pools of a program.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    pub scheduler: SchedulerName,
    pub main: Options,
    pub other: Options,
}

impl Options {
    fn random(random: &mut Random) -> Options {
        Options {
            workers: random.pick(&[1, 2, 2, 2, 3, 3, 4, 6]),
            spares: random.pick(&[None, None, Some(0), Some(1), Some(2)]),
            runs_anything: random.one_in(6),
            rescues_calls: !random.one_in(4),
            handles_panics: random.one_in(3),
            victims: random.below(4),
            splitting: random.below(3),
            timed: random.one_in(8),
        }
    }

    /// Returns whether any number of tasks may wait for threads outside of the pool.
    pub fn has_many_spares(&self) -> bool {
        self.spares.is_none()
    }

    /// Applies the options.
    pub fn apply<S: Scheduler>(&self, mut builder: Builder<S>) -> Builder<S> {
        builder = builder
            .workers(self.workers)
            .stack_size(256 << 10)
            .run_anything_while_blocked(self.runs_anything)
            .rescue_calls(self.rescues_calls)
            .timed(self.timed);
        if let Some(spares) = self.spares {
            builder = builder.spare_workers(spares);
        }
        builder = match self.victims {
            0 => builder.victims(<Sampling>::default()),
            1 => builder.victims(Sets::default()),
            _ => builder,
        };
        builder.splitting(match self.splitting {
            0 => Splitting::LazyBinary,
            1 => Splitting::LazyGuided,
            _ => Splitting::LazyAdaptive,
        })
    }
}

impl Setup {
    pub fn random(random: &mut Random, scheduler: Option<SchedulerName>) -> Setup {
        let any = SchedulerName::ALL[random.below(SchedulerName::ALL.len())].1;
        // Half of the programs run under the default scheduler.
        let any = match random.below(2) {
            0 => ReturnBarrier,
            _ => any,
        };
        Setup {
            scheduler: scheduler.unwrap_or(any),
            main: Options::random(random),
            other: Options::random(random),
        }
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spares = match self.spares {
            Some(spares) => spares.to_string(),
            None => "128".to_string(),
        };
        write!(f, "{} workers, {spares} spare workers", self.workers)?;
        let options = [
            (self.runs_anything, ", runs anything while blocked"),
            (!self.rescues_calls, ", rescues no calls"),
            (self.handles_panics, ", with a panic handler"),
            (self.victims == 0, ", sampling"),
            (self.victims == 1, ", sets"),
            (self.splitting == 0, ", binary splitting"),
            (self.splitting == 1, ", guided splitting"),
            (self.timed, ", timed"),
        ];
        let mut set = options.iter().filter(|(is_set, _)| *is_set);
        set.try_for_each(|(_, text)| f.write_str(text))
    }
}
