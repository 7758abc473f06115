package memtest_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/isobar-go/isobar/memtest"
)

var out []byte

func encode(dst []byte, id int) []byte {
	dst = append(dst, "id="...)
	return strconv.AppendInt(dst, int64(id), 10)
}

func Example() {
	// In a test, with its own *testing.T:
	TestEncode := func(t *testing.T) {
		memtest.Allocs(t, 0, func() { out = encode(out[:0], 42) })
	}
	_ = TestEncode

	cost := memtest.Measure(func() { out = encode(out[:0], 42) })
	fmt.Println(cost.Allocs, "allocations")
	// Output: 0 allocations
}
