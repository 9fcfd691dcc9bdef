//! The distributed queue: each rank's tasks, in a window that all others reach.
//!
//! # Slots
//!
//! A rank has a stack of slots of equal size. The tasks that it spawns lie there, newest
//! on top, and so do the tasks that it has stolen, while they wait to be run. A slot has
//! a head (where the task comes from, its depth, a *state* and the time it took) and
//! room for the task or, later, for its result.
//!
//! ```text
//!  0          first       rest        split               top
//!  | stolen … | claimed … | offered … | private …         |  free …
//!             '------- batch ---------'
//! ```
//!
//! Slots from `split` on are **private**: nobody else looks at them, and pushing and
//! popping them costs some plain stores. Below it, a **batch** of at most 48 tasks is
//! **shared**; thieves come for the oldest, up to 24 at a time. What is older than the batch
//! was stolen, or is *kept* (see below).
//!
//! A task whose result is asked for out of order is run where it lies: its slot is
//! *settled*, and offered no more. When its result has been taken it is *released*, and free
//! again as soon as it is the newest.
//!
//! # The word
//!
//! One word of 64 bits says what is shared: the first slot of the batch, how many, and
//! how many thieves have come: their **claims**. A thief adds one claim by an atomic
//! fetch-and-add, and by what the word was he knows his part: half of what the claims
//! before his have left. He copies these slots by one get. So a steal is one atomic
//! operation and one copy, neither of which disturbs the victim, and the first cannot
//! fail for others' sake as a compare-and-swap can. Who comes when nothing is left has
//! added to a number that nobody minds; thieves who have come in vain four
//! times in a row [look](crate::rank) before they come again, so that the number cannot
//! overflow.
//!
//! The owner changes the word at two occasions only, both off its usual path:
//!
//! * **publish**: when nothing is left of the last batch, and there are tasks above it.
//! * **withdraw**: when it needs a task of the batch itself, or little of it is left and
//!   there are more tasks. It subtracts the number of tasks, so that the batch is empty from
//!   then on, and knows by what the word was who had come before. Then it publishes the
//!   older half of the rest, or as many as may be offered.
//!
//! The word is only ever added to, by owner and thieves alike. MPI promises that
//! operations are atomic among each other if all are of one kind; it does not promise
//! that of an addition and a replacement, which network hardware and processors may do in
//! different places. (And in Open MPI 4.1 a compare-and-swap to oneself crashes.)
//!
//! # Claims between two batches
//!
//! A claim that comes while the batch is empty, after the owner has last looked at the
//! word and before it publishes, counts in the new batch: the owner cannot take it away
//! together with those that it knows of. It learns of it by the publishing addition,
//! which returns what the word was. For thieves that come afterwards, the first part of
//! the batch is taken. So these slots are **kept**: they stay below the split, and the
//! owner knows that nobody will ever come for them.
//!
//! # Results
//!
//! A stolen task carries its **origin**: the rank and slot where it was spawned, even if
//! it is stolen a second time. Its result is written there, into the slot, and when that
//! is done the slot's state is raised; the owner, who looks at its own memory only, then
//! reads the result and has the slot back. Both are additions again: the thief has copied
//! the slot, so it knows what to add to turn the old words into the new ones. A put would
//! do, but that it ends here before it has ended there, and to wait for that (a flush) is
//! what a thief has no time for. An addition that fetches what there was has been done
//! when that has come. (So it is in every MPI that was looked at. The standard only says that
//! what was fetched has come; who wants to rely on no more has to flush.)
//!
//! A slot with another rank's task (it was stolen, and stolen again before it was run)
//! never sees a result. The second thief raises its state as soon as he has copied it.
//!
//! # Who may write what
//!
//! | what | who | when |
//! |---|---|---|
//! | word | all | atomic additions |
//! | slot, private or free | owner | plain stores, made visible (`MPI_Win_sync`) before the slot is published |
//! | slot, claimed | the one thief | until its state is raised |
//! | state | owner: to 0 before the slot is published; thief: atomic addition | as above |
//!
//! The owner reads a slot's state as an atomic word with acquire ordering before it
//! reads the result.
//!
//! Source: AsynchWS, section II (private and shared region, split pointer) and IV.B
//! (steal-half of at most 24); Dinan and others, *Scalable work stealing* (2009); Cartier,
//! Dinan and Larkins, *Optimizing work stealing communication with structured atomic
//! operations* (2021).

mod layout;
#[cfg(test)]
mod models;
#[cfg(test)]
mod random_tests;
mod share;
mod stack;

pub use layout::{Head, LARGEST, Layout, OVER, Origin, SHARE, Slot};
pub use share::{CLAIM, MOST, claimed};
pub use stack::Stack;
