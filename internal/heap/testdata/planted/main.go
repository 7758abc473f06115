// Planted holds memory in one of many ways, says how much is live, and waits
// until its standard input ends.
package main

import (
	"container/list"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unique"
	"weak"
)

type record struct {
	id   int
	body []byte
}

type registry struct {
	byID   map[int]*record
	topics map[string][]func()
}

type job struct {
	payload []byte
	done    chan struct{}
}

type ring struct {
	next *ring
	body []byte
}

type shelf struct {
	free sync.Pool
	byID map[int]*record
}

type lookups struct {
	mu      sync.Mutex
	entries map[string]*record
	order   []string
}

func (r *record) clear() { r.body = nil }

func reset[T any](to *T) func() {
	return func() {
		var zero T
		*to = zero
	}
}

var (
	app     registry
	window  []byte
	jobs    = make(chan *job, 64)
	buffers = sync.Pool{New: func() any { return new([]byte) }}
	request = context.Background()
	names   lookups
	current atomic.Pointer[registry]
	quit    = make(chan struct{})
	halls   = map[string]**shelf{}
)

type trace struct{ span int }

const each = 256 << 10

func blob() []byte { return make([]byte, each) }

// settled returns when all other goroutines wait, however busy the machine is.
func settled() {
	for text := make([]byte, 1<<20); ; time.Sleep(time.Millisecond) {
		if n := runtime.Stack(text, true); !strings.Contains(string(text[:n]), "[runnable") {
			return
		}
	}
}

//go:noinline
func stuck(body []byte, release chan struct{}) {
	<-release
	runtime.KeepAlive(body)
}

//go:noinline
func descend(n int, bodies [][]byte, release chan struct{}) int {
	if n == 0 {
		<-release
		return 0
	}
	n = 1 + descend(n-1, nil, release)
	runtime.KeepAlive(bodies)
	return n
}

// deliver waits until orders has room: with quit that is two waits on one list.
//
//go:noinline
func deliver(orders chan *job) {
	select {
	case <-quit:
	case orders <- nil:
	}
	runtime.KeepAlive(orders)
}

// A keeper whose only value has no name of its own.
type keeper interface{ keep(*record) }

func (r *registry) keep(one *record) { r.byID[one.id] = one }

var vault keeper = &registry{}

var leaks = map[string]func(){
	"map": func() {
		app.byID = make(map[int]*record)
		for i := range 60 {
			app.byID[i] = &record{i, blob()}
		}
	},
	"interface": func() {
		vault.(*registry).byID = make(map[int]*record)
		for i := range 60 {
			vault.keep(&record{i, blob()})
		}
	},
	"atomic": func() {
		next := &registry{byID: make(map[int]*record)}
		for i := range 60 {
			next.byID[i] = &record{i, blob()}
		}
		current.Store(next)
	},
	"reslice": func() {
		all := make([]byte, 60*each)
		window = all[len(all)-100:]
	},
	"timer": func() {
		body := make([]byte, 60*each)
		time.AfterFunc(time.Hour, func() { body[0]++ })
	},
	"goroutine": func() {
		release := make(chan struct{})
		for range 60 {
			go stuck(blob(), release)
		}
		settled()
	},
	"deep": func() {
		var bodies [][]byte
		for range 60 {
			bodies = append(bodies, blob())
		}
		go descend(110_000, bodies, make(chan struct{}))
		settled()
	},
	"channel": func() {
		for range 60 {
			jobs <- &job{payload: blob()}
		}
	},
	"waiter": func() {
		orders := make(chan *job, 60)
		for range cap(orders) {
			orders <- &job{payload: blob()}
		}
		go deliver(orders)
		settled()
	},
	"pooled": func() {
		debug.SetGCPercent(-1)
		orders := make(chan *job, 60)
		for range cap(orders) {
			orders <- &job{payload: blob()}
		}
		buffers.Put(&orders)
		go deliver(orders)
		settled()
	},
	"pool": func() {
		debug.SetGCPercent(-1)
		for range 60 {
			b := blob()
			buffers.Put(&b)
		}
	},
	"pool beside": func() {
		s := &shelf{byID: make(map[int]*record)}
		for i := range 60 {
			s.byID[i] = &record{i, blob()}
		}
		s.free.Put(new(record))
		halls["a"] = &s
	},
	"finalizer": func() {
		first := &ring{body: blob()}
		last := first
		for range 59 {
			last = &ring{next: last, body: blob()}
			runtime.SetFinalizer(last, func(*ring) {})
		}
		first.next = last
		runtime.SetFinalizer(first, func(*ring) {})
	},
	"context": func() {
		for i := range 60 {
			request = context.WithValue(request, trace{i}, blob())
		}
	},
	"subscription": func() {
		app.topics = make(map[string][]func())
		for range 60 {
			body := blob()
			app.topics["t"] = append(app.topics["t"], func() { body[0]++ })
		}
	},
	"bound": func() {
		app.topics = make(map[string][]func())
		for i := range 60 {
			body, r := blob(), &record{i, blob()}
			app.topics["t"] = append(app.topics["t"], r.clear, func() { body = nil }, reset(&body))
		}
	},
	"cache": func() {
		names.entries = make(map[string]*record)
		for i := range 60 {
			name := fmt.Sprint("entry", i)
			names.entries[name] = &record{i, blob()}
			names.order = append(names.order, name)
		}
	},
}

