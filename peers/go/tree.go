package main

import (
	"crypto/sha1"
	"encoding/binary"
	"math"
)

// A stream is the splittable random stream of a node: the SHA-1 hash of its parent's hash and its
// own number.
type stream [sha1.Size]byte

func rootStream(seed uint32) stream {
	var message [20]byte
	binary.BigEndian.PutUint32(message[16:], seed)
	return sha1.Sum(message[:])
}

func (s *stream) child(number uint32) stream {
	var message [24]byte
	copy(message[:], s[:])
	binary.BigEndian.PutUint32(message[20:], number)
	return sha1.Sum(message[:])
}

// probability returns the stream's random value as a number in [0, 1).
func (s *stream) probability() float64 {
	return float64(binary.BigEndian.Uint32(s[16:])&0x7fff_ffff) / (1 << 31)
}

// A tree is unbalanced.
type tree struct {
	// seed is the seed of the root's stream.
	seed uint32
	// rootBranching is the expected number of children of the root.
	rootBranching float64
	// children returns the number of children of a node at this depth.
	children func(t *tree, s *stream, depth int) int
	// size is the size of the tree, as published with UTS.
	size size
}

var trees = map[string]*tree{
	"T1":  {19, 4, fixed, size{4_130_071, 3_305_118, 10}},
	"T2":  {502, 6, cyclic, size{4_117_769, 2_342_762, 81}},
	"T3":  {42, 2000, binomial(8, 0.124875), size{4_112_897, 3_599_034, 1572}},
	"T3L": {7, 2000, binomial(5, 0.200014), size{111_345_631, 89_076_904, 17_844}},
}

// fixed is a geometric distribution with the same mean down to depth 10.
func fixed(t *tree, s *stream, depth int) int {
	if depth < 10 {
		return geometric(s, t.rootBranching)
	}
	return 0
}

// cyclic is a geometric distribution whose mean rises and falls with the depth, in periods of 16
// levels. Nodes deeper than five periods are leaves.
func cyclic(t *tree, s *stream, depth int) int {
	if depth == 0 {
		return geometric(s, t.rootBranching)
	}
	if depth <= 5*16 {
		return geometric(s, math.Pow(t.rootBranching, math.Sin(2*math.Pi*float64(depth)/16)))
	}
	return 0
}

// geometric returns a geometrically distributed number of children with this mean.
func geometric(s *stream, mean float64) int {
	stop := 1 / (1 + mean)
	children := math.Log(1-s.probability()) / math.Log(1-stop)
	return int(math.Min(children, 100))
}

// binomial is a fixed number of children or none.
func binomial(children int, probability float64) func(*tree, *stream, int) int {
	return func(t *tree, s *stream, depth int) int {
		if depth == 0 {
			return int(t.rootBranching)
		}
		if s.probability() < probability {
			return children
		}
		return 0
	}
}
