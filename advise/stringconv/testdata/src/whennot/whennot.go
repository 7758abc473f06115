package whennot

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

var kept []string

func keep(s string) { kept = append(kept, s) }

func short(s string) bool { return len(s) < 3 }

func all(r io.Reader) (n int, err error) {
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		keep(string(sc.Bytes()))
		keep(sc.Text())
		if string(sc.Bytes()) == "end" || short(string(sc.Bytes())) {
			break
		}
		for range string(sc.Bytes()) {
			n++
		}
		if strings.TrimSpace(string(sc.Bytes())) == "" { // returns part of it
			continue
		}
		if n > 1000 {
			return n, errors.New("too long: " + string(sc.Bytes()))
		}
	}
	return n, sc.Err()
}
