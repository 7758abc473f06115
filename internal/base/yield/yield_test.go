package yield

import (
	"runtime"
	"sync/atomic"
	"testing"
)

func TestOthersRunFirst(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const others = 8
	var ran atomic.Int32
	for range others {
		go ran.Add(1) // one P: nothing runs beside this goroutine
	}
	for range 3 { // a background goroutine may take one of the calls
		Local()
	}
	if ran := ran.Load(); ran != others {
		t.Errorf("%d of %d goroutines have run", ran, others)
	}
}

func BenchmarkLocal(b *testing.B) {
	for b.Loop() {
		Local()
	}
}
