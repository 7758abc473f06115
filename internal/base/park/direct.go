//go:build gc && go1.26 && !go1.28 && !race && !asan && !msan && !js

package park

import "unsafe" // for go:linkname and the signature of gopark

// The runtime pushes gopark and goready for packages outside it ("hall of shame" in
// runtime/proc.go) and promises to keep their signatures. A *g is a uintptr here, as in the
// runtime's own poller: goroutines are neither moved nor freed. The number of a reason may
// change: the build tags name the versions of Go that were checked, and TestReason checks again.

// Direct reports whether a sleeper parks without the channel, unless it selects.
const Direct = true

// reasonSleep is waitReasonSleep: synctest considers the goroutine durably blocked, and the
// profile of leaked goroutines looks for no channel.
const reasonSleep = 14

// park parks the owner's goroutine, unless its sleep has already ended.
func (s *Sleeper) park() { gopark(commit, unsafe.Pointer(s), reasonSleep, 0, 2) }

// commit reports whether the goroutine g stays parked. The runtime calls it on another stack when g is
// already waiting, so that g may be made ready as soon as it is published. It must not grow the stack.
//
//go:nosplit
func commit(g uintptr, sleeper unsafe.Pointer) bool {
	s := (*Sleeper)(sleeper)
	v := s.word.Load()
	if v&announced == 0 {
		return false
	}
	s.g = g
	return s.word.CompareAndSwap(v, v|parked)
}

// ready makes a parked goroutine runnable, as the next one of this P.
func ready(g uintptr) { goready(g, 2) }

//go:linkname gopark runtime.gopark
func gopark(commit func(g uintptr, lock unsafe.Pointer) bool, lock unsafe.Pointer, reason, traced uint8, skip int)

//go:linkname goready runtime.goready
func goready(g uintptr, skip int)
