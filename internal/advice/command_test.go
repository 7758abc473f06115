package advice

import "testing"

// TestLastLines: what a program says at last is shown, and of a panic what it says first.
func TestLastLines(t *testing.T) {
	for text, want := range map[string]string{
		"a\nb\nc\n": "b\nc",
		"a\npanic: no map\n\ngoroutine 1 [running]:\nmain.f()\n": "panic: no map\n",
	} {
		if got := lastLines(text, 2); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
