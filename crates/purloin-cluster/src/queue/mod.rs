//! The distributed queue: each rank's tasks, in a window that all ranks can access.
//!
//! # Slots
//!
//! A rank has a stack of slots of equal size. It holds the tasks that the rank has spawned, the
//! newest on top, and stolen tasks that wait to run. A slot consists of a header and a payload.
//! The header has the task's origin, its depth, a *state*, and the time that the task took. The
//! payload is first the task and later its result.
//!
//! ```text
//!  0          first       unclaimed   split               top
//!  | stolen … | claimed … | offered … | private …         |  free …
//!             '------- batch ---------'
//! ```
//!
//! Slots from `split` on are **private**: other ranks do not access them, and a push or a pop
//! costs a few plain stores. Below `split` lies a **batch** of at most 48 tasks that the owner
//! **offers**. Thieves take the oldest of them, up to 24 at a time. Slots below the batch hold
//! tasks that were stolen, or that are *skipped* (see below).
//!
//! If the owner asks for a result out of order, it runs the task in its slot. The slot is then
//! *settled*, and is no longer offered. When the result has been used, the slot is *released*, and
//! becomes free as soon as it is the newest.
//!
//! # The batch word
//!
//! One word of 64 bits describes the batch: its first slot, its length, and the number of
//! **claims** that thieves have made. A thief adds one claim with an atomic fetch-and-add. The old
//! word tells the thief its share: half of what the earlier claims have left. The thief then copies
//! these slots with one get. So a steal is one atomic operation and one copy. Neither disturbs the
//! victim, and the atomic operation cannot fail because of other ranks, as a compare-and-swap can.
//! A thief that claims when nothing is left only increases the number of claims, which does no
//! harm. After four claims in a row without success, a thief [peeks](crate::rank) at the word
//! before it claims again, so that the number cannot overflow.
//!
//! The owner changes the word on only two occasions, both off its fast path:
//!
//! * **publish**: when nothing is left of the last batch and private tasks exist.
//! * **withdraw**: when the owner needs a task of the batch itself, or when little of the batch
//!   is left and more private tasks exist. The owner subtracts the length, so the batch is empty
//!   from then on. The old word tells the owner which slots thieves had claimed. It then
//!   publishes the older half of the rest, or as many tasks as a batch may have.
//!
//! Both the owner and the thieves change the word by additions only. MPI guarantees that operations
//! of one kind are atomic with respect to each other. It does not guarantee atomicity between an
//! addition and a replacement, which the network hardware and the processor may perform in
//! different places. (Also, a compare-and-swap to the calling rank itself crashes in Open MPI 4.1.)
//!
//! # Stray claims
//!
//! A claim may arrive while the batch is empty: after the owner last read the word and before it
//! publishes. The claiming thief sees an empty batch and gets nothing. But the claim still counts
//! in the new batch, because the owner did not know of the claim and could not subtract it. The
//! publishing addition returns the old word, from which the owner learns of such **stray claims**.
//! Later thieves take the first part of the batch for claimed. So these slots are **skipped**: they
//! stay below the split, and the owner knows that no thief will ever copy them.
//!
//! # Results
//!
//! A stolen task carries its **origin**: the rank and slot of its spawn, even if it is stolen a
//! second time. The thief writes the result into that slot, and then raises the slot's state.
//! The owner reads only its own memory: it waits for the state, reads the result and frees the
//! slot.
//!
//! The thief writes the result by additions, too. It has copied the slot, so it knows what to
//! add to turn the old words into the new ones. A put could complete here before it completes at
//! the target, and the thief would have to wait for a flush, which takes too long. A fetching
//! addition is complete at the target when the old words have arrived here. (This holds in every
//! MPI that was examined. The standard guarantees only that the fetched words have arrived. An
//! implementation that relies on the standard alone needs a flush.)
//!
//! A slot that holds another rank's task never receives a result: the task was stolen, and
//! stolen again before it ran. The second thief raises the state of such a slot as soon as it
//! has copied the task.
//!
//! # Rules for writing
//!
//! | word or slot | writer | when |
//! |---|---|---|
//! | batch word | all ranks | atomic additions only |
//! | private or free slot | owner | plain stores, made visible before the slot is published |
//! | claimed slot | the one rank that runs its task | until it raises the state |
//! | state | owner | sets it to 0 before the slot is published |
//! | state | thief | adds 1 atomically, after the result or the copy |
//!
//! `MPI_Win_sync` makes the owner's stores visible. The owner reads the state of a slot as an
//! atomic word, with acquire ordering, before it reads the result.
//!
//! Source: AsynchWS, section II (private and shared region, split pointer) and IV.B
//! (steal-half); Dinan and others, *Scalable work stealing* (2009); Cartier,
//! Dinan and Larkins, *Optimizing work stealing communication with structured atomic
//! operations* (2021).

mod batch;
mod layout;
mod memory;
#[cfg(test)]
mod models;
#[cfg(test)]
mod random_tests;
mod stack;

pub use batch::{CLAIM, MAX_OFFERED, MAX_STEAL, claimed};
pub use layout::{BATCH_WORD, DONE_FLAG, Header, Layout, MAX_TASK_BYTES, Origin, SlotHandle};
pub use stack::Stack;
