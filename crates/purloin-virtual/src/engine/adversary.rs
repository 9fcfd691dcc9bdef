//! The adversary: decides which thread runs, when stores become visible, and what fails.
//!
//! It has three strategies. One gives each thread a priority and lowers that of the running thread at some points
//! (probabilistic concurrency testing: Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010). One switches at random.
//! One stops a thread for up to 65,536 events, as a system does that takes a processor away.

use super::Engine;
use crate::random::Random;
use crate::report::Failure;

/// The disturbances of a run. The seed decides when each comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weather {
    /// Refuses one in this many new threads; 0 refuses none.
    pub refused_threads: u64,
    /// Wakes a waiting thread without a reason at one in this many events; 0 wakes none.
    pub spurious_wakes: u64,
    /// Lets the clock jump at one in this many events, by up to two seconds; 0 for no jumps.
    pub clock_jumps: u64,
    /// Whether the system refuses `membarrier`.
    pub refuses_membarrier: bool,
    /// The duration of an event in nanoseconds. On a slow machine, time limits end after few events.
    pub event_time: u64,
    /// Number of events after which the run fails.
    pub max_events: u64,
}

impl Default for Weather {
    fn default() -> Weather {
        Weather {
            refused_threads: 0,
            spurious_wakes: 0,
            clock_jumps: 0,
            refuses_membarrier: false,
            event_time: 5,
            max_events: 20_000_000,
        }
    }
}

impl Weather {
    /// Returns a kind of weather for a seed.
    pub fn of_seed(seed: u64) -> Weather {
        let mut random = Random::new(seed ^ 0x5745_4154_4845_5221);
        let mut pick = |values: &[u64]| values[random.below(values.len() as u64) as usize];
        Weather {
            refused_threads: pick(&[0, 0, 2, 5]),
            spurious_wakes: pick(&[0, 300, 3000]),
            clock_jumps: pick(&[0, 0, 1000, 30_000]),
            refuses_membarrier: pick(&[0, 0, 1]) == 1,
            event_time: pick(&[5, 5, 100, 1000]),
            ..Weather::default()
        }
    }
}

enum Strategy {
    /// The fibre with the highest priority runs.
    Priorities {
        /// The numbers of the events at which the running fibre gets the lowest priority.
        changes: Vec<u64>,
        /// The fibre that runs, and the number of the event at which it began.
        turn: (usize, u64),
    },
    /// Another fibre runs, once in this many events.
    Random { one_in: u64 },
    /// As `Random`, but one fibre after the other stops until an event.
    Stops {
        one_in: u64,
        stopped: usize,
        until: u64,
    },
}

pub(crate) struct Adversary {
    random: Random,
    strategy: Strategy,
    pub(crate) weather: Weather,
    /// The priority of each fibre.
    priorities: Vec<i64>,
    lowest: i64,
    events: u64,
    /// Once in this many events a store becomes visible.
    drains: u64,
    must_switch: bool,
}

/// Number of events after which a thread loses its priority.
const LONGEST_TURN: u64 = 20_000;

impl Adversary {
    pub(crate) fn new(seed: u64, weather: Weather) -> Adversary {
        let mut random = Random::new(seed);
        let pick = |random: &mut Random, values: &[u64]| {
            values[random.below(values.len() as u64) as usize]
        };
        let strategy = match random.below(3) {
            0 => {
                let length = pick(&mut random, &[1_000, 10_000, 100_000]);
                let count = random.below(12);
                let mut changes: Vec<_> = (0..count).map(|_| random.below(length)).collect();
                changes.sort_unstable_by(|one, other| other.cmp(one));
                Strategy::Priorities {
                    changes,
                    turn: (0, 0),
                }
            }
            1 => Strategy::Random {
                one_in: pick(&mut random, &[1, 2, 5, 20, 100, 1000]),
            },
            _ => Strategy::Stops {
                one_in: pick(&mut random, &[2, 10, 100]),
                stopped: 0,
                until: 0,
            },
        };
        Adversary {
            strategy,
            weather,
            priorities: Vec::new(),
            lowest: 0,
            events: 0,
            drains: pick(&mut random, &[1, 4, 30, 300]),
            must_switch: false,
            random,
        }
    }

    /// A fibre begins.
    pub(crate) fn add(&mut self) {
        let priority = self.random.below(1 << 32) as i64;
        self.priorities.push(priority);
    }

    pub(crate) fn refuses_thread(&mut self) -> bool {
        self.random.one_in(self.weather.refused_threads)
    }

