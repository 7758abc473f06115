package gcctl

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// TestIdleLeavesARunningCollectionAlone: while a collection of the runtime
// marks, Idle requests none. It would follow directly and repeat the work.
func TestIdleLeavesARunningCollectionAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100*mb, 100*mb)
		f.perByte = 10e-9 // it marks for a second
		c := control(t, Config{Mode: Idle}, f)
		defer c.Close()
		asked, refused := 0, 0
		for range 2000 {
			time.Sleep(10 * time.Millisecond)
			f.mu.Lock()
			f.advance()
			marking, forced := f.marking, f.forced
			f.mu.Unlock()
			before, _, _ := f.collections()
			c.Idle(0)
			synctest.Wait()
			after, _, _ := f.collections()
			switch {
			case !marking:
				asked += after - before
			case !forced && after != before:
				t.Fatal("a collection was started while one of the runtime was marking")
			case !forced:
				refused++
			}
			if asked > 0 { // let the runtime start the next one
				time.Sleep(3 * time.Second)
			}
		}
		if asked == 0 || refused == 0 {
			t.Errorf("%d requests, %d refusals: want both above 0", asked, refused)
		}
	})
}

// TestPausesTellMarking: the pauses of the real runtime reveal whether a
// collection is running.
func TestPausesTellMarking(t *testing.T) {
	r, err := newRuntime()
	if err != nil {
		t.Fatal(err)
	}
	heap := list(1_000_000)
	defer runtime.KeepAlive(heap)
	var s sample
	over := func() int64 {
		r.read(&s)
		return int64(s.pauses) - 2*int64(s.cycles)
	}
	runtime.GC()
	normal := over()
	seen := 0
	for range 10 {
		done := make(chan struct{})
		go func() {
			runtime.GC()
			close(done)
		}()
		for running := true; running; {
			switch n := over(); {
			case n == normal+1:
				seen++
			case n < normal-1: // the runtime counts the collection before its last pause
				t.Fatalf("%d pauses less than two for each collection", normal-n)
			}
			select {
			case <-done:
				running = false
			default:
			}
		}
		n := over()
		if n < normal-1 || n > normal+1 { // the end may stop the world once more
			t.Fatalf("%d pauses more than before after a collection", n-normal)
		}
		normal = max(normal, n)
	}
	if seen == 0 {
		t.Error("never seen marking in 10 collections")
	}
}
