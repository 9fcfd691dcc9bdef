package main

import (
	"strconv"
	"sync"
	"sync/atomic"
)

// reached is the mark of a cell that is being filled. No work has this result: results are odd.
const reached = 2

// flood is the kernel flood: flood fill of a square, with a goroutine for each cell that is reached
// and one group that waits for all of them.
type flood struct {
	side int
	// count is the number of steps of each cell.
	count uint64
	// cells has 0 for a cell that was not reached, the mark reached, or the result of its work.
	cells  []uint32
	result int
}

func newFlood(in *input) kernel {
	side := in.number("cells along each side", 1, 256)
	microseconds := in.numberOr("microseconds per cell", 0, 1_000_000, 2)
	return &flood{
		side:  side,
		count: uint64(microseconds) * stepsPerMicrosecond(),
		cells: make([]uint32, side*side),
	}
}

func (f *flood) prepare() { clear(f.cells) }

func (f *flood) middle() int { return f.side / 2 * (f.side + 1) }

func (f *flood) runSequentially() {
	f.fillSequentially(f.middle())
	f.result = done(f.cells)
}

func (f *flood) runInParallel() {
	var group sync.WaitGroup
	f.fillInParallel(&group, f.middle())
	group.Wait()
	f.result = done(f.cells)
}

func (f *flood) fillSequentially(cell int) {
	if f.cells[cell] != 0 {
		return
	}
	f.cells[cell] = reached
	f.cells[cell] = f.work(cell)
	neighbours, count := f.neighbours(cell)
	for _, neighbour := range neighbours[:count] {
		f.fillSequentially(neighbour)
	}
}

// fillInParallel reaches a cell, and makes a goroutine for each of its neighbours if it is the
// first to do so.
func (f *flood) fillInParallel(group *sync.WaitGroup, cell int) {
	state := &f.cells[cell]
	if atomic.LoadUint32(state) != 0 || !atomic.CompareAndSwapUint32(state, 0, reached) {
		return
	}
	atomic.StoreUint32(state, f.work(cell))
	neighbours, count := f.neighbours(cell)
	for _, neighbour := range neighbours[:count] {
		neighbour := neighbour
		spawn(group, func() { f.fillInParallel(group, neighbour) })
	}
}

// neighbours returns the neighbours of a cell, and their number.
func (f *flood) neighbours(cell int) (neighbours [4]int, count int) {
	add := func(neighbour int) {
		neighbours[count] = neighbour
		count++
	}
	x, y := cell%f.side, cell/f.side
	if x > 0 {
		add(cell - 1)
	}
	if x+1 < f.side {
		add(cell + 1)
	}
	if y > 0 {
		add(cell - f.side)
	}
	if y+1 < f.side {
		add(cell + f.side)
	}
	return neighbours, count
}

func (f *flood) work(cell int) uint32 { return steps(f.count, uint64(cell)) }

func (f *flood) answer() string { return strconv.Itoa(f.result) }

func (f *flood) isRight() bool {
	return f.result == len(f.cells) && areRight(f.cells, f.work)
}
