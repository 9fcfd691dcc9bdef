// Pseudorandom numbers that are the same in every run and in every language.
#pragma once

#include <cstdint>

// Marsaglia's xorshift generator with 64 bits of state.
class Xorshift {
public:
    // The lowest bit is set because xorshift never leaves the state 0.
    explicit Xorshift(std::uint64_t seed)
        : state((seed * 0xd134'2543'de82'ef95 ^ 0x9e37'79b9'7f4a'7c15) | 1) {}

    // Returns the next 32 random bits: the upper half of the state.
    std::uint32_t bits() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return static_cast<std::uint32_t>(state >> 32);
    }

private:
    std::uint64_t state;
};

// Hashes a number with a single multiplication. It is cheap enough for a loop body of about a
// nanosecond, and too weak for anything else.
inline std::uint64_t cheap_hash(std::uint64_t number) {
    const std::uint64_t mixed = (number ^ number >> 15) * 0x9e37'79b9'7f4a'7c15;
    return mixed ^ mixed >> 32;
}
