package eventloop_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/isobar-go/isobar/eventloop"
	"github.com/isobar-go/isobar/gcctl"
)

// A trade is a Task: its method and what it needs travel together.
type trade struct {
	market *market
	symbol int
	cents  int64
	volume int64
}

// Run is called on the loop.
func (t *trade) Run() { t.market.quotes[t.symbol].add(t) }

// A market is owned by its loop and needs no lock.
type market struct{ quotes []quote }

type quote struct{ trades, volume, turnover int64 }

func (q *quote) add(t *trade) {
	q.trades++
	q.volume += t.volume
	q.turnover += t.cents * t.volume
}

// Three feeds send trades in bursts; one loop keeps the volume-weighted prices.
// Between bursts the loop is idle and tells the GC controller, which then
// collects instead of during the next burst. The timer stands for the next
// session: it tells the controller how long the loop expects to be idle.
func Example_marketFeed() {
	gc, err := gcctl.Start(gcctl.Config{Mode: gcctl.Idle})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer gc.Close()
	idle := make(chan struct{}, 1)
	loop, err := eventloop.New(eventloop.Config{Idle: func(expect time.Duration) bool {
		select {
		case idle <- struct{}{}:
		default:
		}
		return gc.Idle(expect)
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := loop.Every(time.Hour, func() {}); err != nil {
		fmt.Println(err)
		return
	}
	end := make(chan error, 1)
	go func() { end <- loop.Run(context.Background()) }()

	m := &market{quotes: make([]quote, 2)}
	for burst := range 3 {
		var feeds sync.WaitGroup
		for feed := range 3 {
			feeds.Go(func() {
				trades := make([]trade, 1000)
				for i := range trades {
					trades[i] = trade{m, i % 2, int64(10_000 + 100*feed + i%2), int64(1 + burst)}
					if err := loop.SubmitTask(&trades[i]); err != nil {
						fmt.Println(err)
					}
				}
			})
		}
		feeds.Wait()
		read := make(chan quote, 1) // buffered: the loop must not wait for the reader
		if err := loop.Submit(func() { read <- m.quotes[0] }); err != nil {
			fmt.Println(err)
		}
		<-idle
		fmt.Printf("after burst %d: %d trades of symbol 0\n", burst, (<-read).trades)
	}
	if err := loop.Shutdown(context.Background()); err != nil {
		fmt.Println(err)
	}
	if err := <-end; err != nil {
		fmt.Println(err)
	}
	for i, q := range m.quotes {
		fmt.Printf("symbol %d: volume %d at %.2f\n", i, q.volume, float64(q.turnover)/float64(q.volume)/100)
	}
	// Output:
	// after burst 0: 1500 trades of symbol 0
	// after burst 1: 3000 trades of symbol 0
	// after burst 2: 4500 trades of symbol 0
	// symbol 0: volume 9000 at 101.00
	// symbol 1: volume 9000 at 101.01
}
