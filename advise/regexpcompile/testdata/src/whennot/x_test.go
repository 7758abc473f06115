package whennot

import (
	"regexp"
	"testing"
)

func TestX(t *testing.T) {
	if !regexp.MustCompile("a").MatchString("a") {
		t.Fatal("no")
	}
}
