//! The thief's side of a queue: [`Thief`].

use std::ptr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytemuck::pod_read_unaligned;

use super::victims::Victims;
use super::writes::Writes;
use crate::Task;
use crate::queue::{BATCH_WORD, CLAIM, Header, Layout, MAX_STEAL, Origin, claimed};
use crate::stats::Stats;
use crate::transport::{Transfer, Window};

/// After this many failed claims in a row, the thief peeks at a victim's batch word before it
/// claims again. Peeking takes another round trip, but claims are counted in a field of 24 bits
/// that must not overflow.
const MAX_FAILED_CLAIMS: u8 = 4;

/// The step of a steal that is under way.
enum Step {
    /// No steal is under way.
    Nothing,
    /// The thief reads the batch word without a claim.
    Peeking(Transfer),
    /// The thief makes a claim.
    Claiming(Transfer),
    /// The thief copies this many slots from the first on.
    Copying(Transfer, usize, usize),
}

/// A task that was stolen.
pub struct StolenTask<T> {
    pub task: T,
    pub depth: u32,
    pub origin: Origin,
    /// Whether the victim is on another node.
    pub is_remote: bool,
}

/// The steal of a rank, at most one at a time.
///
/// A steal is under way while the rank does something else. It takes its next step whenever the
/// rank calls [`advance`](Thief::advance): first a claim at the victim, or a peek followed by a
/// claim, and then the copy of the claimed slots. If the victim has no tasks, the steal ends,
/// and the next one tries another victim.
pub struct Thief<T: Task> {
    window: Rc<Window>,
    victims: Victims,
    victim: usize,
    is_remote: bool,
    step: Step,
    begun: Instant,
    /// For each rank, the number of failed claims in a row.
    failed_claims: Box<[u8]>,
    /// The word that MPI adds, and the old word that it fetches. They are boxed because MPI
    /// accesses them while a transfer is under way.
    words: Box<[u64; 2]>,
    slots: Box<[u8]>,
    stolen: Vec<StolenTask<T>>,
    cost: Duration,
}

impl<T: Task> Thief<T> {
    pub fn new(window: &Rc<Window>) -> Self {
        let world = window.world();
        let victims = Victims::new(world.rank(), world.ranks(), world.node_ranks());
        let mut thief = Thief {
            window: window.clone(),
            victims,
            victim: 0,
            is_remote: false,
            step: Step::Nothing,
            begun: Instant::now(),
            failed_claims: vec![0; world.ranks()].into(),
            words: Box::default(),
            slots: vec![0; MAX_STEAL * Layout::<T>::SLOT_BYTES].into(),
            stolen: Vec::new(),
            cost: Duration::ZERO,
        };
        thief.estimate_cost();
        thief
    }

    /// Estimates the cost of a steal as two round trips.
    fn estimate_cost(&mut self) {
        let world = self.window.world();
        if world.ranks() == 1 {
            return;
        }
        let other = (world.rank() + 1) % world.ranks();
        let round_trip = |_| {
            let begin = Instant::now();
            self.window.fetch_add(other, BATCH_WORD, 0);
            begin.elapsed()
        };
        self.cost = 2 * (0..5).map(round_trip).min().unwrap_or_default();
    }

    /// Returns the estimated cost of a steal.
    pub fn cost(&self) -> Duration {
        self.cost
    }

    /// Returns whether a steal is under way.
    pub fn is_busy(&self) -> bool {
        !matches!(self.step, Step::Nothing)
    }

    /// Starts a steal.
    pub fn begin(&mut self, stats: &mut Stats) {
        (self.victim, self.is_remote) = self.victims.next();
        stats.steal_attempts += 1;
        self.begun = Instant::now();
        self.step = match self.failed_claims[self.victim] >= MAX_FAILED_CLAIMS {
            true => Step::Peeking(self.fetch_add(0)),
            false => Step::Claiming(self.fetch_add(CLAIM)),
        };
    }

