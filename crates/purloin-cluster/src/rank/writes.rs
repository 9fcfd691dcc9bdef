//! Results and acknowledgements on their way: [`Returns`].

use std::rc::Rc;

use crate::transport::{Transfer, Window};

/// Something that is written to another rank, and does not keep this one waiting.
struct Parcel {
    transfer: Transfer,
    /// What is added, and room for what was there: halves of one buffer.
    words: Vec<u64>,
    /// The state to raise when the transfer has ended: a rank and an offset.
    then: Option<(usize, usize)>,
}

/// All that is on its way.
pub struct Returns {
    window: Rc<Window>,
    parcels: Vec<Parcel>,
}

impl Returns {
    pub fn new(window: &Rc<Window>) -> Returns {
        Returns {
            window: window.clone(),
            parcels: Vec::new(),
        }
    }

    fn send(&mut self, rank: usize, offset: usize, values: &[u64], then: Option<(usize, usize)>) {
        let mut words = vec![0; 2 * values.len()];
        let (new, before) = words.split_at_mut(values.len());
        new.copy_from_slice(values);
        // SAFETY: the buffer does not move, and goes only after the transfer has ended.
        let transfer = unsafe {
            self.window.add(
                rank,
                offset,
                new.as_ptr(),
                before.as_mut_ptr(),
                values.len(),
            )
        };
        self.parcels.push(Parcel {
            transfer,
            words,
            then,
        });
    }

    /// Adds `values` to the words at a rank's `offset`, and raises the state there when
    /// that is done.
    pub fn write(&mut self, rank: usize, offset: usize, values: &[u64], state: usize) {
        self.send(rank, offset, values, Some((rank, state)));
        self.progress();
    }

    /// Raises the state of a slot.
    pub fn raise(&mut self, rank: usize, state: usize) {
        self.send(rank, state, &[1], None);
    }

    /// Looks after what is on its way.
    pub fn progress(&mut self) {
        let mut place = 0;
        while place < self.parcels.len() {
            if !self.parcels[place].transfer.test(self.window.world()) {
                place += 1;
                continue;
            }
            let parcel = self.parcels.swap_remove(place);
            debug_assert!(!parcel.words.is_empty());
            if let Some((rank, state)) = parcel.then {
                self.raise(rank, state);
            }
        }
    }

    /// Whether all has arrived.
    pub fn is_empty(&self) -> bool {
        self.parcels.is_empty()
    }
}
