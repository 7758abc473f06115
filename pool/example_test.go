package pool_test

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/isobar-go/isobar/pool"
)

func Example() {
	buffers := pool.New(pool.Config[bytes.Buffer]{Reset: (*bytes.Buffer).Reset})

	b := buffers.Get()
	b.WriteString("hello")
	fmt.Println(b.String())
	buffers.Put(b)

	fmt.Println(buffers.Stats().InUse, "in use")
	// Output:
	// hello
	// 0 in use
}

// A Bounded pool applies back-pressure: work starts only when an object is
// free.
func ExamplePool_GetContext() {
	type job struct{ Scratch [1024]byte }
	jobs := pool.New(pool.Config[job]{Kind: pool.Bounded, Limit: 1})

	first := jobs.Get()
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err := jobs.GetContext(ctx)
	fmt.Println(err)
	jobs.Put(first)
	// Output:
	// pool: GetContext: all 1 objects are in use: context deadline exceeded
}

func ExampleBytes() {
	var p = pool.NewBytes()
	b := p.Get(1000)
	fmt.Println(len(b), cap(b))
	p.Put(b)
	// Output:
	// 1000 1024
}
