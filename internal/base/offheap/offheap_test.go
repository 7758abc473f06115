package offheap

import (
	"runtime/debug"
	"strings"
	"testing"
	"unsafe"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

func TestMapIsZeroedCountedAndAligned(t *testing.T) {
	account := For("test")
	for _, huge := range []bool{false, true} {
		size := RoundUp(3*HugePageBytes/2, huge)
		b, err := account.Map(size, huge)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) != size {
			t.Errorf("len = %d, want %d", len(b), size)
		}
		if got := Usage()["test"]; got != int64(size) {
			t.Errorf("usage = %d, want %d", got, size)
		}
		if at := uintptr(unsafe.Pointer(unsafe.SliceData(b))); huge && !invariant.Race && at%HugePageBytes != 0 {
			t.Errorf("huge mapping at %#x is not aligned to a huge page", at)
		}
		for i := range b {
			if b[i] != 0 {
				t.Fatalf("byte %d is %d, want 0", i, b[i])
			}
			b[i] = 0xff
		}
		account.Unmap(b)
		if got, ok := Usage()["test"]; ok {
			t.Errorf("usage after Unmap = %d, want none", got)
		}
	}
}

func TestMapRefusesWhatIsNoWholeNumberOfPages(t *testing.T) {
	for _, size := range []int{-1, 0, 1, pageBytes + 1} {
		mustPanic(t, "offheap: Map:", func() { _, _ = For("test").Map(size, false) })
	}
}

func TestUnmapTwicePanics(t *testing.T) {
	if !invariant.Enabled {
		t.Skip("detected only under isobar_debug and in race builds")
	}
	b, err := For("test").Map(pageBytes, false)
	if err != nil {
		t.Fatal(err)
	}
	For("test").Unmap(b)
	mustPanic(t, "offheap: Unmap:", func() { For("test").Unmap(b) })
}

func TestAccessAfterUnmapFaults(t *testing.T) {
	if !guarded {
		t.Skip("ranges are guarded only under isobar_debug")
	}
	b, err := For("test").Map(pageBytes, false)
	if err != nil {
		t.Fatal(err)
	}
	b[0] = 1
	For("test").Unmap(b)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	mustPanic(t, "invalid memory address", func() { b[0]++ })
}

func TestQuarantineIsBounded(t *testing.T) {
	if !guarded {
		t.Skip("ranges are held back only under isobar_debug")
	}
	for range 4 {
		b, err := For("test").Map(quarantineBytes/2, false)
		if err != nil {
			t.Fatal(err)
		}
		For("test").Unmap(b)
	}
	if quarantined.bytes > quarantineBytes {
		t.Errorf("%d bytes held back, want at most %d", quarantined.bytes, quarantineBytes)
	}
}

func mustPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		r := recover()
		text, ok := r.(string)
		if err, isErr := r.(error); isErr {
			text, ok = err.Error(), true
		}
		if !ok || !strings.Contains(text, want) {
			t.Errorf("panic %v, want one that says %q", r, want)
		}
	}()
	f()
}
