//! A bounded FIFO channel with many senders and one receiver.
//!
//! It is a ring of cells. A sender draws a number, which is its place in the order, and writes its
//! message to the cell of that number. A cell's **turn** says what it holds:
//!
//! | turn | the cell |
//! |---|---|
//! | *n* | is free for message *n* |
//! | *n* + 1 | holds message *n* |
//!
//! The sender of message *n* sets the turn from *n* to *n* + 1, and the receiver sets it to *n* plus
//! the capacity. A receiver that finds message *n* missing stops there, although later messages may
//! have been written: their order is that of the numbers.
//!
//! The channel is never full, because its users bound the number of messages that are under way.

use crossbeam_utils::CachePadded;

use purloin::scheduler::sync::{AtomicUsize, Ordering, UnsafeCell, spin_loop};

pub(super) struct Fifo<T> {
    cells: Box<[Place<T>]>,
    /// The number of the next message to send.
    tail: CachePadded<AtomicUsize>,
    /// The number of the next message to receive. Only the receiver writes it.
    head: CachePadded<AtomicUsize>,
}

/// The place of one message.
struct Place<T> {
    turn: AtomicUsize,
    message: UnsafeCell<Option<T>>,
}

// SAFETY: the turn of a cell gives it to one thread at a time: see the page above.
unsafe impl<T: Send> Sync for Fifo<T> {}

impl<T: Copy> Fifo<T> {
    /// Returns an empty channel for up to `messages` messages.
    pub(super) fn new(messages: usize) -> Self {
        let place = |turn| Place {
            turn: AtomicUsize::new(turn),
            message: UnsafeCell::new(None),
        };
        Fifo {
            cells: (0..messages.next_power_of_two()).map(place).collect(),
            tail: CachePadded::new(AtomicUsize::new(0)),
            head: CachePadded::new(AtomicUsize::new(0)),
        }
    }

    fn place(&self, number: usize) -> &Place<T> {
        &self.cells[number & (self.cells.len() - 1)]
    }

    /// Sends a message. The caller knows that fewer messages are under way than the channel holds.
    pub(super) fn send(&self, message: T) {
        // Relaxed: of two messages of which one caused the other, the cause has the smaller number, by
        // the order of the changes to this one word.
        let number = self.tail.fetch_add(1, Ordering::Relaxed);
        let place = self.place(number);
        // Acquire: the receiver has read the message before this one in the cell. It has, because the
        // channel is not full, so the loop only waits for its store to become visible.
        while place.turn.load(Ordering::Acquire) != number {
            spin_loop();
        }
        // SAFETY: the cell is free for message `number`, and this thread alone has drawn that number.
        place
            .message
            .with_mut(|cell| unsafe { *cell = Some(message) });
        // Release: publishes the message.
        place.turn.store(number.wrapping_add(1), Ordering::Release);
    }

    /// Receiver: returns whether the oldest message is there.
    pub(super) fn has_message(&self) -> bool {
        // Relaxed: only the receiver writes it.
        let number = self.head.load(Ordering::Relaxed);
        // Acquire: the message.
        self.place(number).turn.load(Ordering::Acquire) == number.wrapping_add(1)
    }

    /// Receiver: takes the oldest message.
    pub(super) fn receive(&self) -> Option<T> {
        if !self.has_message() {
            return None;
        }
        let number = self.head.load(Ordering::Relaxed);
        let place = self.place(number);
        // SAFETY: the cell holds message `number`, and only the receiver reads it.
        let message = place.message.with_mut(|cell| unsafe { (*cell).take() });
        self.head.store(number.wrapping_add(1), Ordering::Relaxed);
        // Release: the read is over before a sender writes the cell again.
        let next = number.wrapping_add(self.cells.len());
        place.turn.store(next, Ordering::Release);
        message
    }

    /// Receiver: returns whether no message is under way, not even one that is being written.
    ///
    /// A message counts if it was sent before something that the receiver has acquired.
    pub(super) fn is_empty(&self) -> bool {
        // Relaxed: the load sees every change that comes before something the receiver has acquired.
        self.tail.load(Ordering::Relaxed) == self.head.load(Ordering::Relaxed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn messages_come_in_the_order_in_which_they_were_sent() {
        let channel = Fifo::new(3);
        for round in 0..10 {
            assert!(channel.is_empty());
            assert_eq!(channel.receive(), None);
            for i in 0..4 {
                channel.send((round, i));
            }
            assert!(!channel.is_empty());
            for i in 0..4 {
                assert_eq!(channel.receive(), Some((round, i)));
            }
        }
    }

    #[test]
    fn each_senders_messages_keep_their_order() {
        const MESSAGES: usize = if cfg!(miri) { 20 } else { 10_000 };
        let channel = Fifo::new(8);
        let received = [const { std::sync::atomic::AtomicUsize::new(0) }; 2];
        std::thread::scope(|scope| {
            for sender in 0..2 {
                let (channel, received) = (&channel, &received);
                scope.spawn(move || {
                    for i in 0..MESSAGES {
                        // At most four messages of each sender are under way.
                        while i >= 4 + received[sender].load(std::sync::atomic::Ordering::Acquire) {
                            std::thread::yield_now();
                        }
                        channel.send((sender, i));
                    }
                });
            }
            let mut next = [0; 2];
            while next != [MESSAGES; 2] {
                match channel.receive() {
                    Some((sender, i)) => {
                        assert_eq!(i, next[sender]);
                        next[sender] += 1;
                        received[sender].store(i + 1, std::sync::atomic::Ordering::Release);
                    }
                    None => std::thread::yield_now(),
                }
            }
        });
    }
}
