//! How thieves steal: [`Policy`].

use std::fmt;
use std::str::FromStr;

/// How many cores are sampled at most.
const MOST_SAMPLES: u32 = 64;

/// The most residual tasks.
const MOST_RESIDUAL: u32 = 6;

/// Whom a thief turns to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Victims {
    /// Anyone.
    #[default]
    Random,
    /// Those that are near more often: of its socket, of the rest of its node, and elsewhere,
    /// so that it spends as much time on each.
    Near,
    /// The members of a set that is as large as there are thieves.
    ///
    /// Source: Wool, section 2.2.
    Sets,
}

/// How many tasks a thief gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Share {
    /// The oldest.
    #[default]
    One,
    /// The older half.
    Half,
    /// One or half, by how many tasks came out of the last steals.
    ///
    /// Source: Channel.
    Adaptive,
}

/// How a thief gets tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Way {
    /// It takes them, without the victim.
    #[default]
    Direct,
    /// It asks, and the victim answers between two stretches of work.
    Ask,
    /// It asks, and whoever has nothing to give passes that on.
    ///
    /// Source: Channel.
    Forward,
}

/// What a worker does while it waits for a stolen task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Waiting {
    /// It steals from anyone, and runs that on top of what waits.
    #[default]
    Anything,
    /// It steals back, from the thief of that task only.
    Leapfrog,
    /// It lends its core to a spare worker, which may steal anything.
    Spare,
}

/// How thieves steal.
///
/// Its text is the names of what is not usual, joined by `+`: `random`, `near`, `sets`;
/// `sampling:K`; `one`, `half`, `adaptive`; `direct`, `ask`, `forward`; `anything`, `leapfrog`,
/// `spare`; `residual:R`; at most one of each of these groups. So `sampling:2+half` is random
/// stealing of half of what the better of two victims has.
///
/// ```
/// use purloin_sim::{Policy, Share, Victims};
///
/// let policy: Policy = "sampling:2+sets+half".parse()?;
/// assert_eq!((policy.samples, policy.victims, policy.share), (2, Victims::Sets, Share::Half));
/// assert_eq!(policy.to_string(), "sampling:2+sets+half");
/// # Ok::<(), purloin_sim::UnknownPolicy>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Policy {
    /// Whom a thief turns to.
    pub victims: Victims,
    /// Of how many victims it looks for the one with the largest task; 0: it does not look.
    pub samples: u32,
    /// How many tasks it gets.
    pub share: Share,
    /// How it gets them.
    pub way: Way,
    /// What a blocked worker does.
    pub waiting: Waiting,
    /// With fewer tasks than that left, a worker begins to steal, and goes on with these
    /// meanwhile; with 0, it steals when it has nothing left.
    ///
    /// Source: AsynchWS, section II.
    pub residual: u32,
}

/// What a text says that is no policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownPolicy(String);

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UnknownPolicy {}

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Policy, UnknownPolicy> {
        let mut policy = Policy::default();
        let mut said: Vec<(Aspect, &str)> = Vec::new();
        for part in text.split('+') {
            for &aspect in policy.set(part)? {
                if let Some((_, before)) = said.iter().find(|(other, _)| *other == aspect) {
                    return Err(UnknownPolicy(format!(
                        "{text}: it can be {before} or {part}, not both"
                    )));
                }
                said.push((aspect, part));
            }
        }
        policy.check(text)?;
        Ok(policy)
    }
}

/// What a part of a policy is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Aspect {
    Victims,
    Samples,
    Share,
    Way,
    Waiting,
    Residual,
}

