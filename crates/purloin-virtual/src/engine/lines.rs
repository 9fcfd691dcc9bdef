//! Cache lines: which core has a copy, in which state, and what an access costs.
//!
//! A directory knows for each line the core that has modified it, or the cores that share a copy. An access that finds
//! the line elsewhere moves it, and the line is busy until it has arrived: the next core that wants it waits. So a word on
//! which many cores do read-modify-writes costs each of them as much as all those before it.
//!
//! A line that no core has used before costs nothing. The model has no capacity: a copy stays until another core writes
//! the line.

use super::turns::Time;
use crate::machine::{MAX_CORES, Machine};

/// A kind of access to a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// A load.
    Read,
    /// A store. The core goes on at once, and a fence waits until the store has reached the line.
    Write,
    /// An atomic read-modify-write, which is a full fence.
    Modify,
}

/// Times of a machine in picoseconds.
pub(crate) struct Costs {
    pub(crate) load: Time,
    pub(crate) locked: Time,
    cluster: Time,
    socket: Time,
    remote: Time,
    cache: Time,
    cluster_cores: usize,
    socket_cores: usize,
}

/// Converts nanoseconds to picoseconds.
pub(crate) fn picoseconds(nanoseconds: f64) -> Time {
    (nanoseconds * 1000.0).round() as Time
}

impl Costs {
    pub(crate) fn of(machine: &Machine) -> Costs {
        let latency = &machine.latency;
        Costs {
            load: picoseconds(machine.core.load),
            locked: picoseconds(machine.core.locked),
            cluster: picoseconds(latency.cluster),
            socket: picoseconds(latency.socket),
            remote: picoseconds(latency.remote.unwrap_or(latency.socket)),
            cache: picoseconds(latency.cache),
            cluster_cores: machine.topology.cluster,
            socket_cores: machine.topology.socket,
        }
    }

    /// Returns the time that a message between two cores takes.
    fn between(&self, one: usize, other: usize) -> Time {
        if one / self.cluster_cores == other / self.cluster_cores {
            self.cluster
        } else if one / self.socket_cores == other / self.socket_cores {
            self.socket
        } else {
            self.remote
        }
    }

    /// Returns the time to get a clean copy that `other` has.
    fn clean_copy(&self, core: usize, other: usize) -> Time {
        match core / self.cluster_cores == other / self.cluster_cores {
            true => self.cache,
            false => self.between(core, other),
        }
    }
}

/// A set of cores.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Cores([u64; MAX_CORES / 64]);

impl Cores {
    const fn only(core: usize) -> Cores {
        let mut bits = [0; MAX_CORES / 64];
        bits[core / 64] = 1 << (core % 64);
        Cores(bits)
    }

    fn has(&self, core: usize) -> bool {
        self.0[core / 64] >> (core % 64) & 1 != 0
    }

    fn add(&mut self, core: usize) {
        self.0[core / 64] |= 1 << (core % 64);
    }

    fn iter(self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(word, mut bits)| {
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some(64 * word + bit)
            })
        })
    }
}

struct Line {
    /// The address divided by the size of a line, or 0 for an empty place of the table.
    number: usize,
    /// The only core with a copy, which may differ from memory, or [`SHARED`].
    owner: u32,
    /// The operation that has last touched the line, see [`Found::is_foreign`].
    stamp: u32,
    /// The cores with a copy.
    copies: Cores,
    /// The time at which the line has arrived at the core that has last asked for it.
    free_at: Time,
}

const SHARED: u32 = u32::MAX;

const LINE: usize = 64;

/// The outcome of an access.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    /// The time at which the access is over.
    pub(crate) end: Time,
    /// Whether the line came from another core, or a copy of another core had to go.
    pub(crate) is_transfer: bool,
    /// Whether another core has used the line since this core was its only user, and this operation had not touched it.
    pub(crate) is_foreign: bool,
}

