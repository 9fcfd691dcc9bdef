//! Victim selection: in which order a thief looks at the other workers.

mod random;

pub(crate) use random::RandomStart;
