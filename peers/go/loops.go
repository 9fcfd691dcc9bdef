package main

import (
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
)

const (
	// tinyCount is the number of iterations of the shape tiny.
	tinyCount = 100_000_000
	// vectorLength is the number of elements of a vector.
	vectorLength = 1 << 16
	// additions says how often the vectors are added.
	additions = 4000
	// varyingCount is the number of iterations of a loop of varying granularity.
	varyingCount = 100_000
)

// loops is the kernel loops: parallel loops of several shapes. crates/purloin-kernels/src/loops.rs
// describes each shape.
type loops struct {
	shape string
	// grain is the length of a loop that is not split, or 0.
	grain int
	// longest is the largest number of steps of an iteration.
	longest uint64
	// part returns an iteration's part of that number, out of varyingCount. It is nil if all
	// iterations have the same number of steps.
	part    func(i uint64) uint64
	results []uint32
	// from and to are the vectors of the shape vector.
	from, to []float32
	// result is the sum of the shape tiny, or the number of right results.
	result uint64
}

func newLoops(in *input) kernel {
	l := &loops{shape: in.name(), grain: in.numberOr("grain sizes", 0, tinyCount, 0)}
	microsecond := stepsPerMicrosecond()
	varying := func(part func(i uint64) uint64) {
		l.part, l.longest, l.results = part, 4*microsecond, make([]uint32, varyingCount)
	}
	switch l.shape {
	case "fine":
		l.longest, l.results = microsecond/50, make([]uint32, 10_000_000)
	case "coarse":
		l.longest, l.results = 100*microsecond, make([]uint32, 2000)
	case "random":
		varying(func(i uint64) uint64 { return cheapHash(i) % varyingCount })
	case "increasing":
		varying(func(i uint64) uint64 { return i })
	case "decreasing":
		varying(func(i uint64) uint64 { return varyingCount - i })
	case "tiny":
	case "vector":
		l.from, l.to = make([]float32, vectorLength), make([]float32, vectorLength)
		for i := range l.from {
			l.from[i] = 1
		}
	default:
		in.fail("no shape '%s'", l.shape)
	}
	return l
}

func (l *loops) prepare() {
	clear(l.results)
	clear(l.to)
}

func (l *loops) runSequentially() {
	l.run(func(count int, body func(first, end int)) { body(0, count) })
}

func (l *loops) runInParallel() {
	if l.results != nil && l.grain > 0 {
		l.byJoins(0, len(l.results))
		l.result = uint64(done(l.results))
		return
	}
	l.run(forEachInParallel)
}

// run runs the kernel. forEach calls its second argument with ranges that together are the numbers
// below its first argument.
func (l *loops) run(forEach func(count int, body func(first, end int))) {
	switch l.shape {
	case "tiny":
		var sum atomic.Uint64
		forEach(tinyCount, func(first, end int) { sum.Add(sumOfTiny(first, end)) })
		l.result = sum.Load()
	case "vector":
		for i := 0; i < additions; i++ {
			forEach(vectorLength, l.addVectors)
		}
		l.result = l.rightSums()
	default:
		forEach(len(l.results), l.iterate)
		l.result = uint64(done(l.results))
	}
}

// forEachInParallel starts a goroutine for each worker, which takes blocks of the loop until none
// is left.
func forEachInParallel(count int, body func(first, end int)) {
	workers := runtime.GOMAXPROCS(0)
	// There are 64 blocks for each worker, so that a loop of varying granularity is balanced.
	block := max(1, count/(64*workers))
	var next atomic.Int64
	var group sync.WaitGroup
	for worker := 0; worker < workers; worker++ {
		spawn(&group, func() {
			for {
				end := int(next.Add(int64(block)))
				if end-block >= count {
					return
				}
				body(end-block, min(end, count))
			}
		})
	}
	group.Wait()
}

// byJoins runs the loop by joins down to the grain size.
func (l *loops) byJoins(first, end int) {
	if end-first <= l.grain {
		l.iterate(first, end)
		return
	}
	middle := first + (end-first)/2
	var group sync.WaitGroup
	spawn(&group, func() { l.byJoins(middle, end) })
	l.byJoins(first, middle)
	group.Wait()
}

// iterate runs the iterations from first to before end.
func (l *loops) iterate(first, end int) {
	for i := first; i < end; i++ {
		l.results[i] = l.work(i)
	}
}

func (l *loops) work(i int) uint32 {
	count := l.longest
	if l.part != nil {
		count = l.part(uint64(i)) * l.longest / varyingCount
	}
	return steps(count, uint64(i))
}

func sumOfTiny(first, end int) uint64 {
	var sum uint64
	for i := first; i < end; i++ {
		sum += cheapHash(cheapHash(uint64(i))) & 0xff
	}
	return sum
}

func (l *loops) addVectors(first, end int) {
	from, to := l.from[first:end], l.to[first:end]
	for i := range to {
		to[i] += 0.5 * from[i]
	}
}

func (l *loops) rightSums() uint64 {
	var right uint64
	for _, sum := range l.to {
		if sum == additions/2 {
			right++
		}
	}
	return right
}

func (l *loops) answer() string { return strconv.FormatUint(l.result, 10) }

func (l *loops) isRight() bool {
	switch l.shape {
	case "tiny":
		return l.result == sumOfTiny(0, tinyCount)
	case "vector":
		return l.result == vectorLength
	default:
		return l.result == uint64(len(l.results)) && areRight(l.results, l.work)
	}
}