impl Policy {
    /// Does as a part says, and tells what that is about.
    fn set(&mut self, part: &str) -> Result<&'static [Aspect], UnknownPolicy> {
        let (name, value) = match part.split_once(':') {
            Some((name, value)) => (name, Some(value)),
            None => (part, None),
        };
        let number = |least: u32, most: u32| match value.map(str::parse) {
            Some(Ok(number)) if (least..=most).contains(&number) => Ok(number),
            _ => Err(UnknownPolicy(format!(
                "{part}: {name} needs a number from {least} to {most}, as in {name}:2"
            ))),
        };
        match name {
            "sampling" => self.samples = number(1, MOST_SAMPLES)?,
            "residual" => self.residual = number(0, MOST_RESIDUAL)?,
            _ if value.is_some() => return Err(unknown(part)),
            "random" => self.victims = Victims::Random,
            "near" => self.victims = Victims::Near,
            "sets" => self.victims = Victims::Sets,
            "both" => (self.victims, self.samples) = (Victims::Sets, 2),
            "one" => self.share = Share::One,
            "half" => self.share = Share::Half,
            "adaptive" => self.share = Share::Adaptive,
            "direct" => self.way = Way::Direct,
            "ask" => self.way = Way::Ask,
            "forward" => self.way = Way::Forward,
            "anything" => self.waiting = Waiting::Anything,
            "leapfrog" => self.waiting = Waiting::Leapfrog,
            "spare" => self.waiting = Waiting::Spare,
            _ => return Err(unknown(part)),
        }
        Ok(match name {
            "sampling" => &[Aspect::Samples],
            "residual" => &[Aspect::Residual],
            "random" | "near" | "sets" => &[Aspect::Victims],
            "both" => &[Aspect::Victims, Aspect::Samples],
            "one" | "half" | "adaptive" => &[Aspect::Share],
            "direct" | "ask" | "forward" => &[Aspect::Way],
            _ => &[Aspect::Waiting],
        })
    }

    /// What is left of it on [`Machine::ideal`](crate::Machine::ideal), where a thief need not
    /// look for a victim.
    pub(crate) fn on_ideal_machine(self) -> Policy {
        let waiting = match self.waiting {
            Waiting::Leapfrog => Waiting::Anything,
            waiting => waiting,
        };
        Policy {
            share: self.share,
            waiting,
            ..Policy::default()
        }
    }

    /// Whether its parts go together.
    fn check(&self, text: &str) -> Result<(), UnknownPolicy> {
        let refuse = |why: &str| Err(UnknownPolicy(format!("{text}: {why}")));
        if self.waiting == Waiting::Leapfrog && self.share != Share::One {
            return refuse("leapfrog steals back one task; more might be anyone's");
        }
        if self.waiting == Waiting::Leapfrog && self.residual > 0 {
            return refuse("leapfrog may not run what was stolen early; residual does");
        }
        Ok(())
    }
}

fn unknown(part: &str) -> UnknownPolicy {
    UnknownPolicy(format!(
        "{part:?}: no such policy; there are random, near, sets, sampling:K, both (sampling:2+sets), \
         one, half, adaptive, direct, ask, forward, anything, leapfrog, spare, residual:R, and \
         what is joined of these by +"
    ))
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.samples > 0 {
            parts.push(format!("sampling:{}", self.samples));
        }
        match self.victims {
            Victims::Random => {}
            Victims::Near => parts.push("near".to_owned()),
            Victims::Sets => parts.push("sets".to_owned()),
        }
        match self.share {
            Share::One => {}
            Share::Half => parts.push("half".to_owned()),
            Share::Adaptive => parts.push("adaptive".to_owned()),
        }
        match self.way {
            Way::Direct => {}
            Way::Ask => parts.push("ask".to_owned()),
            Way::Forward => parts.push("forward".to_owned()),
        }
        match self.waiting {
            Waiting::Anything => {}
            Waiting::Leapfrog => parts.push("leapfrog".to_owned()),
            Waiting::Spare => parts.push("spare".to_owned()),
        }
        if self.residual > 0 {
            parts.push(format!("residual:{}", self.residual));
        }
        if parts.is_empty() {
            return f.write_str("random");
        }
        f.write_str(&parts.join("+"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_read_as_it_is_written() {
        for text in [
            "random",
            "sampling:2",
            "sampling:3+sets+half+ask+spare+residual:6",
            "near+adaptive+forward",
            "leapfrog",
        ] {
            let policy: Policy = text.parse().unwrap();
            assert_eq!(policy.to_string(), text);
        }
        assert_eq!("both".parse(), "sampling:2+sets".parse::<Policy>());
        assert_eq!(
            "random+one+direct+anything+residual:0".parse(),
            Ok(Policy::default())
        );
    }

    #[test]
    fn what_is_no_policy_is_named() {
        for (text, part) in [
            ("", "no such policy"),
            ("randm", "randm"),
            ("random:2", "random:2"),
            ("sampling", "a number from 1 to 64"),
            ("sampling:0", "a number from 1 to 64"),
            ("half+residual:7", "a number from 0 to 6"),
            ("leapfrog+half", "one task"),
            ("leapfrog+residual:1", "stolen early"),
            ("half+near+one", "half or one"),
            ("sampling:2+both", "sampling:2 or both"),
            ("spare+leapfrog+half", "spare or leapfrog"),
            ("near+near", "not both"),
        ] {
            let error = text.parse::<Policy>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
