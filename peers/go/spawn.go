package main

import "sync"

// spawn calls task in a new goroutine, for which the group waits. It is WaitGroup.Go, which older
// versions of Go do not have.
func spawn(group *sync.WaitGroup, task func()) {
	group.Add(1)
	go func() {
		task()
		group.Done()
	}()
}
