package http11

import (
	"sync/atomic"
	"testing"
)

// An alarm goes off even if its time is up before its goroutine has begun.
func TestAlarm(t *testing.T) {
	const alarms = 500
	var rung atomic.Int32
	for range alarms {
		a, err := newAlarm(func(*alarm) { rung.Add(1) })
		if err != nil {
			t.Fatal(err)
		}
		defer a.close()
		a.set(1)
	}
	waitFor(t, "each alarm to go off once", func() bool { return rung.Load() == alarms })
}
