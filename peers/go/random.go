package main

// xorshift is Marsaglia's generator with 64 bits of state. Its numbers are the same in every run
// and in every language.
type xorshift uint64

func newXorshift(seed uint64) xorshift {
	// The lowest bit is set because xorshift never leaves the state 0.
	return xorshift(seed*0xd134_2543_de82_ef95 ^ 0x9e37_79b9_7f4a_7c15 | 1)
}

// bits returns the next 32 random bits: the upper half of the state.
func (state *xorshift) bits() uint32 {
	*state ^= *state << 13
	*state ^= *state >> 7
	*state ^= *state << 17
	return uint32(*state >> 32)
}

// cheapHash hashes a number with a single multiplication. It is cheap enough for a loop body of
// about a nanosecond, and too weak for anything else.
func cheapHash(number uint64) uint64 {
	mixed := (number ^ number>>15) * 0x9e37_79b9_7f4a_7c15
	return mixed ^ mixed>>32
}
