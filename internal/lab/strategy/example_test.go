package strategy_test

import (
	"fmt"

	"github.com/isobar-go/isobar/internal/lab/strategy"
)

func Example() {
	workers, err := strategy.New("syncpool", 1024, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(workers[1](func(buffer []byte) uint64 { return uint64(len(buffer)) }))
	// Output: 1024
}
