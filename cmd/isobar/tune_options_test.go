package main

import (
	"fmt"
	"os"
	"testing"
)

func TestAssumed(t *testing.T) {
	_, started := os.LookupEnv("GOGC") // with it: the environment in /proc stays
	for _, c := range []struct {
		gogc, current, like string
		want                bool
	}{
		{"", "", "", true}, {"100", "", "", false}, {"", "100", "", false},
		{"", "", "http://127.0.0.1:9090/metrics", false}, {"", "", fmt.Sprint(os.Getpid()), !started},
	} {
		t.Setenv("GOGC", c.gogc)
		if c.gogc == "" {
			os.Unsetenv("GOGC")
		}
		if got := (&tuneOptions{current: c.current, like: c.like}).assumed(); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
