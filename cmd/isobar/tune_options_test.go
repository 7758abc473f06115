package main

import (
	"os"
	"slices"
	"testing"
)

// TestUnset: what is unset today stays unset in the baseline.
func TestUnset(t *testing.T) {
	none := []string{"GOGC", "GOMEMLIMIT"}
	t.Setenv("GOGC", "") // restored at the end
	t.Setenv("GOMEMLIMIT", "")
	for _, c := range []struct {
		gogc, limit, current, like string
		want                       []string
	}{
		{"", "", "", "", none}, {"100", "", "", "", none[1:]}, {"", "off", "", "", none[:1]},
		{"", "", "100", "", nil}, {"", "", "", "http://127.0.0.1:9090/metrics", nil},
	} {
		os.Setenv("GOGC", c.gogc)
		os.Setenv("GOMEMLIMIT", c.limit)
		if got := (&tuneOptions{current: c.current, like: c.like}).unset(); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
