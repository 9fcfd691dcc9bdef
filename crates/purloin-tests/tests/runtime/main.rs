//! Tests of what the documentation promises, each file about one subject.
//!
//! They are one program, because a program for each file takes twice as long to build. A test that needs a process
//! of its own runs itself in a child process, or is a program in `crates/purloin/tests`.

#[path = "../../../purloin/tests/common/mod.rs"]
mod common;

mod anything;
mod asynchronous;
mod awaiting;
mod barrier;
mod broadcast;
mod calls;
mod cancel;
mod chains;
mod channel;
mod destructors;
mod environment;
mod finish;
mod folds;
mod futures;
mod handlers;
mod hook;
mod in_place;
mod leapfrog;
mod left_behind;
mod loops;
mod monitor;
mod options;
mod outside;
mod overflow;
mod panics;
mod promises;
mod sandbox;
mod shared;
mod spares;
mod stale_tokens;
mod states;
mod thread_indices;
mod tickets;
mod traces;
mod victims;
