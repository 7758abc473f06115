package block

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/base/offheap"
)

// kinds are the ways to take chunks.
var kinds = map[string]Config{
	"heap": {OnHeap: true}, "mapped": {Purpose: "block test"}, "huge": {Purpose: "block test", HugePages: true},
	"kept": {Purpose: "block test kept", KeepAddresses: true},
}

func TestChunksAreCountedAndAligned(t *testing.T) {
	for name, config := range kinds {
		s := NewSource(config)
		if s.OnHeap() != config.OnHeap {
			t.Errorf("%s: OnHeap is %v", name, s.OnHeap())
		}
		var taken [][]byte
		sum := 0
		for _, size := range []int{1, 8, 4096, 5000, 3 << 20} {
			b, err := s.Take(size)
			if err != nil {
				t.Fatal(err)
			}
			if len(b) < size || len(b) != s.Round(size) || uintptr(unsafe.Pointer(&b[0]))%8 != 0 {
				t.Errorf("%s: %d bytes at %p for %d, want %d, aligned to 8", name, len(b), b, size, s.Round(size))
			}
			for i := range b {
				if b[i] != 0 && !config.KeepAddresses {
					t.Fatalf("%s: byte %d is %d", name, i, b[i])
				}
				b[i] = 0xff
			}
			taken = append(taken, b)
			sum += len(b)
		}
		if s.Bytes() != int64(sum) {
			t.Errorf("%s: %d bytes counted, want %d", name, s.Bytes(), sum)
		}
		if usage := offheap.Usage()[config.Purpose]; !config.OnHeap && usage != int64(sum) {
			t.Errorf("%s: %d bytes off the heap, want %d", name, usage, sum)
		}
		for _, b := range taken {
			s.Give(b)
		}
		if s.Bytes() != 0 || offheap.Usage()[config.Purpose] != 0 {
			t.Errorf("%s: %d bytes counted after the end, %d off the heap", name, s.Bytes(), offheap.Usage()[config.Purpose])
		}
	}
}

func TestLimit(t *testing.T) {
	for name, config := range kinds {
		s := NewSource(config)
		config.LimitBytes = 3 * int64(s.Round(5000))
		s = NewSource(config)
		var last []byte
		for range 3 {
			var err error
			if last, err = s.Take(5000); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if b, err := s.Take(1); !errors.Is(err, ErrLimit) || b != nil {
			t.Errorf("%s: beyond the limit: %d bytes, %v", name, len(b), err)
		}
		if err := s.Claim(1); !errors.Is(err, ErrLimit) {
			t.Errorf("%s: claimed beyond the limit: %v", name, err)
		}
		s.Give(last)
		if err := s.Claim(len(last)); err != nil || s.Bytes() != config.LimitBytes {
			t.Errorf("%s: claimed up to the limit: %v, %d bytes", name, err, s.Bytes())
		}
	}
}

func TestNext(t *testing.T) {
	for name, config := range kinds {
		s := NewSource(config)
		unit := s.Round(1)
		for _, tc := range []struct{ limit, taken, size, first, most, want int }{
			{0, 0, 1, 4, 16, 4},
			{0, 4, 1, 4, 16, 4},
			{0, 8, 1, 4, 16, 8},
			{0, 32, 1, 4, 16, 16},
			{0, 32, 20, 4, 16, 20},
			{10, 8, 1, 4, 16, 2},
			{10, 8, 3, 4, 16, 3},
			{10, 10, 1, 4, 16, 1},
		} {
			s.limit, s.taken = int64(tc.limit*unit), int64(tc.taken*unit)
			if tc.limit > 0 {
				s.limit += int64(unit) - 1
			}
			if got := s.Next(tc.size*unit, tc.first*unit, tc.most*unit); got != tc.want*unit {
				t.Errorf("%s: %+v: %d", name, tc, got/unit)
			}
		}
	}
}

// A returned chunk comes back at the same address.
func TestAddressesAreKept(t *testing.T) {
	if invariant.Enabled {
		t.Skip("checking builds unmap, so that stale pointers are found")
	}
	s := NewSource(Config{Purpose: "block test again", KeepAddresses: true})
	b, err := s.Take(1 << 16)
	if err != nil {
		t.Fatal(err)
	}
	s.Give(b)
	again, err := s.Take(1 << 16)
	if err != nil || &again[0] != &b[0] {
		t.Errorf("another chunk came back: %v", err)
	}
	s.Give(again)
}