// Holders that use almost nothing of 32 MB, or of 2^20 entries.
var (
	spare    []byte
	excerpts []string
	emptied  map[int]int
	short    [][64]byte
)

const planted = 32 << 20

func init() {
	leaks["capacity"] = func() { spare = make([]byte, planted/4, planted) }
	leaks["substring"] = func() {
		for i := range 32 {
			text := strings.Repeat(fmt.Sprint(i%10), planted/32)
			excerpts = append(excerpts, text[100:200])
		}
	}
	leaks["duplicates"] = func() { // 256 copies each of four texts
		for i := range 1024 {
			excerpts = append(excerpts, strings.Repeat(fmt.Sprint(i%4), planted/1024))
		}
	}
	leaks["churn"] = func() {
		leaks["cache"]()
		for range 1 << 20 {
			short = make([][64]byte, 16)
		}
	}
	leaks["shrunk"] = func() {
		emptied = make(map[int]int)
		for i := range 1 << 20 {
			emptied[i] = i
		}
		for i := range 1<<20 - 10 {
			delete(emptied, i)
		}
	}
}

// Channels that goroutines wait for: some can be woken, some cannot.
var wake = make(chan struct{})

//go:noinline
func locked(l *lookups) {
	l.mu.Lock()
	runtime.KeepAlive(l.order)
}

//go:noinline
func inTime(body []byte, after <-chan time.Time) {
	<-after
	runtime.KeepAlive(body)
}

//go:noinline
func hands(on, from chan struct{}) {
	<-from
	close(on)
}

//go:noinline
func nothing(body []byte) {
	var none chan int
	<-none
	runtime.KeepAlive(body)
}

func init() {
	leaks["waits"] = func() {
		lost, relay := make(chan struct{}), make(chan struct{})
		held := &lookups{order: make([]string, each/16)}
		held.mu.Lock()
		for range 8 {
			go stuck(blob(), lost)
		}
		for range 4 {
			go stuck(blob(), wake)
		}
		for range 2 {
			go stuck(blob(), relay) // woken by a goroutine that can run
		}
		go hands(relay, wake)
		go locked(held)
		go inTime(blob(), time.After(time.Hour))
		go nothing(blob())
		settled()
	}
}

// Roots that are not leaks.
var (
	shards  [10_000]*record
	crowds  *[2][]*record
	chain   *ring
	cleaned *record
	handles []weak.Pointer[[each]byte]
)

//go:noinline
func deferred(body []byte) {
	defer func() { body[0]++ }()
	<-wake
}

// defers returns in too many places for the compiler to call what it defers from there: there are
// records of it, on the stack.
//
//go:noinline
func defers(body []byte, n int) int {
	defer func() { body[0]++ }()
	defer func() { n++ }()
	for i, c := range os.Args[0] {
		switch int(c) - n {
		case 1000:
			n += 1 * i
			return n
		case 2000:
			n += 2 * i
			return n
		case 3000:
			n += 3 * i
			return n
		case 4000:
			n += 4 * i
			return n
		case 5000:
			n += 5 * i
			return n
		case 6000:
			n += 6 * i
			return n
		case 7000:
			n += 7 * i
			return n
		case 8000:
			n += 8 * i
			return n
		}
	}
	<-wake
	return n
}

