//! [`ReturnBarrier`] and its options. This file imports nothing, so that public types can have `ReturnBarrier` as their
//! default parameter without importing the runtime.

/// Return-barrier stealing, the default scheduler.
///
/// Tasks are private to their worker until a thief asks. Then the older ones become public,
/// and thieves steal them without disturbing their owner. A thief whose victim does not answer
/// takes its task by force, through Linux's `membarrier`.
///
/// Sources: Wool, section 3 (the direct task stack, leapfrogging); Return barrier, section 5;
/// Channel (requests that the victim polls for).
#[derive(Clone, Debug)]
pub struct ReturnBarrier {
    pub(super) forced_steals: bool,
}

impl Default for ReturnBarrier {
    fn default() -> Self {
        ReturnBarrier {
            forced_steals: true,
        }
    }
}

impl ReturnBarrier {
    /// Sets whether thieves may take tasks from a silent victim by force. The default is true.
    ///
    /// On a system without `membarrier`, thieves never use force: they wait for the victim's next
    /// push or pop. If the program had several threads when it made its first pool, they do so for some
    /// milliseconds from the first time that a victim is silent.
    pub fn forced_steals(mut self, allowed: bool) -> Self {
        self.forced_steals = allowed;
        self
    }
}
