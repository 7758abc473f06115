// Package gctest has helpers shared by the tests of the memory kit: values with
// pointers of every kind, and collections that they must survive.
package gctest

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// Rounds is the number of collections that a value should survive.
const Rounds = 100

// A Value holds pointers of every kind to memory that nothing else refers to.
type Value struct {
	N     int
	name  string
	tags  []string
	index map[string]*int
	boxed any
	call  func() int
}

// New returns the value for n.
func New(n int) Value {
	name := fmt.Sprint("value ", n)
	own := new(int)
	*own = n
	return Value{
		N: n, name: name, tags: []string{fmt.Sprint("tag ", n)}, index: map[string]*int{name: own},
		boxed: [2]*int{own, new(int)}, call: func() int { return *own },
	}
}

// Check fails the test unless v equals New(n).
func (v *Value) Check(t *testing.T, n int) {
	t.Helper()
	name := fmt.Sprint("value ", n)
	if v.N != n || v.name != name || len(v.tags) != 1 || v.tags[0] != fmt.Sprint("tag ", n) || len(v.index) != 1 ||
		*v.index[name] != n || *v.boxed.([2]*int)[0] != n || v.call() != n {
		t.Fatalf("value %d is corrupt: %+v", n, *v)
	}
}

// Survive calls body in a child process whose garbage collector checks its own marking
// (GODEBUG=gccheckmark=1). collect runs a collection and then allocates, to reuse the
// memory of everything considered garbage.
func Survive(t *testing.T, body func(collect func())) {
	t.Helper()
	const child = "ISOBAR_GCTEST_CHILD"
	if os.Getenv(child) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), child+"=1", "GODEBUG=gccheckmark=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("with gccheckmark=1: %v\n%s", err, out)
		}
		return
	}
	body(func() {
		runtime.GC()
		garbage := make([]Value, 100)
		for i := range garbage {
			garbage[i] = New(-i)
		}
	})
}
