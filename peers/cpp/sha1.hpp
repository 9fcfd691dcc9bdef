// SHA-1 of a message that fits one block with its padding.
//
// The Rust kernel computes SHA-1 with the processor's instructions where there are any, so this
// file does, too. Otherwise the nodes of `uts` would take longer here and hide the cost of tasks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace sha1 {

using Hash = std::array<std::uint32_t, 5>;
using Block = std::array<std::uint32_t, 16>;

constexpr Hash INITIAL = {0x6745'2301, 0xefcd'ab89, 0x98ba'dcfe, 0x1032'5476, 0xc3d2'e1f0};

inline std::uint32_t rotate(std::uint32_t word, int bits) {
    return word << bits | word >> (32 - bits);
}

// Returns the hash of one block, in portable C++.
inline Hash compress_portably(Block w) {
    auto [a, b, c, d, e] = INITIAL;
    for (std::size_t t = 0; t < 80; t++) {
        if (t >= 16) {
            const std::uint32_t mixed =
                w[(t - 3) % 16] ^ w[(t - 8) % 16] ^ w[(t - 14) % 16] ^ w[t % 16];
            w[t % 16] = rotate(mixed, 1);
        }
        const std::uint32_t f = t < 20 ? (b & c) + (~b & d) + 0x5a82'7999
                              : t < 40 ? (b ^ c ^ d) + 0x6ed9'eba1
                              : t < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1b'bcdc
                                       : (b ^ c ^ d) + 0xca62'c1d6;
        const std::uint32_t next = rotate(a, 5) + f + e + w[t % 16];
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    return {INITIAL[0] + a, INITIAL[1] + b, INITIAL[2] + c, INITIAL[3] + d, INITIAL[4] + e};
}

#if defined(__x86_64__)

// Does the rounds 4 * GROUP to 79. `abcd` is the state; `e` is the state of four rounds before,
// which contains the fifth word. Each vector has its first word in the upper lane.
template <int GROUP>
[[gnu::target("sha,sse4.1"), gnu::always_inline]] inline void rounds(__m128i& abcd, __m128i& e,
                                                                     __m128i (&w)[4]) {
    if constexpr (GROUP < 20) {
        __m128i& words = w[GROUP % 4];
        const __m128i before = abcd;
        e = GROUP == 0 ? _mm_add_epi32(e, words) : _mm_sha1nexte_epu32(e, words);
        abcd = _mm_sha1rnds4_epu32(abcd, e, GROUP / 5);
        e = before;
        if constexpr (GROUP < 16) {
            const __m128i mixed = _mm_sha1msg1_epu32(words, w[(GROUP + 1) % 4]);
            words = _mm_sha1msg2_epu32(_mm_xor_si128(mixed, w[(GROUP + 2) % 4]),
                                       w[(GROUP + 3) % 4]);
        }
        rounds<GROUP + 1>(abcd, e, w);
    }
}

[[gnu::target("sha,sse4.1")]] inline __m128i vector(const std::uint32_t* words) {
    return _mm_shuffle_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(words)), 0x1b);
}

// Returns the hash of one block, with the processor's instructions for SHA-1.
[[gnu::target("sha,sse4.1")]] inline Hash compress_by_instructions(const Block& block) {
    __m128i w[4] = {vector(&block[0]), vector(&block[4]), vector(&block[8]), vector(&block[12])};
    const __m128i initial = vector(INITIAL.data());
    const __m128i last = _mm_set_epi32(static_cast<int>(INITIAL[4]), 0, 0, 0);
    __m128i abcd = initial, e = last;
    rounds<0>(abcd, e, w);
    abcd = _mm_add_epi32(abcd, initial);
    e = _mm_sha1nexte_epu32(e, last);
    Hash hash;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(hash.data()), _mm_shuffle_epi32(abcd, 0x1b));
    hash[4] = static_cast<std::uint32_t>(_mm_extract_epi32(e, 3));
    return hash;
}

inline bool has_instructions() {
    unsigned a, b, c, d;
    const bool has_sse41 = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_1);
    return has_sse41 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

inline const bool HAS_INSTRUCTIONS = has_instructions();

inline Hash compress(const Block& block) {
    return HAS_INSTRUCTIONS ? compress_by_instructions(block) : compress_portably(block);
}

#else

inline Hash compress(const Block& block) { return compress_portably(block); }

#endif

// Returns the hash of a message of words. In the message, each word is written with its most
// significant byte first.
template <std::size_t WORDS> Hash hash(const std::array<std::uint32_t, WORDS>& message) {
    static_assert(WORDS <= 13, "the message and its padding fit one block");
    Block block{};
    for (std::size_t i = 0; i < WORDS; i++) {
        block[i] = message[i];
    }
    block[WORDS] = 0x8000'0000;
    block[15] = 32 * WORDS;
    return compress(block);
}

} // namespace sha1
