//! Steal policies: [`Policy`].

use std::fmt;
use std::str::FromStr;

use purloin::Splitting;

/// Maximum number of victims in a sample.
const MAX_SAMPLES: u32 = 64;

/// Maximum number of residual tasks.
const MAX_RESIDUAL: u32 = 6;

/// Maximum bound of a worker's tasks.
const MAX_BOUND: u32 = 1_000_000;

/// How a thief chooses its victims.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Victims {
    /// A random core.
    #[default]
    Random,
    /// A random core, nearer ones more often. The thief spends the same time on attempts within its
    /// socket, in the rest of its node and in other nodes.
    Near,
    /// The members of a victim set. The fewer thieves there are, the larger is the set.
    ///
    /// Source: Wool, section 2.2.
    Sets,
}

/// The number of tasks that a thief gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Share {
    /// The oldest task.
    #[default]
    One,
    /// The older half of the victim's tasks.
    Half,
    /// One task or half, depending on how many tasks the last steals led to.
    ///
    /// Source: Channel.
    Adaptive,
}

/// How a thief gets tasks from its victim.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Protocol {
    /// The thief takes tasks by itself, without interrupting the victim.
    #[default]
    Direct,
    /// The thief sends a steal request. The victim answers it between two stretches of work.
    Ask,
    /// The thief sends a steal request. A worker without tasks forwards it to another one.
    ///
    /// Source: Channel.
    Forward,
}

/// What a worker does while it waits for a stolen task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Waiting {
    /// The worker steals from any victim and runs the task on top of the blocked one.
    #[default]
    Anything,
    /// The worker leapfrogs: it steals only from the thief of that task.
    Leapfrog,
    /// The worker lends its core to a spare worker, which may steal from any victim.
    Spare,
}

/// When a thief compares victims.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SampleTime {
    /// Before each steal attempt.
    ///
    /// Source: Wool, section 4.
    #[default]
    Always,
    /// Before the first steal attempt of a search, and only up to the first victim without a task. With
    /// victim sets, thieves always sample in this way.
    ///
    /// Source: Wool, section 5.2.
    Once,
}

/// How the size of a task is guessed from its depth, for samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Depth {
    /// The depth is the number of spawns around the task.
    #[default]
    Spawns,
    /// The depth is that of the stolen task that the worker runs, plus the number of tasks that the
    /// worker has not joined, as in the library: the tasks of a second closure that runs inline are as
    /// shallow as itself.
    Pending,
}

/// A steal policy.
///
/// Its text is a list of names, joined by `+`, with at most one name from each of these groups:
///
/// - `random` (default), `near` or `sets`: how a thief chooses victims;
/// - `sampling:K`: a thief compares K victims;
/// - `always` (default) or `once`: when a thief compares victims;
/// - `one` (default), `half` or `adaptive`: the number of tasks that a thief gets;
/// - `direct` (default), `ask` or `forward`: how a thief gets them;
/// - `anything` (default), `leapfrog` or `spare`: what a blocked worker does;
/// - `residual:R`: when a worker starts to steal;
/// - `spawns` (default) or `pending`: how deep a task is, for samples;
/// - `bound:N`: how many ready tasks a worker may have;
/// - `lazy-binary`, `lazy-guided` or `lazy-adaptive` (default): how many iterations of a loop become a
///   task.
///
/// `both` is short for `sampling:2+sets`.
///
/// For example, under `sampling:2+half` a thief looks at two random victims and steals half of the
/// tasks of the better one.
///
/// ```
/// use purloin_sim::{Policy, Share, Victims};
///
/// let policy: Policy = "sampling:2+sets+half".parse()?;
/// assert_eq!((policy.samples, policy.victims, policy.share), (2, Victims::Sets, Share::Half));
/// assert_eq!(policy.to_string(), "sampling:2+sets+half");
/// # Ok::<(), purloin_sim::PolicyError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Policy {
    /// How a thief chooses its victims.
    pub victims: Victims,
    /// Number of victims that a thief looks at before it steals from the one with the largest task.
    /// With 0, it steals without looking.
    pub samples: u32,
    /// When a thief looks at several victims.
    pub sample_time: SampleTime,
    /// The number of tasks that a thief gets.
    pub share: Share,
    /// How a thief gets tasks from its victim.
    pub protocol: Protocol,
    /// What a worker does while it waits for a stolen task.
    pub waiting: Waiting,
    /// A worker starts to steal when it has fewer ready tasks than this, and runs its remaining
    /// tasks meanwhile. With 0, it starts to steal when it has nothing to run.
    ///
    /// Source: AsynchWS, section II.
    pub residual: u32,
    /// How the size of a task is guessed from its depth, for samples.
    pub depth: Depth,
    /// A worker with this many ready tasks runs a task where it would spawn it, unless another frame
    /// than its spawner may get it as a future. With 0, there is no bound.
    ///
    /// A frame that has spawned tasks and then joins one that ran inline waits for its newest other
    /// task instead. No kernel of Purloin mixes spawns and joins in one frame.
    ///
    /// Source: AsynchWS, section III.
    pub bound: u32,
    /// How many iterations of a loop become a task when it is split. Under [`Protocol::Ask`] and
    /// [`Protocol::Forward`], a worker without ready tasks splits its loop for each request, and the idle
    /// workers are those that have asked. Under [`Protocol::Direct`], no thief asks, so a worker splits its
    /// loop whenever it has no ready task, and knows the number of all idle workers.
    ///
    /// Source: Channel (lazy splitting).
    pub splitting: Splitting,
}

