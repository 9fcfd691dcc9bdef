//! Results and acknowledgements that are under way: [`Writes`].

use std::rc::Rc;

use crate::transport::{Transfer, Window};

/// A write to another rank that is under way.
struct Write {
    transfer: Transfer,
    /// One buffer with two halves: the words to add, and room for the old words.
    words: Vec<u64>,
    /// The rank and offset of the state to raise when the transfer has ended.
    then: Option<(usize, usize)>,
}

/// All writes of this rank that are under way. The rank does not wait for them.
pub struct Writes {
    window: Rc<Window>,
    under_way: Vec<Write>,
}

impl Writes {
    pub fn new(window: &Rc<Window>) -> Writes {
        Writes {
            window: window.clone(),
            under_way: Vec::new(),
        }
    }

    fn start(&mut self, rank: usize, offset: usize, values: &[u64], then: Option<(usize, usize)>) {
        let mut words = vec![0; 2 * values.len()];
        let (new, before) = words.split_at_mut(values.len());
        new.copy_from_slice(values);
        // SAFETY: both halves belong to `words`, whose buffer does not move with the vector.
        // `advance` drops it only after the transfer has ended.
        let transfer = unsafe {
            self.window.add(
                rank,
                offset,
                new.as_ptr(),
                before.as_mut_ptr(),
                values.len(),
            )
        };
        self.under_way.push(Write {
            transfer,
            words,
            then,
        });
    }

    /// Adds `values` to words of a rank that begin at `offset`, and then raises the state at the
    /// offset `state` of that rank.
    pub fn add_then_raise(&mut self, rank: usize, offset: usize, values: &[u64], state: usize) {
        self.start(rank, offset, values, Some((rank, state)));
        self.advance();
    }

    /// Raises the state at the offset `state` of a rank.
    pub fn raise(&mut self, rank: usize, state: usize) {
        self.start(rank, state, &[1], None);
    }

    /// Advances all writes that are under way.
    pub fn advance(&mut self) {
        let mut place = 0;
        while place < self.under_way.len() {
            if !self.under_way[place].transfer.test(self.window.world()) {
                place += 1;
                continue;
            }
            let write = self.under_way.swap_remove(place);
            debug_assert!(!write.words.is_empty());
            if let Some((rank, state)) = write.then {
                self.raise(rank, state);
            }
        }
    }

    /// Returns whether all writes have ended.
    pub fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }
}