/// The directory.
pub(crate) struct Lines {
    costs: Costs,
    table: Box<[Line]>,
    used: usize,
}

impl Lines {
    pub(crate) fn new(costs: Costs) -> Lines {
        Lines {
            costs,
            table: Lines::empty(1 << 12),
            used: 0,
        }
    }

    fn empty(len: usize) -> Box<[Line]> {
        let line = || Line {
            number: 0,
            owner: SHARED,
            stamp: 0,
            copies: Cores::default(),
            free_at: 0,
        };
        std::iter::repeat_with(line).take(len).collect()
    }

    /// Returns the place of a line in the table, or of the empty place where it belongs.
    #[inline]
    fn place(table: &[Line], number: usize) -> usize {
        let mask = table.len() - 1;
        let mut place = (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) & mask;
        while table[place].number != number && table[place].number != 0 {
            place = (place + 1) & mask;
        }
        place
    }

    fn find(&mut self, number: usize) -> &mut Line {
        let mut place = Lines::place(&self.table, number);
        if self.table[place].number == 0 {
            if 2 * self.used >= self.table.len() {
                let mut larger = Lines::empty(2 * self.table.len());
                for line in std::mem::take(&mut self.table) {
                    if line.number != 0 {
                        let place = Lines::place(&larger, line.number);
                        larger[place] = line;
                    }
                }
                self.table = larger;
                place = Lines::place(&self.table, number);
            }
            self.used += 1;
            self.table[place].number = number;
        }
        &mut self.table[place]
    }

    /// A core accesses an address. `operation` is the number of what the core is doing, for [`Found::is_foreign`].
    pub(crate) fn access(
        &mut self,
        core: usize,
        address: usize,
        access: Access,
        now: Time,
        operation: u32,
    ) -> Found {
        let line = self.find(address / LINE) as *mut Line;
        // SAFETY: the line lies in the table, which nothing changes before the end of this function. `costs` is another
        // field.
        let line = unsafe { &mut *line };
        let costs = &self.costs;
        let own = match access {
            Access::Read | Access::Write => costs.load,
            Access::Modify => costs.locked,
        };
        if line.owner == core as u32 {
            let (is_transfer, is_foreign) = (false, false);
            let end = now + own;
            return Found {
                end,
                is_transfer,
                is_foreign,
            };
        }
        let is_first = operation != 0 && std::mem::replace(&mut line.stamp, operation) != operation;
        let has_copy = line.copies.has(core);
        let is_alone = line.owner == SHARED && {
            line.copies == Cores::default() || line.copies == Cores::only(core)
        };
        let is_foreign = is_first && !is_alone;
        if is_alone {
            line.copies = Cores::only(core);
            line.owner = core as u32;
            let end = now.max(line.free_at) + own;
            return Found {
                end,
                is_transfer: false,
                is_foreign,
            };
        }
        if access == Access::Read {
            if has_copy {
                return Found {
                    end: now + own,
                    is_transfer: false,
                    is_foreign,
                };
            }
            let mut end = now.max(line.free_at);
            if line.owner == SHARED {
                let nearest = line
                    .copies
                    .iter()
                    .map(|other| costs.clean_copy(core, other))
                    .min();
                end += nearest.unwrap_or(0);
            } else {
                end += costs.between(core, line.owner as usize);
                line.owner = SHARED;
                line.free_at = end;
            }
            line.copies.add(core);
            return Found {
                end: end + own,
                is_transfer: true,
                is_foreign,
            };
        }
        let farthest = match line.owner {
            SHARED => {
                let others = line.copies.iter().filter(|&other| other != core);
                others
                    .map(|other| costs.between(core, other))
                    .max()
                    .unwrap_or(0)
            }
            owner => costs.between(core, owner as usize),
        };
        let end = now.max(line.free_at) + farthest;
        line.free_at = end;
        line.owner = core as u32;
        line.copies = Cores::only(core);
        Found {
            end: end + own,
            is_transfer: true,
            is_foreign,
        }
    }
}
