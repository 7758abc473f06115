package http11

import (
	"strings"
	"testing"
)

func testRegion(t testing.TB) *region {
	t.Helper()
	m, err := newMemory(Memory{})
	if err != nil {
		t.Fatal(err)
	}
	r := m.acquire()
	t.Cleanup(func() { r.drop(); m.close() })
	return r
}

func TestRoomExtendsInPlaceAndMoves(t *testing.T) {
	r := testRegion(t)
	in := r.room(nil, 100)
	if len(in) != 0 || cap(in) != 4096 {
		t.Fatalf("len %d cap %d, want 0 and 4096", len(in), cap(in))
	}
	in = append(in, "hello"...)
	in = r.trim(in)
	first := &in[0]
	a := r.alloc(16)
	if &a[0] == first || cap(in) != 5 {
		t.Fatal("an allocation overlaps the buffer")
	}
	copy(a, strings.Repeat("x", 16))
	in = r.room(in, 5000)
	if &in[0] == first || string(in) != "hello" || cap(in) < 5005 {
		t.Fatalf("moved buffer is %q with cap %d", in, cap(in))
	}
	in = append(in, "!"...)
	at := &in[0]
	in = r.room(r.trim(in), 10)
	if &in[0] != at || string(in) != "hello!" {
		t.Fatal("the last allocation was not extended in place")
	}
	rest := r.carry(in[2:])
	if string(rest) != "llo!" || len(r.blocks) != 1 {
		t.Fatalf("carried %q over %d blocks, want llo! in one", rest, len(r.blocks))
	}
	rest = append(r.room(rest, 10), "?"...)
	if string(rest) != "llo!?" {
		t.Fatalf("rest is %q", rest)
	}
}
