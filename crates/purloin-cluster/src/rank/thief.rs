//! How a rank steals: [`Thief`].
//!
//! A steal is under way while the rank does something else, and takes a step whenever
//! [`advance`](Thief::advance) is called: a look or a claim at a victim, then the copy of
//! the claimed slots. If the victim has nothing, the next is asked.

use std::ptr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytemuck::pod_read_unaligned;

use super::victims::Victims;
use super::writes::Returns;
use crate::Task;
use crate::queue::{CLAIM, Head, Layout, MOST, Origin, SHARE, claimed};
use crate::stats::Stats;
use crate::transport::{Transfer, Window};

/// After so many claims in vain at a victim, it is looked at before the next is made. That
/// takes another round trip, but claims are counted in a field of 24 bits.
const MOST_IN_VAIN: u8 = 4;

/// What is under way.
enum Step {
    Nothing,
    /// The word is looked at, without a claim.
    Looking(Transfer),
    /// A claim is being made.
    Claiming(Transfer),
    /// So many slots from the first are being copied.
    Copying(Transfer, usize, usize),
}

/// A task that was stolen.
pub struct Loot<T> {
    pub task: T,
    pub level: u32,
    pub origin: Origin,
    /// Whether it comes from another node.
    pub is_far: bool,
}

/// The steal of a rank, one at a time.
pub struct Thief<T: Task> {
    window: Rc<Window>,
    victims: Victims,
    victim: usize,
    is_far: bool,
    step: Step,
    begun: Instant,
    /// For each rank, how often in a row claims there were in vain.
    in_vain: Box<[u8]>,
    /// What an addition adds, and what was there. Boxed, as MPI works on them meanwhile.
    words: Box<[u64; 2]>,
    slots: Box<[u8]>,
    loot: Vec<Loot<T>>,
    cost: Duration,
}

impl<T: Task> Thief<T> {
    pub fn new(window: &Rc<Window>) -> Self {
        let world = window.world();
        let victims = Victims::new(world.rank(), world.ranks(), world.neighbours());
        let mut thief = Thief {
            window: window.clone(),
            victims,
            victim: 0,
            is_far: false,
            step: Step::Nothing,
            begun: Instant::now(),
            in_vain: vec![0; world.ranks()].into(),
            words: Box::default(),
            slots: vec![0; MOST * Layout::<T>::SLOT].into(),
            loot: Vec::new(),
            cost: Duration::ZERO,
        };
        thief.gauge();
        thief
    }

    /// Estimates what a steal costs: two round trips.
    fn gauge(&mut self) {
        let world = self.window.world();
        if world.ranks() == 1 {
            return;
        }
        let other = (world.rank() + 1) % world.ranks();
        let trip = |_| {
            let begin = Instant::now();
            self.window.fetch_add(other, SHARE, 0);
            begin.elapsed()
        };
        self.cost = 2 * (0..5).map(trip).min().unwrap_or_default();
    }

    /// What a steal costs.
    pub fn cost(&self) -> Duration {
        self.cost
    }

    /// Whether a steal is under way.
    pub fn is_busy(&self) -> bool {
        !matches!(self.step, Step::Nothing)
    }

    /// Begins a steal.
    pub fn begin(&mut self, stats: &mut Stats) {
        (self.victim, self.is_far) = self.victims.next();
        stats.steal_attempts += 1;
        self.begun = Instant::now();
        self.step = match self.in_vain[self.victim] >= MOST_IN_VAIN {
            true => Step::Looking(self.add(0)),
            false => Step::Claiming(self.add(CLAIM)),
        };
    }

    fn add(&mut self, value: u64) -> Transfer {
        let [values, before] = &mut *self.words;
        *values = value;
        // SAFETY: the words are boxed, and left alone until the transfer has ended.
        unsafe {
            self.window
                .add(self.victim, SHARE, ptr::from_ref(values), before, 1)
        }
    }

    /// Takes the next step, if the last has ended. A steal in vain is over; one that has
    /// brought something leaves it as [`loot`](Thief::take_loot).
    pub fn advance(&mut self, stats: &mut Stats, returns: &mut Returns) {
        let world = self.window.world();
        match &mut self.step {
            Step::Nothing => {}
            Step::Looking(transfer) => {
                if transfer.test(world) {
                    self.step = match claimed(self.words[1]) {
                        Some(_) => Step::Claiming(self.add(CLAIM)),
                        None => Step::Nothing,
                    };
                }
            }
            Step::Claiming(transfer) => {
                if transfer.test(world) {
                    self.claim();
                }
            }
            &mut Step::Copying(ref mut transfer, first, count) => {
                if transfer.test(world) {
                    self.step = Step::Nothing;
                    self.unpack(first, count, stats, returns);
                }
            }
        }
    }

    /// The claim was made.
    fn claim(&mut self) {
        let claimed = claimed(self.words[1]);
        let in_vain = &mut self.in_vain[self.victim];
        *in_vain = match claimed {
            Some(_) => 0,
            None => in_vain.saturating_add(1),
        };
        self.step = match claimed {
            None => Step::Nothing,
            Some((first, count)) => {
                let into = self.slots.as_mut_ptr();
                let (offset, len) = (Layout::<T>::slot(first), count * Layout::<T>::SLOT);
                // SAFETY: there is room for the most that can be claimed, and it is left
                // alone until the transfer has ended.
                let transfer = unsafe { self.window.get(self.victim, offset, into, len) };
                Step::Copying(transfer, first, count)
            }
        };
    }

    /// The slots were copied.
    fn unpack(&mut self, first: usize, count: usize, stats: &mut Stats, returns: &mut Returns) {
        stats.steals += 1;
        stats.remote_steals += u64::from(self.is_far);
        stats.stolen += count as u64;
        // The least of late: what is above that is other processes' time, or that of the
        // tasks that have been run meanwhile.
        self.cost = self.begun.elapsed().min(self.cost + self.cost / 32);
        for (place, slot) in self
            .slots
            .chunks_exact(Layout::<T>::SLOT)
            .take(count)
            .enumerate()
        {
            let (head, payload) = slot.split_at(size_of::<Head>());
            let head: Head = pod_read_unaligned(head);
            let slot = first + place;
            let is_own =
                head.origin.rank as usize == self.victim && head.origin.slot as usize == slot;
            if !is_own {
                // It was the victim's prey, who waits for this to have its slot back.
                returns.raise(self.victim, Layout::<T>::state(slot));
            }
            self.loot.push(Loot {
                task: pod_read_unaligned(&payload[..size_of::<T>()]),
                level: head.level as u32,
                origin: head.origin,
                is_far: self.is_far,
            });
        }
    }

    /// Whether tasks have come.
    pub fn has_loot(&self) -> bool {
        !self.loot.is_empty()
    }

    /// The tasks that have come, oldest first.
    pub fn take_loot(&mut self) -> Vec<Loot<T>> {
        std::mem::take(&mut self.loot)
    }
}
