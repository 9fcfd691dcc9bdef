//! (page)

mod mailbox;
#[cfg(all(loom, test))]
mod models;
mod post;
mod request;
mod stack;
mod strategy;
mod thieves;

use std::io;

use self::stack::TaskStack;
pub use self::strategy::Stealing;
use self::thieves::ByMessage;
use super::direct::{self, Direct, StateWord};

type Slot = direct::Slot<Channel>;

/// Prell's.
#[derive(Clone, Debug, Default)]
pub struct Channel {
    stealing: Stealing,
}

impl Channel {
    /// How many tasks a thief takes at once; at first [`Stealing::Adaptive`].
    pub fn steal(mut self, stealing: Stealing) -> Self {
        self.stealing = stealing;
        self
    }
}

impl Direct for Channel {
    type Header = StateWord;
    type Stack = TaskStack;
    type Thieves = ByMessage;

    fn stack(&self, capacity: usize, workers: usize) -> io::Result<TaskStack> {
        TaskStack::new(capacity, workers, self.stealing)
    }
}
