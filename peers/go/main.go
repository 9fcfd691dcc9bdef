// Goroutines as a peer of Purloin's schedulers: runs a kernel sequentially and in parallel, and
// reports both times. ../README.md describes the protocol.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"time"
)

// maxWorkers is the maximum number of workers that `purloin bench` asks for.
const maxWorkers = 4096

// A kernel has two forms that compute the same result from the same data.
type kernel interface {
	// prepare makes fresh data. It is not timed.
	prepare()
	// runSequentially runs plain Go without goroutines: the baseline.
	runSequentially()
	runInParallel()
	// answer returns the result of the last run.
	answer() string
	// isRight returns whether the result of the last run is right.
	isRight() bool
}

var kernels = map[string]func(*input) kernel{
	"fib":       newFib,
	"nqueens":   newNqueens,
	"uts":       newUts,
	"multisort": newMultisort,
	"loops":     newLoops,
	"forks":     newForks,
	"fanout":    newFanout,
	"flood":     newFlood,
}

func main() {
	if len(os.Args) != 4 {
		fail(2, "usage: peer KERNEL INPUT WORKERS")
	}
	last := newInput("arguments", os.Args[3])
	workers := last.number("workers", 1, maxWorkers)
	check(last.end())
	create := kernels[os.Args[1]]
	if create == nil {
		fail(2, fmt.Sprintf("no kernel '%s'; the kernels are fib, nqueens, uts, multisort, loops, "+
			"forks, fanout and flood", os.Args[1]))
	}
	runtime.GOMAXPROCS(workers)
	in := newInput(os.Args[1], os.Args[2])
	k := create(in)
	check(in.end())
	serve(k)
}

// serve runs the kernel in both forms for each request, until the input ends.
func serve(k kernel) {
	fmt.Println("ready")
	// This alternates, so that no form has an advantage.
	isParallelFirst := false
	requests := bufio.NewScanner(os.Stdin)
	for requests.Scan() {
		if requests.Text() != "run" {
			fail(2, fmt.Sprintf("the only request is 'run', not '%s'", requests.Text()))
		}
		var sequential, parallel time.Duration
		var answer string
		verdict := "right"
		for _, isParallel := range []bool{isParallelFirst, !isParallelFirst} {
			if isParallel {
				parallel = measure(k, k.runInParallel)
				answer = k.answer()
			} else {
				sequential = measure(k, k.runSequentially)
			}
			if !k.isRight() {
				verdict = "wrong"
			}
		}
		isParallelFirst = !isParallelFirst
		fmt.Println(sequential.Nanoseconds(), parallel.Nanoseconds(), verdict, answer)
	}
}

// measure returns the duration of one run on fresh data.
func measure(k kernel, run func()) time.Duration {
	k.prepare()
	// A run must not pay for the garbage of the run before.
	runtime.GC()
	warmUp()
	start := time.Now()
	run()
	return time.Since(start)
}

// warmUp wakes the threads and their cores, which slept while the data was prepared.
func warmUp() {
	for start := time.Now(); time.Since(start) < 5*time.Millisecond; {
		fibInParallel(12)
	}
}

// check ends the program if there is an error, which is a mistake of the user.
func check(err error) {
	if err != nil {
		fail(2, err.Error())
	}
}

// fail ends the program with one line on standard error.
func fail(status int, message string) {
	fmt.Fprintln(os.Stderr, "peer:", message)
	os.Exit(status)
}