    /// Starts to add to the victim's batch word.
    fn fetch_add(&mut self, value: u64) -> Transfer {
        let [values, before] = &mut *self.words;
        *values = value;
        // SAFETY: the words are boxed. This type does not access them, and starts no other
        // transfer, until the transfer has ended.
        unsafe {
            self.window
                .add(self.victim, BATCH_WORD, ptr::from_ref(values), before, 1)
        }
    }

    /// Takes the next step if the last one has ended. A successful steal leaves its tasks for
    /// [`take_tasks`](Thief::take_tasks).
    pub fn advance(&mut self, stats: &mut Stats, writes: &mut Writes) {
        let world = self.window.world();
        match &mut self.step {
            Step::Nothing => {}
            Step::Peeking(transfer) => {
                if transfer.test(world) {
                    self.step = match claimed(self.words[1]) {
                        Some(_) => Step::Claiming(self.fetch_add(CLAIM)),
                        None => Step::Nothing,
                    };
                }
            }
            Step::Claiming(transfer) => {
                if transfer.test(world) {
                    self.copy_claimed_slots();
                }
            }
            &mut Step::Copying(ref mut transfer, first, count) => {
                if transfer.test(world) {
                    self.step = Step::Nothing;
                    self.unpack(first, count, stats, writes);
                }
            }
        }
    }

    /// Starts to copy the slots that the claim has taken, if any.
    fn copy_claimed_slots(&mut self) {
        let claimed = claimed(self.words[1]);
        let failed_claims = &mut self.failed_claims[self.victim];
        *failed_claims = match claimed {
            Some(_) => 0,
            None => failed_claims.saturating_add(1),
        };
        self.step = match claimed {
            None => Step::Nothing,
            Some((first, count)) => {
                let into = self.slots.as_mut_ptr();
                let (offset, len) = (Layout::<T>::slot(first), count * Layout::<T>::SLOT_BYTES);
                // SAFETY: a claim takes at most `MAX_STEAL` slots, for which the boxed buffer
                // has room. This type does not access the buffer until the transfer has ended.
                let transfer = unsafe { self.window.get(self.victim, offset, into, len) };
                Step::Copying(transfer, first, count)
            }
        };
    }

    /// Unpacks the tasks from the copied slots.
    fn unpack(&mut self, first: usize, count: usize, stats: &mut Stats, writes: &mut Writes) {
        stats.steals += 1;
        stats.remote_steals += u64::from(self.is_remote);
        stats.stolen += count as u64;
        // The estimate is a recent minimum. Longer times include time slices of other processes,
        // or tasks that this rank ran during the steal.
        self.cost = self.begun.elapsed().min(self.cost + self.cost / 32);
        for (place, slot) in self
            .slots
            .chunks_exact(Layout::<T>::SLOT_BYTES)
            .take(count)
            .enumerate()
        {
            let (header, payload) = slot.split_at(size_of::<Header>());
            let header: Header = pod_read_unaligned(header);
            let slot = first + place;
            let is_victims_own =
                header.origin.rank as usize == self.victim && header.origin.slot as usize == slot;
            if !is_victims_own {
                // The victim had itself stolen the task. It gets no result, and waits only for this
                // acknowledgement before it frees the slot.
                writes.raise(self.victim, Layout::<T>::state(slot));
            }
            self.stolen.push(StolenTask {
                task: pod_read_unaligned(&payload[..size_of::<T>()]),
                depth: header.depth as u32,
                origin: header.origin,
                is_remote: self.is_remote,
            });
        }
    }

    /// Returns whether stolen tasks have arrived.
    pub fn has_tasks(&self) -> bool {
        !self.stolen.is_empty()
    }

    /// Takes the stolen tasks, oldest first.
    pub fn take_tasks(&mut self) -> Vec<StolenTask<T>> {
        std::mem::take(&mut self.stolen)
    }
}
