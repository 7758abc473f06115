//go:build go1.23

package whennot

import (
	"slices"
	"sync"
)

func written(items []int) {
	for i := 0; i < len(items); i++ {
		go func() {
			items[i]++
			i += 2
		}()
	}
}

func outer(items []int) {
	var wg sync.WaitGroup
	for range items {
		wg.Add(1)
		go func() { wg.Done() }()
	}
	filter := func(x int) bool { return x > len(items) }
	_ = filter(3)
	for _, x := range items {
		slices.IndexFunc(items, func(y int) bool { return x == y })
		func() { println(x) }()
	}
	wg.Wait()
}

func each(items []int, f func(int)) {
	for _, x := range items {
		if f != nil {
			f(x)
		}
	}
}

func twice(items []int, f func(int)) { each(items, f); each(items, f) }

// What is only called stays on the stack.
func called(items []int) (sum int) {
	twice(items, func(x int) { sum += x })
	add := func(x int) { sum += x }
	each(items, add)
	add(1)
	defer func() { sum++ }()
	return sum
}

type adder struct{ sum int }

func (a *adder) add(x int) { a.sum += x }

func method(items []int) int {
	var a adder
	each(items, a.add)
	return a.sum
}

// Nothing is captured.
func plain() func(int) int { return func(x int) int { return x + 1 } }

func failing(err error, register func(func())) {
	if err != nil {
		register(func() { println(err) })
	}
}
