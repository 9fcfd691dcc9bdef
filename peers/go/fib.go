package main

import (
	"strconv"
	"sync"
)

// fib is the kernel fib: Fibonacci numbers by the naive recursion. A goroutine does one addition.
type fib struct {
	n      int
	result uint64
}

func newFib(in *input) kernel { return &fib{n: in.number("indices", 0, 60)} }

func (fib *fib) prepare() {}

func (fib *fib) runSequentially() { fib.result = fibSequentially(fib.n) }

func (fib *fib) runInParallel() { fib.result = fibInParallel(fib.n) }

func fibSequentially(n int) uint64 {
	if n < 2 {
		return uint64(n)
	}
	return fibSequentially(n-1) + fibSequentially(n-2)
}

func fibInParallel(n int) uint64 {
	if n < 2 {
		return uint64(n)
	}
	var group sync.WaitGroup
	var b uint64
	spawn(&group, func() { b = fibInParallel(n - 2) })
	a := fibInParallel(n - 1)
	group.Wait()
	return a + b
}

func (fib *fib) answer() string { return strconv.FormatUint(fib.result, 10) }

func (fib *fib) isRight() bool {
	a, b := uint64(0), uint64(1)
	for i := 0; i < fib.n; i++ {
		a, b = b, a+b
	}
	return fib.result == a
}
