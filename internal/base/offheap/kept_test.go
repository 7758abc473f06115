package offheap

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// keeps reports whether Decommit keeps addresses in this build.
const keeps = !invariant.Race && !guarded

func TestDecommittedMemoryIsReadable(t *testing.T) {
	if !keeps {
		t.Skip("in checking builds stale pointers fault, or the collector frees the memory")
	}
	a := For("kept")
	b, err := a.Recommit(4 * pageBytes)
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		b[i] = 0xaa
	}
	a.Decommit(b)
	if used, kept := Usage()["kept"], a.KeptBytes(); used != 0 || kept != int64(len(b)) {
		t.Errorf("%d bytes in use and %d kept, want 0 and %d", used, kept, len(b))
	}
	for i, c := range b {
		if c != 0 && (c != 0xaa || runtime.GOOS == "linux") {
			t.Fatalf("byte %d is %#x after Decommit", i, c)
		}
	}
	if other, err := a.Recommit(pageBytes); err != nil || unsafe.SliceData(other) == unsafe.SliceData(b) {
		t.Errorf("another size got the addresses, or none: %v", err)
	} else {
		a.Decommit(other)
	}
	again, err := a.Recommit(len(b))
	if err != nil || unsafe.SliceData(again) != unsafe.SliceData(b) {
		t.Fatalf("the addresses were not reused: %v", err)
	}
	again[0] = 1
	a.Decommit(again)
}

// A reader continues while the memory is decommitted and reused.
func TestStaleReadersDoNotFault(t *testing.T) {
	if !keeps {
		t.Skip("in checking builds stale pointers fault, or the collector frees the memory")
	}
	a := For("stale")
	b, err := a.Recommit(16 * pageBytes)
	if err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	done := make(chan int)
	go func() {
		into, rounds := make([]byte, len(b)), 0
		for !stop.Load() || rounds == 0 {
			copy(into, b)
			for _, c := range into {
				if c > 100 {
					t.Errorf("read %d, which nobody wrote", c)
					stop.Store(true)
				}
			}
			rounds++
		}
		done <- rounds
	}()
	for i := range 1000 {
		for j := 0; j < len(b); j += pageBytes {
			b[j] = byte(i % 100)
		}
		a.Decommit(b)
		if b, err = a.Recommit(len(b)); err != nil {
			t.Fatal(err)
		}
	}
	stop.Store(true)
	if rounds := <-done; rounds == 0 {
		t.Error("nothing was read")
	}
	a.Decommit(b)
}

// Kept address space is bounded by the peak mapping of each size.
func TestKeptAddressesAreBounded(t *testing.T) {
	if !keeps {
		t.Skip("addresses are not kept in checking builds")
	}
	a := For("bounded")
	rng := rand.New(rand.NewPCG(1, 2))
	var held [][]byte
	now, peak := map[int]int{}, map[int]int{}
	for range 5000 {
		if len(held) > 0 && rng.IntN(2) == 0 {
			i := rng.IntN(len(held))
			now[len(held[i])]--
			a.Decommit(held[i])
			held[i] = held[len(held)-1]
			held = held[:len(held)-1]
			continue
		}
		size := pageBytes << rng.IntN(3)
		b, err := a.Recommit(size)
		if err != nil {
			t.Fatal(err)
		}
		b[0], b[size-1] = 1, 1
		held = append(held, b)
		now[size]++
		peak[size] = max(peak[size], now[size])
	}
	var bound int64
	for size, n := range peak {
		bound += int64(size * n)
	}
	if got := a.KeptBytes() + Usage()["bounded"]; got != bound {
		t.Errorf("%d bytes of addresses, want the peaks of all sizes, %d", got, bound)
	}
	for _, b := range held {
		a.Decommit(b)
	}
	if used := Usage()["bounded"]; used != 0 {
		t.Errorf("%d bytes in use after the end", used)
	}
}

// BenchmarkGiveBack maps 64 KiB, touches it and returns it.
func BenchmarkGiveBack(b *testing.B) {
	a := For("bench")
	size := RoundUp(64<<10, false)
	for _, how := range []string{"unmap", "decommit"} {
		b.Run("how="+how, func(b *testing.B) {
			for b.Loop() {
				var mem []byte
				var err error
				if how == "unmap" {
					mem, err = a.Map(size, false)
				} else {
					mem, err = a.Recommit(size)
				}
				if err != nil {
					b.Fatal(err)
				}
				for i := 0; i < size; i += pageBytes {
					mem[i] = 1
				}
				if how == "unmap" {
					a.Unmap(mem)
				} else {
					a.Decommit(mem)
				}
			}
		})
	}
}
