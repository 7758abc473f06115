package ingress_test

import (
	"fmt"

	"github.com/isobar-go/isobar/internal/study/ingress"
)

// A strategy runs its tasks in order.
func Example() {
	loop, err := ingress.New("mpsc", ingress.Config{Producers: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	sum := 0
	for i := range 4 {
		loop.Submit(0, func() { sum += i })
	}
	fmt.Println(loop.Close(), sum)
	// Output: <nil> 6
}