    /// Returns whether another fibre should run after this event.
    fn switches(&mut self, fibre: usize) -> bool {
        self.events += 1;
        match &mut self.strategy {
            Strategy::Priorities { changes, turn } => {
                if turn.0 != fibre {
                    *turn = (fibre, self.events);
                }
                let mut is_change = changes.last().is_some_and(|&change| change <= self.events);
                if is_change {
                    changes.pop();
                }
                // A system takes the processor away from a thread that runs for long, for example in a loop that waits
                // for another thread and does not say that it spins.
                is_change |= self.events - turn.1 > LONGEST_TURN;
                if is_change {
                    turn.1 = self.events;
                    self.lowest -= 1;
                    self.priorities[fibre] = self.lowest;
                }
                is_change
            }
            Strategy::Random { one_in } => self.random.one_in(*one_in),
            Strategy::Stops {
                one_in,
                stopped,
                until,
            } => {
                let is_over = *until < self.events;
                if is_over && self.random.one_in(500) {
                    *stopped = self.random.below(self.priorities.len() as u64) as usize;
                    *until = self.events + (1 << (3 + self.random.below(14)));
                }
                *stopped == fibre && self.events < *until || self.random.one_in(*one_in)
            }
        }
    }

    /// Chooses one of the fibres that can run.
    fn choose(&mut self, running: &[usize]) -> usize {
        match &self.strategy {
            Strategy::Priorities { .. } => {
                let highest = running.iter().max_by_key(|&&fibre| self.priorities[fibre]);
                *highest.expect("a fibre can run")
            }
            Strategy::Random { .. } => running[self.random.below(running.len() as u64) as usize],
            Strategy::Stops { stopped, until, .. } => {
                let is_stopped = |fibre: usize| fibre == *stopped && self.events < *until;
                let start = self.random.below(running.len() as u64) as usize;
                let order = running[start..].iter().chain(&running[..start]);
                let first = order.copied().find(|&fibre| !is_stopped(fibre));
                first.unwrap_or(running[start])
            }
        }
    }

    /// A fibre spins: other fibres must run before it.
    fn spins(&mut self, fibre: usize) {
        self.must_switch = true;
        self.lowest -= 1;
        self.priorities[fibre] = self.lowest;
    }
}

impl Engine {
    /// Begins an event under the adversary. Returns whether another fibre should run first.
    pub(crate) fn adversary_interrupts(&mut self) -> bool {
        let Some(adversary) = &mut self.adversary else {
            return false;
        };
        self.now += adversary.weather.event_time * 1000;
        let (fibres, weather) = (self.fibres.len() as u64, &adversary.weather);
        if adversary.random.one_in(weather.clock_jumps) {
            self.now += 1 << (20 + adversary.random.below(21));
        }
        let wakes = adversary.random.one_in(weather.spurious_wakes);
        let drains = adversary.random.one_in(adversary.drains);
        let some_fibre = adversary.random.below(fibres) as usize;
        let mut must_switch = adversary.switches(self.fibre);
        must_switch |= std::mem::take(&mut adversary.must_switch);
        if drains {
            self.drain_one(some_fibre);
        }
        if wakes && self.fibres[some_fibre].may_wake() {
            let woken = super::Woken::Signal;
            self.end_wait(some_fibre, woken, self.now);
        }
        self.tally.mix(self.fibre as u64, self.now);
        must_switch
    }

    /// The running fibre spins. Sooner or later it sees what others have stored.
    pub(crate) fn adversary_spins(&mut self) {
        let Some(adversary) = &mut self.adversary else {
            return;
        };
        adversary.spins(self.fibre);
        for fibre in 0..self.fibres.len() {
            if self.has_stores(fibre) {
                self.drain_one(fibre);
            }
        }
    }

    /// Returns whether the system refuses `membarrier`.
    pub(crate) fn refuses_membarrier(&self) -> bool {
        let adversary = self.adversary.as_ref();
        adversary.is_some_and(|adversary| adversary.weather.refuses_membarrier)
    }

    /// Chooses the fibre that goes on.
    pub(crate) fn next_for_adversary(&mut self) -> Result<(), Failure> {
        loop {
            while self
                .timers
                .peek()
                .is_some_and(|timer| timer.0.time <= self.now)
            {
                self.fire_timer();
            }
            let running: Vec<_> = (0..self.fibres.len())
                .filter(|&fibre| self.fibres[fibre].is_running())
                .collect();
            let adversary = self
                .adversary
                .as_mut()
                .expect("only called with an adversary");
            if adversary.events > adversary.weather.max_events {
                return Err(self.out_of_time());
            }
            if !running.is_empty() {
                self.fibre = adversary.choose(&running);
                return Ok(());
            }
            match self.timers.peek() {
                Some(timer) => self.now = self.now.max(timer.0.time),
                None => return Err(self.hang()),
            }
        }
    }
}
