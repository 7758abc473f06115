package session

import (
	"os"
	"slices"
	"testing"
)

// Neither a store nor a page has the password of a URL that the command was given.
func TestArgs(t *testing.T) {
	defer func(all []string) { os.Args = all }(os.Args)
	os.Args = []string{"isobar", "tune", "--url", "http://me:secret@localhost:8080/x", "--like=https://a:b@c/", "--", "a:b@c"}
	want := []string{"tune", "--url", "http://me:xxxxx@localhost:8080/x", "--like=https://a:xxxxx@c/", "--", "a:b@c"}
	if got := Args(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
