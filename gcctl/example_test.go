package gcctl_test

import (
	"fmt"

	"github.com/isobar-go/isobar/gcctl"
)

func Example() {
	c, err := gcctl.Start(gcctl.Config{Mode: gcctl.Hybrid, LimitBytes: 1 << 30})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	price := func() {
		defer c.Pause().End() // no collection starts until it returns
		fmt.Println("priced with", c.Stats().Open, "section open")
	}
	price()
	fmt.Println(c.Mode(), "with", c.Stats().Open, "open")
	// Output:
	// priced with 1 section open
	// hybrid with 0 open
}

// An event loop collects while it is idle.
func ExampleController_Idle() {
	c, err := gcctl.Start(gcctl.Config{Mode: gcctl.Idle})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	work := make(chan int, 3)
	for i := range 3 {
		work <- i
	}
	close(work)
	for {
		if len(work) == 0 {
			c.Idle(0) // nothing waiting; unknown for how long
		}
		i, ok := <-work
		if !ok {
			break
		}
		fmt.Println("did", i)
	}
	// Output:
	// did 0
	// did 1
	// did 2
}
