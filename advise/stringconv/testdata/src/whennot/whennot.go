package whennot

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
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
		if kept = append(kept, strings.TrimSpace(string(sc.Bytes()))); len(kept) > 9 { // a part of it stays
			continue
		}
		line := sc.Text()
		if key, value, ok := strings.Cut(line, "="); ok && key == "n" {
			n, _ = strconv.Atoi(value) // there is none for bytes
		}
		switch word := string(sc.Bytes()); word {
		case "a", "b":
			n++
		}
		fmt.Print(string(sc.Bytes())) // as bytes it prints numbers
		fmt.Printf("%v", string(sc.Bytes()))
		if n > 1000 {
			return n, errors.New("too long: " + string(sc.Bytes()))
		}
	}
	return n, sc.Err()
}
