//! The times and numbers by which the library decides how long to spin, to sleep, or to wait.
//!
//! They are constants. A build with `--cfg purloin_tunable` reads them from the environment variable
//! `PURLOIN_TUNABLES` instead, once, for experiments: `PURLOIN_TUNABLES=SPIN_TIME=20us,STRIP=64`.

use std::time::Duration;

/// A time or number by which the library decides, for [`all`].
#[derive(Clone, Debug)]
pub struct Tunable {
    /// Its name, as in `PURLOIN_TUNABLES`.
    pub name: &'static str,
    /// Its value in this build.
    pub value: String,
    /// What it is, in one or more lines.
    pub about: &'static [&'static str],
}

/// A time.
#[derive(Clone, Copy)]
pub(crate) struct Time(&'static str, u64);

/// A number.
#[derive(Clone, Copy)]
pub(crate) struct Number(&'static str, u64);

impl Time {
    #[inline(always)]
    pub(crate) fn get(self) -> Duration {
        Duration::from_nanos(current(self.0, self.1))
    }
}

impl Number {
    #[inline(always)]
    pub(crate) fn get(self) -> u64 {
        current(self.0, self.1)
    }
}

macro_rules! tunables {
    ($($(#[doc = $about:literal])+ $NAME:ident: $Kind:ident = $value:expr;)+) => {
        $($(#[doc = $about])+ pub(crate) const $NAME: $Kind = $Kind(stringify!($NAME), $value);)+

        /// Returns all tunables, with their values in this build.
        pub fn all() -> Vec<Tunable> {
            vec![$(Tunable { name: stringify!($NAME), value: format!("{:?}", $NAME.get()), about: &[$($about),+] }),+]
        }

        /// The names and kinds of all tunables.
        #[cfg(any(purloin_tunable, test))]
        const NAMES: &[(&str, &str)] = &[$((stringify!($NAME), stringify!($Kind))),+];
    };
}

const fn nanos(nanos: u64) -> u64 {
    nanos
}

const fn micros(micros: u64) -> u64 {
    1_000 * micros
}

const fn millis(millis: u64) -> u64 {
    1_000_000 * millis
}

tunables! {
    /// Time that a worker spins before it sleeps: a few times the cost of putting a thread to sleep and
    /// waking it.
    SPIN_TIME: Time = micros(80);
    /// Time that a worker spins if a longer spin would have saved its last sleep.
    LONG_SPIN_TIME: Time = micros(250);
    /// A victim that has not answered for this long counts as silent: it is in a leaf. The time is longer
    /// than `membarrier` takes.
    SILENT_AFTER: Time = if cfg!(loom) { 0 } else { micros(30) };
    /// Number of rounds after which a searching worker clears the announcements of workers that have nothing for it.
    /// While tasks are scarce and searches short, the workers would otherwise pass the words of announcements to and fro.
    LOOKS: Number = if cfg!(loom) { 0 } else { 8 };
    /// Minimum number of rounds in which a worker tries force before it sleeps.
    MIN_FORCING_ROUNDS: Number = if cfg!(loom) { 1 } else { 8 };
    /// Limit of the first sleep of a search. It doubles up to MAX_SLEEP_LIMIT while any other worker is
    /// active.
    MIN_SLEEP_LIMIT: Time = millis(1);
    /// Longest limit of a sleep while any other worker is active.
    MAX_SLEEP_LIMIT: Time = millis(128);
    /// Interval at which a blocked worker checks again, if it may not leapfrog, may run anything, or serves
    /// its pool while it waits for another one.
    RECHECK_INTERVAL: Time = millis(1);
    /// Interval at which a thread that waits outside the pool checks for a missing watcher.
    MISSING_WATCHER: Time = millis(1000);
    /// Maximum sleep of a worker that waits for another pool and need not serve its own.
    OUTSIDE_RECHECK: Time = millis(20);
    /// Number of missed offers after which a worker naps.
    MAX_MISSED_OFFERS: Number = 8;
    /// First nap of a worker whose loot was gone again and again. It doubles up to MAX_NAP.
    MIN_NAP: Time = micros(100);
    /// Longest nap.
    MAX_NAP: Time = millis(2);
    /// Number of tiny tasks in a row after which a thief leaves the next one alone. Irregular programs
    /// offer some tiny tasks among the large ones.
    MANY_TINY_TASKS: Number = 16;
    /// First rest of an idle thief after MANY_TINY_TASKS. It doubles with each further one up to MAX_REST.
    MIN_REST: Time = micros(1);
    /// Longest rest of an idle thief.
    MAX_REST: Time = micros(64);
    /// How long a blocked worker waits before it leapfrogs, after the last of MANY_TINY_TASKS: about as long
    /// as a steal takes. It waits twice as long after each further one, up to TINY_AWAITED, because on some
    /// machines a tiny task takes longer than this.
    LEAPFROG_DELAY: Time = nanos(400);
    /// If an owner waits for less than this, its task was not worth the steal. A thief may have split the
    /// task in the meantime, which makes it longer.
    TINY_AWAITED: Time = micros(4);
    /// Maximum number of tasks that one request makes public. A larger number would allow more free steals,
    /// but each public task costs its owner an atomic operation to reclaim.
    MAX_PUBLISHED: Number = if cfg!(loom) { 1 } else { 32 };
    /// Minimum time from the owner's last publication to the end of a stolen task after which the owner
    /// requests on the thief's behalf: some ten times what a steal costs.
    WORTH_A_STEAL: Time = micros(3);
    /// Maximum time that a victim without a barrier waits for its thief.
    MAX_YIELD: Time = micros(20);
    /// Time for which a thread outside the pool yields its processor before it sleeps: about as long as it
    /// takes to put the thread to sleep and to wake it.
    OUTSIDE_YIELD: Time = micros(30);
    /// A pool that has work from outside and begins none of it for this long is stalled, and a spare worker
    /// rescues it.
    STALL: Time = millis(20);
    /// If tasks wait and a processor is idle for this long, because no spare worker is left, the pool warns.
    STUCK: Time = millis(1_000);
    /// Time after which a blocked worker runs anything, if the program allows it and no spare worker has
    /// taken its processor. Until then another worker may resume.
    LEFT_ALONE: Time = millis(20);
    /// Time after which a worker stops running queued jobs one after the other and looks for thieves: a
    /// multiple of what it takes to find the next job.
    BATCH_TIME: Time = micros(200);
    /// Target duration of a block of a loop, in ticks of the clock. A tick is a nanosecond, or 0.2 to 0.5
    /// nanoseconds where the clock is a time-stamp counter.
    BLOCK_TICKS: Number = 30_000;
    /// Target duration of a strip of fast iterations, in ticks of the clock.
    STRIP_TICKS: Number = 250;
    /// Length of a strip of slower iterations, unless it is longer than a block. If all iterations of a
    /// strip turn out to be slow, no other worker can help with them.
    STRIP: Number = 128;
    /// Minimum length of the strips that get shorter towards the end of a loop or part, so that a few slow
    /// iterations there lie in several strips. A shorter strip of a vectorised loop would take less time than
    /// the look for thieves after it.
    LAST_STRIP: Number = 32;
    /// Maximum growth from one block of a loop to the next. It limits the damage if the first iterations are
    /// cheaper than the rest.
    MAX_GROWTH: Number = 8;
    /// An iterator is fast if it has the next item within this number of ticks, and a part of a loop over an
    /// iterator waits this long for another part: some microseconds, the cost of a call of `blocking`.
    FAST_ITEM: Number = 10_000;
    /// Number of jobs in front that come before a job in the background.
    FRONT_JOBS: Number = 8;
    /// Minimum of the default number of spare workers, which is otherwise the number of workers. A spare
    /// worker without a thread costs next to nothing.
    DEFAULT_SPARES: Number = 128;
}

#[cfg(not(purloin_tunable))]
#[inline(always)]
fn current(_: &'static str, default: u64) -> u64 {
    default
}

#[cfg(purloin_tunable)]
fn current(name: &'static str, default: u64) -> u64 {
    use crate::sync::plain::OnceLock;

    static CHANGED: OnceLock<Vec<(&'static str, u64)>> = OnceLock::new();
    let changed = CHANGED.get_or_init(|| {
        let text = std::env::var("PURLOIN_TUNABLES").unwrap_or_default();
        parse(&text).unwrap_or_else(|error| {
            eprintln!("PURLOIN_TUNABLES: {error}");
            std::process::exit(2);
        })
    });
    let mut changed = changed.iter().rev();
    changed
        .find(|&&(other, _)| other == name)
        .map_or(default, |&(_, value)| value)
}

/// Parses `NAME=VALUE,…`. The error names the part at fault, and what is possible.
#[cfg(any(purloin_tunable, test))]
fn parse(text: &str) -> Result<Vec<(&'static str, u64)>, String> {
    let parts = text.split(',').map(str::trim);
    let parts = parts.filter(|part| !part.is_empty());
    let parsed = parts.map(|part| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let known = NAMES.iter().find(|(known, _)| *known == name.trim());
        let &(name, kind) = known.ok_or_else(|| {
            let names: Vec<_> = NAMES.iter().map(|(name, _)| *name).collect();
            format!(
                "no tunable \"{name}\"; the tunables are {}",
                names.join(", ")
            )
        })?;
        let value = value.trim();
        match kind {
            "Time" => parse_time(value)
                .ok_or_else(|| format!("{name} is a time, such as 20us, not \"{value}\"")),
            _ => (value.parse().ok()).ok_or_else(|| format!("{name} is a number, not \"{value}\"")),
        }
        .map(|value| (name, value))
    });
    parsed.collect()
}

/// Parses a time with its unit, in nanoseconds.
#[cfg(any(purloin_tunable, test))]
fn parse_time(text: &str) -> Option<u64> {
    let units = [
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
    ];
    let (number, unit) = units
        .iter()
        .find_map(|&(unit, nanos)| Some((text.strip_suffix(unit)?, nanos)))?;
    number.trim().parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tunables_are_named_and_have_values() {
        let all = all();
        let spin = all
            .iter()
            .find(|tunable| tunable.name == "SPIN_TIME")
            .unwrap();
        assert_eq!(spin.value, "80µs");
        assert!(all.iter().all(|tunable| !tunable.about.is_empty()));
    }

    #[test]
    fn an_experiment_sets_times_and_numbers() {
        let parsed = parse("SPIN_TIME=20us, STRIP=64,").unwrap();
        assert_eq!(parsed, [("SPIN_TIME", 20_000), ("STRIP", 64)]);
        assert_eq!(parse("").unwrap(), []);
        let error = |text: &str| parse(text).unwrap_err();
        assert!(error("SPIN=1us").starts_with("no tunable \"SPIN\"; the tunables are SPIN_TIME, "));
        assert_eq!(
            error("STALL=20"),
            "STALL is a time, such as 20us, not \"20\""
        );
        assert_eq!(error("STRIP"), "STRIP is a number, not \"\"");
    }
}
