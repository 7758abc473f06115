package whennot

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
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
		if v, err := strconv.Atoi(string(sc.Bytes())); err == nil { // there is none for bytes
			n += v
		}
		fmt.Print(string(sc.Bytes())) // as bytes it prints numbers
		if n > 1000 {
			return n, errors.New("too long: " + string(sc.Bytes()))
		}
	}
	return n, sc.Err()
}

func lookedUp(sc *bufio.Scanner, br *bufio.Reader) (string, error) {
	for sc.Scan() {
		switch string(sc.Bytes()) {
		case "a", "b":
			return "c", nil
		}
	}
	var buf [20]byte
	b := strconv.AppendInt(buf[:0], 3, 10)
	if len(b) > 20 {
		return br.ReadString('.') // once
	}
	local := buf[:3]
	return string(local), nil
}

type entry struct{ name []byte }

func (e *entry) String() string { return string(e.name) }

// What is built in a slice of its own becomes a string once; a new key must be
// copied; what is joined is not copied twice.
func build(names [][]byte, m map[string]int, key []byte) string {
	var buf [64]byte
	b := buf[:0]
	for i, name := range names {
		b = append(b, name...)
		m[string(name)] = i
	}
	if n, ok := m[string(key)]; ok && n > 3 {
		return "more than " + string(key)
	}
	text := string(key)
	kept = append(kept, text)
	return string(b)
}

// What hands back its argument, or a part of it, leaves the copy to be made.
func unquoted(b []byte) string { return unquote(string(b)) }

func unquote(s string) string {
	if len(s) > 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}
