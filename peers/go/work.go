package main

import (
	"math"
	"time"
)

// steps does a number of steps of dependent arithmetic, which the compiler cannot shorten. It
// returns a number that depends on all steps and is never 0.
//
//go:noinline
func steps(count, seed uint64) uint32 {
	state := seed
	for i := uint64(0); i < count; i++ {
		// This is a step of Knuth's linear congruential generator.
		state = state*6_364_136_223_846_793_005 + 1_442_695_040_888_963_407
	}
	return uint32(state>>32) | 1
}

// stepsPerMicrosecond measures how many steps an undisturbed core of this machine does in a
// microsecond.
func stepsPerMicrosecond() uint64 {
	const count = 200_000
	shortest := int64(math.MaxInt64)
	for seed := uint64(0); seed < 20; seed++ {
		start := time.Now()
		steps(count, seed)
		shortest = min(shortest, time.Since(start).Nanoseconds())
	}
	return count * 1000 / uint64(shortest)
}

// microseconds reads a number of microseconds, and returns the number of steps that take as long.
func microseconds(in *input, what string) uint64 {
	return uint64(in.number(what, 0, 1_000_000)) * stepsPerMicrosecond()
}

// done returns the number of pieces that have done their work. The result of such a piece is not 0.
func done(results []uint32) int {
	done := 0
	for _, result := range results {
		if result != 0 {
			done++
		}
	}
	return done
}

// areRight returns whether a sample of the pieces has the expected results.
func areRight(results []uint32, expected func(i int) uint32) bool {
	for i := 0; i < len(results); i += len(results)/16 + 1 {
		if results[i] != expected(i) {
			return false
		}
	}
	return true
}