/// The error of parsing a [`Policy`]. `Display` writes one line that names the part at fault.
#[derive(Clone, PartialEq, Eq)]
pub struct PolicyError(String);

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text of the error: `main` and `unwrap` print errors in this form.
impl fmt::Debug for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for PolicyError {}

impl FromStr for Policy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Policy, PolicyError> {
        let mut policy = Policy::default();
        let mut already_set: Vec<(Aspect, &str)> = Vec::new();
        for part in text.split('+') {
            for &aspect in policy.set(part)? {
                if let Some((_, before)) = already_set.iter().find(|(other, _)| *other == aspect) {
                    return Err(PolicyError(match *before == part {
                        true => format!("{text}: {part} twice; leave out one of them"),
                        false => format!("{text}: choose {before} or {part}, not both"),
                    }));
                }
                already_set.push((aspect, part));
            }
        }
        policy.check(text)?;
        Ok(policy)
    }
}

/// An aspect of a policy that its text may set once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Aspect {
    Victims,
    Samples,
    SampleTime,
    Share,
    Protocol,
    Waiting,
    Residual,
    Depth,
    Bound,
    Splitting,
}

impl Policy {
    /// Applies one name of a text, and returns the aspects that it sets.
    fn set(&mut self, part: &str) -> Result<&'static [Aspect], PolicyError> {
        let (name, value) = match part.split_once(':') {
            Some((name, value)) => (name, Some(value)),
            None => (part, None),
        };
        let number = |least: u32, most: u32| match value.map(str::parse) {
            Some(Ok(number)) if (least..=most).contains(&number) => Ok(number),
            _ => Err(PolicyError(format!(
                "{part}: {name} needs a number from {least} to {most}, as in {name}:2"
            ))),
        };
        match name {
            "sampling" => self.samples = number(1, MAX_SAMPLES)?,
            "residual" => self.residual = number(0, MAX_RESIDUAL)?,
            "bound" => self.bound = number(1, MAX_BOUND)?,
            _ if value.is_some() => return Err(unknown(part)),
            "random" => self.victims = Victims::Random,
            "near" => self.victims = Victims::Near,
            "sets" => self.victims = Victims::Sets,
            "both" => (self.victims, self.samples) = (Victims::Sets, 2),
            "always" => self.sample_time = SampleTime::Always,
            "once" => self.sample_time = SampleTime::Once,
            "one" => self.share = Share::One,
            "half" => self.share = Share::Half,
            "adaptive" => self.share = Share::Adaptive,
            "direct" => self.protocol = Protocol::Direct,
            "ask" => self.protocol = Protocol::Ask,
            "forward" => self.protocol = Protocol::Forward,
            "anything" => self.waiting = Waiting::Anything,
            "leapfrog" => self.waiting = Waiting::Leapfrog,
            "spare" => self.waiting = Waiting::Spare,
            "spawns" => self.depth = Depth::Spawns,
            "pending" => self.depth = Depth::Pending,
            "lazy-binary" => self.splitting = Splitting::LazyBinary,
            "lazy-guided" => self.splitting = Splitting::LazyGuided,
            "lazy-adaptive" => self.splitting = Splitting::LazyAdaptive,
            _ => return Err(unknown(part)),
        }
        Ok(match name {
            "sampling" => &[Aspect::Samples],
            "always" | "once" => &[Aspect::SampleTime],
            "residual" => &[Aspect::Residual],
            "bound" => &[Aspect::Bound],
            "spawns" | "pending" => &[Aspect::Depth],
            "random" | "near" | "sets" => &[Aspect::Victims],
            "both" => &[Aspect::Victims, Aspect::Samples],
            "one" | "half" | "adaptive" => &[Aspect::Share],
            "direct" | "ask" | "forward" => &[Aspect::Protocol],
            "lazy-binary" | "lazy-guided" | "lazy-adaptive" => &[Aspect::Splitting],
            _ => &[Aspect::Waiting],
        })
    }

    /// Returns whether a thief samples only before the first steal attempt of a search.
    pub(crate) fn samples_once(self) -> bool {
        self.sample_time == SampleTime::Once || self.victims == Victims::Sets
    }

    /// Returns the aspects of the policy that matter on [`Machine::ideal`](crate::Machine::ideal),
    /// where a thief need not look for a victim.
    pub(crate) fn on_ideal_machine(self) -> Policy {
        let waiting = match self.waiting {
            Waiting::Leapfrog => Waiting::Anything,
            waiting => waiting,
        };
        Policy {
            share: self.share,
            waiting,
            bound: self.bound,
            splitting: self.splitting,
            ..Policy::default()
        }
    }

    /// Checks that the aspects of the policy can be combined.
    fn check(&self, text: &str) -> Result<(), PolicyError> {
        let refuse = |why: &str| Err(PolicyError(format!("{text}: {why}")));
        if self.waiting == Waiting::Leapfrog && self.share != Share::One {
            return refuse("leapfrog steals back exactly one task; leave out half or adaptive");
        }
        if self.waiting == Waiting::Leapfrog && self.residual > 0 {
            return refuse(
                "a blocked worker under leapfrog must not run tasks that were stolen early; leave out residual",
            );
        }
        if self.sample_time == SampleTime::Once && self.samples == 0 {
            return refuse("add sampling:K, or leave out once");
        }
        if self.sample_time == SampleTime::Once && self.victims == Victims::Sets {
            return refuse("with sets, thieves sample once in a search anyway; leave out once");
        }
        if self.depth == Depth::Pending && self.samples == 0 {
            return refuse("only samples compare depths; add sampling:K, or leave out pending");
        }
        Ok(())
    }
}

