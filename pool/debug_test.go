//go:build isobar_debug || race

package pool

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

type plain struct {
	n     int
	ok    bool
	name  string
	more  []int
	array [3]float64
}

func TestDoublePutIsDetected(t *testing.T) {
	for name, cfg := range kinds(8) {
		t.Run(name, func(t *testing.T) {
			p := New(cfg)
			x := p.Get()
			p.Put(x)
			mustPanic(t, func() { p.Put(x) }, "Pool.Put: ", "twice", "TestDoublePutIsDetected")
		})
	}
	b := NewBytes()
	buf := b.Get(100)
	b.Put(buf)
	mustPanic(t, func() { b.Put(buf) }, "Bytes.Put: ", "twice")
}

func TestForeignPutIsDetected(t *testing.T) {
	p, q := New(Config[plain]{}), New(Config[plain]{})
	mustPanic(t, func() { p.Put(new(plain)) }, "Pool.Put: ", "not from this pool")
	x := q.Get()
	mustPanic(t, func() { p.Put(x) }, "Pool.Put: ", "not from this pool")
	b := NewBytes()
	buf := b.Get(2048)
	mustPanic(t, func() { b.Put(buf[1024:]) }, "Bytes.Put: ", "not from this pool")
	mustPanic(t, func() { b.Put(buf[:64:64]) }, "Bytes.Put: ", "whole capacity")
	mustPanic(t, func() { b.Put(append(buf, 0)) }, "Bytes.Put: ", "not from this pool")
	b.Put(buf[:0])
}

func TestUseAfterPutIsDetected(t *testing.T) {
	for _, write := range map[string]func(*plain){
		"number": func(x *plain) { x.n++ },
		"bool":   func(x *plain) { x.ok = true },
		"string": func(x *plain) { x.name = "x" },
		"slice":  func(x *plain) { x.more = []int{1} },
		"array":  func(x *plain) { x.array[2] = 0 },
	} {
		p := New(Config[plain]{Kind: Bounded, Limit: 1})
		x := p.Get()
		p.Put(x)
		write(x)
		mustPanic(t, func() { p.Get() }, "Pool.Get: ", "written to after Put", "TestUseAfterPutIsDetected")
	}
	b := NewBytes()
	buf := b.Get(100)
	b.Put(buf)
	buf[99] = 1
	// Any P's stack may hold it: take until it comes.
	mustPanic(t, func() {
		for range 1000 {
			b.Get(100)
		}
	}, "Bytes.Get: ", "written to after Put, at byte 99")
}

func TestPoisonHidesContents(t *testing.T) {
	p := New(Config[plain]{Kind: Bounded, Limit: 1})
	x := p.Get()
	*x = plain{n: 1, name: "name", more: []int{1}, array: [3]float64{1, 2, 3}}
	p.Put(x)
	if x.n == 1 || x.name != "" || x.more != nil || x.array[0] == 1 {
		t.Errorf("contents are legible after Put: %+v", x)
	}
	if y := p.Get(); y != x || y.n != 1 || y.name != "name" || len(y.more) != 1 || y.array[2] != 3 {
		t.Errorf("contents are lost: %+v", y)
	}
	b := NewBytes()
	buf := b.Get(100)
	buf[0] = 'x'
	b.Put(buf)
	if buf[0] == 'x' {
		t.Error("buffer is legible after Put")
	}
}

func TestLeakIsDetected(t *testing.T) {
	p := New(Config[plain]{})
	x := p.Get()
	held := p.Held()
	if len(held) != 1 || held[0].Lost || held[0].Age < 0 || !strings.Contains(held[0].Where, "TestLeakIsDetected") {
		t.Fatalf("Held() = %+v", held)
	}
	if s := held[0].String(); !strings.HasPrefix(s, "held for ") || !strings.Contains(s, "debug_test.go") {
		t.Errorf("String() = %q", s)
	}
	p.Put(x)
	if held := p.Held(); len(held) != 0 {
		t.Errorf("Held() = %+v after Put", held)
	}
	for range 2 * maxLost {
		p.Get().n = 1 // and forget it
	}
	x = nil
	eventually(t, "lost objects are reported", func() bool {
		held = p.Held()
		lost := 0
		for _, h := range held {
			if h.Lost {
				lost++
			}
		}
		return lost == maxLost && len(held) < maxLost+10
	})
	if held[0].Age < held[len(held)-1].Age || time.Duration(0) > held[0].Age {
		t.Error("Held is not sorted by age")
	}
	b := NewBytes()
	buf := b.Get(10)
	if held := b.Held(); len(held) != 1 || !strings.Contains(held[0].Where, "TestLeakIsDetected") {
		t.Errorf("Bytes.Held() = %+v", held)
	}
	runtime.KeepAlive(buf)
}

func BenchmarkDebug(b *testing.B) {
	p := New(Config[plain]{})
	for b.Loop() {
		p.Put(p.Get())
	}
}
