// Mixed has a little of everything that a heap can contain, prints that it is ready, and
// waits until its standard input ends.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"
	"weak"
)

type node struct {
	name string
	next *node
	any  any
	tags []string
}

var (
	list    *node
	byName  = make(map[string]*node)
	bySize  = make(map[int][3]*node)
	few     = map[string]int{"a": 1}
	queue   = make(chan *node, 4)
	pool    = sync.Pool{New: func() any { return new(node) }}
	handle  weak.Pointer[node]
	request context.Context
	grid    = make([]*node, 4096)
	errs    []error
	calls   []func() int
)

//go:noinline
func waits(n *node, release chan struct{}) {
	defer func() { n.name += "." }()
	<-release
}

func main() {
	var mu sync.Mutex
	mu.Lock()
	for i := range 300 {
		n := &node{name: fmt.Sprint("node ", i), next: list, any: [2]int{i}, tags: make([]string, i%4, 8)}
		list, byName[n.name], bySize[i], grid[i] = n, n, [3]*node{n}, n
		calls = append(calls, func() int { return len(n.name) })
		errs = append(errs, fmt.Errorf("%d: %w", i, errors.ErrUnsupported))
	}
	for range 4 {
		queue <- &node{name: strings.Repeat("queued", 100)}
		go waits(&node{}, make(chan struct{}))
		go mu.Lock()
	}
	pool.Put(&node{any: 1.5})
	handle = weak.Make(list)
	runtime.SetFinalizer(&node{next: list}, func(n *node) { list = n })
	runtime.AddCleanup(list, func(int) {}, 1)
	time.AfterFunc(time.Hour, func() { list = nil })
	request, _ = context.WithTimeout(context.WithValue(context.Background(), [2]int{}, list), time.Hour)
	time.Sleep(10 * time.Millisecond)
	runtime.GC()
	fmt.Println("live 0 0")
	io.Copy(io.Discard, os.Stdin)
}
