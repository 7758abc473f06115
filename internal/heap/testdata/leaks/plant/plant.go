// Package plant keeps what a program hands it in one of ten ways that leak, and
// runs the program as a server with a load on it.
package plant

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
	"unsafe"
)

type record struct {
	number int
	what   any
	body   []byte
}

type link struct {
	next *link
	*record
}

type number struct{ int }

var (
	byNumber  = make(map[int]*record)
	recent    []*record
	backlog   = make(chan *record, 1<<17)
	buffers   sync.Pool
	request   = context.Background()
	listeners struct{ topics map[string][]func() }
	cache     struct {
		entries map[string]*record
		order   []string
	}
	last, first *link
)

//go:noinline
func waits(r *record, done chan bool) {
	<-done
	runtime.KeepAlive(r)
}

func inAnHour(r *record) { time.AfterFunc(time.Hour, func() { r.body = nil }) }

func variable[T any](v *T) string {
	return fmt.Sprint(uintptr(unsafe.Pointer(v)), " ", unsafe.Sizeof(*v))
}

// A leak keeps records, one by one. Its holder is a name and, of a variable, its
// address and size. done is called when all are kept.
type leak struct {
	name, place string
	keep        func(*record)
	done        func()
}

var leaks = map[string]leak{
	"map": {"plant.byNumber", variable(&byNumber), func(r *record) { byNumber[r.number] = r }, nil},
	"reslice": {"plant.recent", variable(&recent), func(r *record) {
		recent = append(recent, r)
	}, func() { recent = recent[:10] }},
	"timer": {"plant.inAnHour", "", inAnHour, nil},
	"goroutine": {"plant.waits", "", func(r *record) {
		go waits(r, make(chan bool))
	}, nil},
	"channel": {"plant.backlog", variable(&backlog), func(r *record) { backlog <- r }, nil},
	"pool": {"plant.buffers", variable(&buffers), func(r *record) {
		b := new(bytes.Buffer)
		b.Grow(4096)
		b.Write(r.body)
		buffers.Put(b)
	}, keepPool},
	"finalizer": {"objects with a finalizer", "", func(r *record) {
		l := &link{last, r}
		if first == nil {
			first = l
		}
		last = l
		runtime.SetFinalizer(l, func(*link) {})
	}, func() { first.next, first, last = last, nil, nil }},
	"context": {"plant.request", variable(&request), func(r *record) {
		request = context.WithValue(request, number{r.number}, r)
	}, nil},
	"subscription": {"plant.listeners", variable(&listeners), func(r *record) {
		if listeners.topics == nil {
			listeners.topics = make(map[string][]func())
		}
		topic := fmt.Sprint("topic", r.number%10)
		listeners.topics[topic] = append(listeners.topics[topic], func() { r.body = nil })
	}, nil},
	"cache": {"plant.cache", variable(&cache), func(r *record) {
		if cache.entries == nil {
			cache.entries = make(map[string]*record)
		}
		key := fmt.Sprint("entry ", r.number)
		cache.entries[key] = r
		cache.order = append(cache.order, key)
	}, nil},
}

// keepPool takes all buffers and puts them back, as a program would that needs
// all of them now and then: two collections empty a pool that nobody uses.
func keepPool() {
	go func() {
		var all []any
		for {
			for b := buffers.Get(); b != nil; b = buffers.Get() {
				all = append(all, b)
			}
			for i, b := range all {
				buffers.Put(b)
				all[i] = nil
			}
			all = all[:0]
			time.Sleep(20 * time.Millisecond)
		}
	}()
}

// Main runs 'PROGRAM LEAK RECORDS', until standard input ends, and as its load
// 'PROGRAM load ADDRESS'. serve starts the program, which hands over what it
// deals with; load asks as much of it as it can.
func Main(serve func(keep func(what any, body []byte)) (address string), load func(address string)) {
	if os.Args[1] == "load" {
		for {
			load(os.Args[2])
		}
	}
	l, kept, all := leaks[os.Args[1]], 0, 0
	var mu sync.Mutex
	full := make(chan bool)
	fmt.Sscan(os.Args[2], &all)
	address := serve(func(what any, body []byte) {
		mu.Lock()
		defer mu.Unlock()
		if kept < all {
			l.keep(&record{kept, what, bytes.Clone(body)})
			if kept++; kept == all {
				if l.done != nil {
					l.done()
				}
				close(full)
			}
		}
	})
	child := exec.Command(os.Args[0], "load", address)
	child.Stderr = os.Stderr
	Must(child.Start())
	<-full
	runtime.GC()
	fmt.Println("holder", l.name)
	fmt.Println("place", l.place)
	io.Copy(io.Discard, os.Stdin)
	child.Process.Kill()
	child.Wait()
}

// Must panics on an error.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}
