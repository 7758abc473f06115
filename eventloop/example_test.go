package eventloop_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/isobar-go/isobar/eventloop"
	"github.com/isobar-go/isobar/gcctl"
)

// Timers and promises.
func Example() {
	loop, err := eventloop.New(eventloop.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	price, resolve, _ := eventloop.NewPromise[float64](loop)
	text := eventloop.Then(price, func(p float64) (string, error) { return fmt.Sprintf("%.2f EUR", p), nil })
	eventloop.Then(text, func(s string) (struct{}, error) {
		fmt.Println("the price is", s)
		return struct{}{}, loop.Shutdown(context.Background())
	})
	loop.After(time.Millisecond, func() { fmt.Println("asking") })
	loop.After(2*time.Millisecond, func() { resolve(12.5) })
	if err := loop.Run(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// asking
	// the price is 12.50 EUR
}

type tick struct {
	price float64
	book  *book
}

type book struct {
	last float64
	n    int
}

// Run is called on the loop: the book needs no lock.
func (t *tick) Run() {
	t.book.last = t.price
	t.book.n++
}

// Producers feed one loop, which lets the collector run while it is idle.
func ExampleLoop_SubmitTask() {
	gc, err := gcctl.Start(gcctl.Config{Mode: gcctl.Idle})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer gc.Close()
	loop, err := eventloop.New(eventloop.Config{Idle: gc.Idle})
	if err != nil {
		fmt.Println(err)
		return
	}
	end := make(chan error)
	go func() { end <- loop.Run(context.Background()) }()

	var b book
	var producers sync.WaitGroup
	for range 4 {
		producers.Go(func() {
			for i := range 1000 {
				if err := loop.SubmitTask(&tick{float64(i), &b}); err != nil {
					fmt.Println(err)
				}
			}
		})
	}
	producers.Wait()
	if err := loop.Shutdown(context.Background()); err != nil {
		fmt.Println(err)
	}
	fmt.Println(<-end, b.n, b.last)
	// Output: <nil> 4000 999
}