fn unknown(part: &str) -> PolicyError {
    PolicyError(format!(
        "{part:?}: no such policy; choose random, near, sets, sampling:K, both (sampling:2+sets), \
         always, once, one, half, adaptive, direct, ask, forward, anything, leapfrog, spare, residual:R, spawns, \
         pending, bound:N, lazy-binary, lazy-guided or lazy-adaptive, or join several of them with +"
    ))
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.samples > 0 {
            parts.push(format!("sampling:{}", self.samples));
        }
        match self.sample_time {
            SampleTime::Always => {}
            SampleTime::Once => parts.push("once".to_owned()),
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
        match self.protocol {
            Protocol::Direct => {}
            Protocol::Ask => parts.push("ask".to_owned()),
            Protocol::Forward => parts.push("forward".to_owned()),
        }
        match self.waiting {
            Waiting::Anything => {}
            Waiting::Leapfrog => parts.push("leapfrog".to_owned()),
            Waiting::Spare => parts.push("spare".to_owned()),
        }
        if self.residual > 0 {
            parts.push(format!("residual:{}", self.residual));
        }
        match self.depth {
            Depth::Spawns => {}
            Depth::Pending => parts.push("pending".to_owned()),
        }
        if self.bound > 0 {
            parts.push(format!("bound:{}", self.bound));
        }
        match self.splitting {
            Splitting::LazyAdaptive => {}
            Splitting::LazyBinary => parts.push("lazy-binary".to_owned()),
            Splitting::LazyGuided => parts.push("lazy-guided".to_owned()),
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
    fn a_policy_is_parsed_back_from_its_text() {
        for text in [
            "random",
            "sampling:2",
            "sampling:3+sets+half+ask+spare+residual:6+pending+bound:24",
            "near+adaptive+forward",
            "forward+lazy-guided",
            "sampling:8+once+leapfrog",
            "leapfrog",
        ] {
            let policy: Policy = text.parse().unwrap();
            assert_eq!(policy.to_string(), text);
        }
        assert_eq!("both".parse(), "sampling:2+sets".parse::<Policy>());
        assert_eq!(
            "random+one+direct+anything+residual:0+lazy-adaptive".parse(),
            Ok(Policy::default())
        );
    }

    #[test]
    fn errors_say_why_a_text_is_not_a_policy() {
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
            ("near+near", "near twice"),
            ("bound:0", "a number from 1"),
            ("pending+sets", "add sampling:K"),
            ("once+near", "add sampling:K"),
            ("both+once", "leave out once"),
            ("sampling:2+always+once", "always or once"),
            ("lazy-binary+lazy-guided", "lazy-binary or lazy-guided"),
        ] {
            let error = text.parse::<Policy>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
