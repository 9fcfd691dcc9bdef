package main

import (
	"strconv"
	"sync"
)

const largestBoard = 16

// solutionsOf has the numbers of solutions for boards of 0 to 16 rows.
var solutionsOf = [largestBoard + 1]uint64{
	1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2_680, 14_200, 73_712, 365_596, 2_279_184, 14_772_512,
}

// A board is square and has queens on its first rows. No queen attacks another one.
type board struct {
	size uint8
	// rows is the number of rows that have a queen.
	rows uint8
	// columns has the column of each row's queen.
	columns [largestBoard]uint8
}

// safeColumns writes the columns of the next row that no queen attacks to safe, and returns their
// number.
func (b *board) safeColumns(safe *[largestBoard]uint8) int {
	count := 0
	for column := uint8(0); column < b.size; column++ {
		if b.isSafe(column) {
			safe[count] = column
			count++
		}
	}
	return count
}

func (b *board) isSafe(column uint8) bool {
	for distance := uint8(1); distance <= b.rows; distance++ {
		queen := b.columns[b.rows-distance]
		if queen == column || queen+distance == column || column+distance == queen {
			return false
		}
	}
	return true
}

// with returns this board with a queen on this column of the next row.
func (b board) with(column uint8) board {
	b.columns[b.rows] = column
	b.rows++
	return b
}

// nqueens is the kernel nqueens: it counts all ways to place n queens on a board, by depth-first
// search.
type nqueens struct {
	size   int
	result uint64
}

func newNqueens(in *input) kernel { return &nqueens{size: in.number("queens", 1, largestBoard)} }

func (n *nqueens) prepare() {}

func (n *nqueens) runSequentially() {
	n.result = solutionsSequentially(&board{size: uint8(n.size)})
}

func (n *nqueens) runInParallel() {
	n.result = solutionsInParallel(&board{size: uint8(n.size)})
}

func solutionsSequentially(b *board) uint64 {
	if b.rows == b.size {
		return 1
	}
	var safe [largestBoard]uint8
	var sum uint64
	for _, column := range safe[:b.safeColumns(&safe)] {
		next := b.with(column)
		sum += solutionsSequentially(&next)
	}
	return sum
}

func solutionsInParallel(b *board) uint64 {
	if b.rows == b.size {
		return 1
	}
	// Check for attacks before making goroutines, so that none ends at once in a conflict.
	var safe [largestBoard]uint8
	count := b.safeColumns(&safe)
	if count == 0 {
		return 0
	}
	return divideColumns(b, safe[:count])
}

// divideColumns counts the solutions whose next queen is on one of columns.
func divideColumns(b *board, columns []uint8) uint64 {
	if len(columns) == 1 {
		next := b.with(columns[0])
		return solutionsInParallel(&next)
	}
	half := len(columns) / 2
	var group sync.WaitGroup
	var right uint64
	spawn(&group, func() { right = divideColumns(b, columns[half:]) })
	left := divideColumns(b, columns[:half])
	group.Wait()
	return left + right
}

func (n *nqueens) answer() string { return strconv.FormatUint(n.result, 10) }

func (n *nqueens) isRight() bool { return n.result == solutionsOf[n.size] }
