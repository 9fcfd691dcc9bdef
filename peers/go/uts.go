package main

import (
	"fmt"
	"sync"
)

// uts is the kernel uts, unbalanced tree search: it counts the nodes of a tree that hash values
// generate.
type uts struct {
	tree   *tree
	result size
}

// A size is the size of a tree: its nodes, its leaves, and the greatest distance from the root.
type size struct {
	nodes, leaves uint64
	depth         int
}

// add adds the size of another part of the same tree.
func (s *size) add(other size) {
	s.nodes += other.nodes
	s.leaves += other.leaves
	if other.depth > s.depth {
		s.depth = other.depth
	}
}

type node struct {
	tree   *tree
	stream stream
	depth  int
}

func (n *node) child(number int) node {
	return node{n.tree, n.stream.child(uint32(number)), n.depth + 1}
}

func (n *node) children() int { return n.tree.children(n.tree, &n.stream, n.depth) }

func newUts(in *input) kernel {
	name := in.name()
	if trees[name] == nil {
		in.fail("the tree must be T1, T2, T3 or T3L, not '%s'", name)
	}
	return &uts{tree: trees[name]}
}

func (u *uts) prepare() {}

func (u *uts) root() *node { return &node{u.tree, rootStream(u.tree.seed), 0} }

func (u *uts) runSequentially() { u.result = countSequentially(u.root()) }

func (u *uts) runInParallel() { u.result = countInParallel(u.root()) }

// countSequentially returns the size of the subtree of n.
func countSequentially(n *node) size {
	children := n.children()
	if children == 0 {
		return size{1, 1, n.depth}
	}
	sum := size{nodes: 1}
	for number := 0; number < children; number++ {
		child := n.child(number)
		sum.add(countSequentially(&child))
	}
	return sum
}

func countInParallel(n *node) size {
	children := n.children()
	if children == 0 {
		return size{1, 1, n.depth}
	}
	sum := divideChildren(n, 0, children)
	sum.nodes++
	return sum
}

// divideChildren counts the subtrees of some children of parent, from child first on.
func divideChildren(parent *node, first, children int) size {
	if children == 1 {
		child := parent.child(first)
		return countInParallel(&child)
	}
	half := children / 2
	var group sync.WaitGroup
	var right size
	spawn(&group, func() { right = divideChildren(parent, first+half, children-half) })
	left := divideChildren(parent, first, half)
	group.Wait()
	left.add(right)
	return left
}

func (u *uts) answer() string {
	r := u.result
	return fmt.Sprintf("%d nodes, %d leaves, depth %d", r.nodes, r.leaves, r.depth)
}

func (u *uts) isRight() bool { return u.result == u.tree.size }
