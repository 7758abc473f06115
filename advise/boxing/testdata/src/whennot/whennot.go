package whennot

import (
	"fmt"
	"os"
	"sync"
)

func log(args ...any) {}

func constants(names []string, b byte, on bool) {
	for _, n := range names {
		log("x", 300, &n)
		log(b, on, &b)
		fmt.Fprintln(os.Stderr, len(n)) // output costs more
	}
}

func failing(n int) (err error) {
	if err != nil {
		log("failed", n)
	}
	return err
}

func generic[T any](v T) {}

func init() {
	n := os.Getpid()
	log("start", n)
	generic(n)
}

var pool sync.Pool

func release(b *[]byte) { pool.Put(b) }

func held(p *int, f func()) (any, any) {
	var pointer, function any = p, f // pointers already
	var other any = 3
	return pointer, &[2]any{function, other}
}

// logf does nothing in this build: calls are inlined to nothing.
func logf(format string, args ...any) {}

func spawn(ids []int) {
	for _, id := range ids {
		logf("spawned %d", id)
	}
}
