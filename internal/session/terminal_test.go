package session

import (
	"os"
	"testing"
)

// TestDumbTerminal: a terminal without escape sequences is sent none.
func TestDumbTerminal(t *testing.T) {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	for name, want := range map[string]bool{"xterm": true, "": true, "dumb": false} {
		t.Setenv("TERM", name)
		if ok := TerminalWidth(f) > 0; ok != want || newLiveLine(f).width > 0 != want {
			t.Errorf("TERM=%q: a terminal: %t, want %t", name, ok, want)
		}
	}
}
