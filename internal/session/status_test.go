package session

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

// Without a terminal, a line with the current text appears every ten seconds. A short
// command writes nothing.
func TestStatusInFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := NewStatus(&out)
		s.Say("one")
		time.Sleep(9 * time.Second)
		s.Say("two")
		time.Sleep(12 * time.Second)
		s.Say("three")
		time.Sleep(5 * time.Second)
		s.End()
		if got, want := out.String(), "10s: two\n20s: two\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		out.Reset()
		s = NewStatus(&out)
		s.Say("quick")
		s.End()
		if out.Len() != 0 {
			t.Errorf("a short command wrote %q", out.String())
		}
	})
}
