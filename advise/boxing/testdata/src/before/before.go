package before

import (
	"container/heap"
	"fmt"
	"os"
	"sync"
)

func log(args ...any) {
	for _, a := range args {
		fmt.Fprint(os.Stderr, a, " ")
	}
	fmt.Fprintln(os.Stderr)
}

// The document's code.
func handle(uid int64, score int) {
	log("user", uid, "score", score) // want `uid is boxed to be passed as any to log; a type parameter keeps it as it is`
}

func observe(values []float64, h heap.Interface) {
	for _, v := range values {
		log(v)              // want `v is boxed`
		heap.Push(h, v)     // want `v is boxed`
		metric("x", int(v)) // want `int\(v\) is boxed`
	}
}

var metrics = map[string]any{}

func metric(name string, v any) { metrics[name] = v }

var pool sync.Pool

func release(b []byte) {
	pool.Put(b) // want `put a pointer`
}
