//! Loom models of the batch word between an owner and its thieves.

use std::collections::BTreeSet;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

use super::batch::{CLAIM, Offer, Word, claimed};

impl Word for Arc<AtomicU64> {
    fn load(&self) -> u64 {
        AtomicU64::load(self, Ordering::Relaxed)
    }

    fn fetch_add(&self, value: u64) -> u64 {
        AtomicU64::fetch_add(self, value, Ordering::AcqRel)
    }
}

/// Starts a thief that claims `times` times, and returns the slots that it gets.
fn thief(word: &Arc<AtomicU64>, times: usize) -> thread::JoinHandle<Vec<usize>> {
    let word = word.clone();
    thread::spawn(move || {
        let claims = (0..times).filter_map(|_| claimed(word.fetch_add(CLAIM)));
        claims
            .flat_map(|(first, count)| first..first + count)
            .collect()
    })
}

/// Returns the union of the slots that all threads got. Panics if two threads got the same
/// slot.
fn disjoint_union(parts: impl IntoIterator<Item = Vec<usize>>) -> BTreeSet<usize> {
    let mut all = BTreeSet::new();
    for slot in parts.into_iter().flatten() {
        assert!(all.insert(slot), "slot {slot} has two owners");
    }
    all
}

#[test]
fn every_slot_of_a_batch_goes_to_one_thread() {
    loom::model(|| {
        let word = Arc::new(AtomicU64::new(0));
        let mut offer = Offer::new(word.clone());
        let thieves = [thief(&word, 2), thief(&word, 1)];
        let skipped = offer.publish(5, 4);
        let (first, left) = offer.withdraw();
        let mine = (5..5 + skipped).chain(first..first + left).collect();
        let parts = thieves.map(|thief| thief.join().unwrap());
        let all = disjoint_union(parts.into_iter().chain([mine]));
        assert_eq!(all, (5..9).collect());
    });
}

#[test]
fn withdrawn_slots_can_be_offered_again() {
    loom::model(|| {
        let word = Arc::new(AtomicU64::new(0));
        let mut offer = Offer::new(word.clone());
        let thieves = [thief(&word, 1), thief(&word, 1)];
        let skipped = offer.publish(0, 3);
        let mut mine: Vec<_> = (0..skipped).collect();
        let (first, left) = offer.withdraw();
        // The owner takes the newest slot, and offers the others again.
        let again = left.saturating_sub(1);
        if left > 0 {
            mine.push(first + again);
            let skipped = offer.publish(first, again);
            mine.extend(first..first + skipped);
        }
        let (first, left) = offer.withdraw();
        mine.extend(first..first + left);
        let parts = thieves.map(|thief| thief.join().unwrap());
        let all = disjoint_union(parts.into_iter().chain([mine]));
        assert_eq!(all, (0..3).collect());
    });
}

#[test]
fn a_new_batch_may_follow_one_that_thieves_have_emptied() {
    // Without the bound, this model takes minutes.
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let word = Arc::new(AtomicU64::new(0));
        let mut offer = Offer::new(word.clone());
        let thieves = [thief(&word, 2), thief(&word, 1)];
        let mut mine: Vec<_> = (0..offer.publish(0, 1)).collect();
        let mut offered = 1;
        if offer.unclaimed() == 0 {
            mine.extend((1..3).take(offer.publish(1, 2)));
            offered = 3;
        }
        let (first, left) = offer.withdraw();
        mine.extend(first..first + left);
        let parts = thieves.map(|thief| thief.join().unwrap());
        let all = disjoint_union(parts.into_iter().chain([mine]));
        assert_eq!(all, (0..offered).collect());
    });
}
