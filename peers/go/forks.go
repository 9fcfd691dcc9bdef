package main

import (
	"strconv"
	"sync"
)

// forks is the kernel forks: it makes one join after the other, each of two functions that take
// some microseconds. So it shows how soon the second function of a join begins.
type forks struct {
	// count is the number of steps of each function.
	count uint64
	// results has the results of both functions of each join.
	results []uint32
	result  int
}

func newForks(in *input) kernel {
	return &forks{
		count:   microseconds(in, "microseconds per closure"),
		results: make([]uint32, 2*in.numberOr("joins", 1, 10_000_000, 2000)),
	}
}

func (f *forks) prepare() { clear(f.results) }

func (f *forks) runSequentially() {
	for i := range f.results {
		f.results[i] = f.work(i)
	}
	f.result = done(f.results)
}

func (f *forks) runInParallel() {
	for i := 0; i < len(f.results); i += 2 {
		second := i + 1
		var group sync.WaitGroup
		spawn(&group, func() { f.results[second] = f.work(second) })
		f.results[i] = f.work(i)
		group.Wait()
	}
	f.result = done(f.results)
}

func (f *forks) work(i int) uint32 { return steps(f.count, uint64(i)) }

func (f *forks) answer() string { return strconv.Itoa(f.result) }

func (f *forks) isRight() bool {
	return f.result == len(f.results) && areRight(f.results, f.work)
}

// fanout is the kernel fanout: it splits a short list down to its elements, of which only a few are
// worth a goroutine; again and again.
type fanout struct {
	// count is the number of steps of a heavy element.
	count   uint64
	results []uint32
	// every is the number of elements per heavy element.
	every       int
	repetitions int
	result      int
}

func newFanout(in *input) kernel {
	return &fanout{
		count:       microseconds(in, "microseconds per heavy element"),
		results:     make([]uint32, in.numberOr("elements", 1, 10_000_000, 64)),
		every:       in.numberOr("elements per heavy element", 1, 10_000_000, 32),
		repetitions: in.numberOr("repetitions", 1, 1_000_000, 1000),
	}
}

func (f *fanout) prepare() { clear(f.results) }

func (f *fanout) runSequentially() {
	for repetition := 0; repetition < f.repetitions; repetition++ {
		for i := range f.results {
			f.results[i] = f.work(i)
		}
	}
	f.result = done(f.results)
}

func (f *fanout) runInParallel() {
	for repetition := 0; repetition < f.repetitions; repetition++ {
		f.workOn(0, len(f.results))
	}
	f.result = done(f.results)
}

// workOn works on the elements from first to before end, by joins of halves.
func (f *fanout) workOn(first, end int) {
	if end-first == 1 {
		f.results[first] = f.work(first)
		return
	}
	middle := first + (end-first)/2
	var group sync.WaitGroup
	spawn(&group, func() { f.workOn(middle, end) })
	f.workOn(first, middle)
	group.Wait()
}

func (f *fanout) work(i int) uint32 {
	if i%f.every == 0 {
		return steps(f.count, uint64(i))
	}
	return steps(0, uint64(i))
}

func (f *fanout) answer() string { return strconv.Itoa(f.result) }

func (f *fanout) isRight() bool {
	return f.result == len(f.results) && areRight(f.results, f.work)
}
