package main

import (
	"slices"
	"sort"
	"sync"
)

// sequentialLength is the minimum number of elements that are sorted or merged in parallel, as in
// BOTS.
const sequentialLength = 2048

// multisort is the kernel multisort: parallel merge sort of integers, with a parallel merge.
type multisort struct {
	unsorted, numbers, scratch []uint32
	repetitions                int
}

func newMultisort(in *input) kernel {
	m := &multisort{
		unsorted:    make([]uint32, in.number("integers", 1, 200_000_000)),
		repetitions: in.numberOr("repetitions", 1, 1_000_000, 1),
	}
	m.numbers = make([]uint32, len(m.unsorted))
	m.scratch = make([]uint32, len(m.unsorted))
	random := newXorshift(0)
	for i := range m.unsorted {
		m.unsorted[i] = random.bits()
	}
	return m
}

func (m *multisort) prepare() {
	copy(m.numbers, m.unsorted)
	copy(m.scratch, m.unsorted)
}

func (m *multisort) runSequentially() { m.run(sortSequentially) }

func (m *multisort) runInParallel() { m.run(sortInParallel) }

func (m *multisort) run(sortNumbers func(numbers, scratch []uint32)) {
	sortNumbers(m.numbers, m.scratch)
	for i := 1; i < m.repetitions; i++ {
		copy(m.numbers, m.unsorted)
		sortNumbers(m.numbers, m.scratch)
	}
}

// sortSequentially sorts numbers; the contents of scratch are lost.
//
// Two levels of halving make four quarters. The quarters are sorted in place, then merged in pairs
// into scratch, and the two pairs are merged back into numbers.
func sortSequentially(numbers, scratch []uint32) {
	if len(numbers) < sequentialLength {
		slices.Sort(numbers)
		return
	}
	half := len(numbers) / 2
	sortIntoSequentially(numbers[:half], scratch[:half])
	sortIntoSequentially(numbers[half:], scratch[half:])
	mergeSequentially(scratch[:half], scratch[half:], numbers)
}

// sortIntoSequentially sorts the two halves of numbers and merges them into sorted.
func sortIntoSequentially(numbers, sorted []uint32) {
	half := len(numbers) / 2
	sortSequentially(numbers[:half], sorted[:half])
	sortSequentially(numbers[half:], sorted[half:])
	mergeSequentially(numbers[:half], numbers[half:], sorted)
}

// mergeSequentially merges two sorted slices into merged.
func mergeSequentially(a, b, merged []uint32) {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		low, high := a[i], b[j]
		// There is no branch, because the processor would mispredict it every other time: fromB is
		// 1 if b has the smaller number, and 0 otherwise.
		fromB := int((uint64(high) - uint64(low)) >> 63)
		merged[i+j] = min(low, high)
		i += 1 - fromB
		j += fromB
	}
	rest := merged[i+j:]
	copy(rest, a[i:])
	copy(rest[len(a)-i:], b[j:])
}

func sortInParallel(numbers, scratch []uint32) {
	if len(numbers) < sequentialLength {
		slices.Sort(numbers)
		return
	}
	half := len(numbers) / 2
	var group sync.WaitGroup
	spawn(&group, func() { sortIntoInParallel(numbers[half:], scratch[half:]) })
	sortIntoInParallel(numbers[:half], scratch[:half])
	group.Wait()
	mergeInParallel(scratch[:half], scratch[half:], numbers)
}

func sortIntoInParallel(numbers, sorted []uint32) {
	half := len(numbers) / 2
	var group sync.WaitGroup
	spawn(&group, func() { sortInParallel(numbers[half:], sorted[half:]) })
	sortInParallel(numbers[:half], sorted[:half])
	group.Wait()
	mergeInParallel(numbers[:half], numbers[half:], sorted)
}

// mergeInParallel splits the longer slice at its middle element, and the other slice at the place
// of that element. The two lower parts can then be merged independently of the two upper parts.
func mergeInParallel(a, b, merged []uint32) {
	if len(merged) < sequentialLength {
		mergeSequentially(a, b, merged)
		return
	}
	long, short := a, b
	if len(a) < len(b) {
		long, short = b, a
	}
	middle := len(long) / 2
	place := sort.Search(len(short), func(i int) bool { return short[i] >= long[middle] })
	var group sync.WaitGroup
	spawn(&group, func() { mergeInParallel(long[middle:], short[place:], merged[middle+place:]) })
	mergeInParallel(long[:middle], short[:place], merged[:middle+place])
	group.Wait()
}

func (m *multisort) answer() string { return "sorted" }

func (m *multisort) isRight() bool {
	return slices.IsSorted(m.numbers) && fingerprintOf(m.numbers) == fingerprintOf(m.unsorted)
}

// A fingerprint has the sums of an array's numbers and of their squares, modulo 2⁶⁴. Two arrays of
// the same length with equal fingerprints are almost certainly permutations of each other.
type fingerprint struct{ sum, squares uint64 }

func fingerprintOf(numbers []uint32) fingerprint {
	var f fingerprint
	for _, number := range numbers {
		f.sum += uint64(number)
		f.squares += uint64(number) * uint64(number)
	}
	return f
}
