//! The splittable random stream of UTS: [`Stream`].

use bytemuck::{Pod, Zeroable};
use sha1::block_api::compress;

/// The state of SHA-1 before the first block of a message.
const INITIAL: [u32; 5] = [
    0x6745_2301,
    0xefcd_ab89,
    0x98ba_dcfe,
    0x1032_5476,
    0xc3d2_e1f0,
];

/// A random stream that can be split into any number of independent streams. A stream is the SHA-1
/// hash of its parent's hash and its own number.
///
/// It is stored as the words that SHA-1 computes with. In a message, each word is written with its
/// most significant byte first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Stream([u32; 5]);

impl Stream {
    /// Returns the stream of a tree's root.
    pub fn root(seed: u32) -> Self {
        Stream(hash([0, 0, 0, 0, seed]))
    }

    /// Returns the stream of the child with this number among its siblings.
    #[inline(never)]
    pub fn child(&self, number: u32) -> Self {
        let [a, b, c, d, e] = self.0;
        Stream(hash([a, b, c, d, e, number]))
    }

    /// Returns the stream's random value, which is below 2³¹.
    pub fn value(&self) -> u32 {
        self.0[4] & 0x7fff_ffff
    }

    /// Returns the stream's random value as a number in [0, 1).
    pub fn probability(&self) -> f64 {
        f64::from(self.value()) / f64::from(1_u32 << 31)
    }
}

/// Returns the SHA-1 hash of a message that fits one block with its padding.
///
/// The function builds the block itself, without a hasher and its buffer, because the length is
/// known at compile time.
fn hash<const WORDS: usize>(message: [u32; WORDS]) -> [u32; 5] {
    let mut words = [0; 16];
    words[..WORDS].copy_from_slice(&message);
    words[WORDS] = 1 << 31;
    words[15] = u32::BITS * WORDS as u32;
    let mut block = [0; 64];
    for (bytes, word) in block.chunks_exact_mut(4).zip(words) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    let mut state = INITIAL;
    compress(&mut state, &[block]);
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    // `sha1sum` computed the expected values from the bytes of the messages.

    #[test]
    fn the_root_is_the_hash_of_zeros_and_the_seed() {
        let hash = [
            0xc698_8ab7,
            0x0cc9_559a,
            0xe4d6_cba2,
            0x54e2_9a84,
            0x5a85_f86b,
        ];
        assert_eq!(Stream::root(19), Stream(hash));
    }

    #[test]
    fn a_child_is_the_hash_of_its_parent_and_its_number() {
        let hash = [
            0x4e62_c778,
            0x9552_ef31,
            0xfa42_8ed5,
            0xd902_3d3f,
            0x3ec3_68ef,
        ];
        assert_eq!(Stream::root(19).child(3), Stream(hash));
    }
}
