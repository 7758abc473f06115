package proven

import (
	"strings"
	"testing"
)

func BenchmarkTimed(b *testing.B) {
	for range 10 {
		Prepared(nil)
	}
	for b.Loop() {
		Timed([]int{1, 2, 3})
		strings.Repeat("x", 10)
	}
}