// listed defers in a loop: the records are objects of the heap.
//
//go:noinline
func listed(bodies [][]byte) {
	for _, b := range bodies {
		defer func() { b[0]++ }()
	}
	<-wake
}

//go:noinline
func panicking(body []byte) {
	defer func() { <-wake }()
	panic(body)
}

func init() {
	leaks["deferred"] = func() {
		for range 60 {
			go deferred(blob())
		}
		settled()
	}
	leaks["defer records"] = func() {
		for range 60 {
			go defers(blob(), 0)
		}
		settled()
	}
	leaks["defers in a loop"] = func() {
		var bodies [][]byte
		for range 60 {
			bodies = append(bodies, blob())
		}
		go listed(bodies)
		settled()
	}
	leaks["short and long"] = func() { // long slices have a header
		crowds = &[2][]*record{nil, make([]*record, 0, 100)}
		for i := range 60 {
			crowds[i%2] = append(crowds[i%2], &record{i, blob()})
		}
	}
	leaks["panicking"] = func() {
		for range 60 {
			go panicking(blob())
		}
		settled()
	}
	leaks["shards"] = func() {
		for i := range shards {
			shards[i] = &record{i, make([]byte, 1<<10)}
		}
	}
	leaks["chain"] = func() {
		for range 4 << 20 {
			chain = &ring{next: chain}
		}
	}
	leaks["finalizable"] = func() {
		leaks["map"]()
		for _, r := range app.byID {
			runtime.SetFinalizer(r, func(*record) {})
		}
	}
	leaks["cleanup"] = func() {
		cleaned = new(record)
		for range 60 {
			runtime.AddCleanup(cleaned, func([]byte) {}, blob())
		}
	}
}

// Holders of package sync, unique and container/list.
var (
	sessions sync.Map
	rooms    any
	mixed    sync.Map
	common   []unique.Handle[string]
	queue    list.List
	doors    door
)

type house struct {
	name string
	by   *sync.Map
}

type door struct {
	next, prev *door
	body       []byte
}

func init() {
	leaks["sync.Map"] = func() {
		for i := range 60 {
			sessions.Store(fmt.Sprint("session", i), &record{i, blob()})
		}
	}
	leaks["sync.Map of few bytes"] = func() {
		by := new(sync.Map)
		for i := range 1 << 18 {
			by.Store(i, int64(i))
		}
		rooms = &house{"a", by}
	}
	leaks["sync.Map of many types"] = func() {
		for i := range 60 {
			mixed.Store(i, &record{i, blob()})
			mixed.Store(fmt.Sprint(i), &job{payload: blob()})
		}
	}
	leaks["unique"] = func() {
		for i := range 1 << 17 {
			common = append(common, unique.Make(fmt.Sprint("a word that is seen often ", i)))
		}
	}
	leaks["list"] = func() {
		for i := range 60 {
			queue.PushBack(&record{i, blob()})
		}
	}
	leaks["sentinel"] = func() {
		doors.next, doors.prev = &doors, &doors
		for range 60 {
			d := &door{&doors, doors.prev, blob()}
			d.prev.next, d.next.prev = d, d
		}
	}
}

// leave makes garbage that no collection has seen: 30 unreachable objects, and 30
// reachable only through weak pointers.
//
//go:noinline
func leave() {
	debug.SetGCPercent(-1)
	for range 30 { // of each kind
		jobs <- &job{payload: blob()}
		<-jobs
		handles = append(handles, weak.Make(new([each]byte)))
	}
}

func main() {
	leaks[os.Args[1]]()
	runtime.GC()
	if !strings.HasPrefix(os.Args[1], "pool") { // the second collection empties a pool
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	cpu := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/idle:cpu-seconds"}}
	metrics.Read(cpu)
	if len(os.Args) > 2 {
		leave()
	}
	fmt.Println("live", m.HeapAlloc, m.HeapObjects, cpu[0].Value.Float64()-cpu[1].Value.Float64())
	io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(jobs)
}
