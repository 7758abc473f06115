package before

import (
	"bytes"
	"encoding/hex"
	"regexp"
	"strings"
	"time"
)

// The slice is made further down, by an append function or by the library.
func encode(dst []byte, x int) []byte { return append(dst, byte(x)) }

func frame(x int) []byte {
	var b []byte
	b = encode(b, x)
	return b
}

func wrapped(x int) []byte { return frame(x) }

func fields(line string) []string { return strings.Split(line, ",") }

func deep(xs []int, lines []string) (n int) {
	for _, x := range xs {
		b := wrapped(x)
		n += len(b)
	}
	for _, line := range lines {
		parts := fields(line)
		n += len(parts)
		for _, word := range strings.Fields(line) {
			n += len(word)
		}
		raw, err := hex.DecodeString(line)
		if err == nil {
			n += len(raw)
		}
	}
	return n
}

func captures(re *regexp.Regexp, lines []string) (n int) {
	for _, line := range lines {
		if m := re.FindStringSubmatch(line); len(m) > 1 {
			n++
		}
	}
	return n
}

// Keys that are looked up could stand in a buffer.
func key(user, name string) string { return user + "/" + name }

func known(seen map[string]bool, users []string) (n int) {
	for _, u := range users {
		k := key(u, "x")
		if seen[k] {
			n++
		}
	}
	return n
}

func reassigned(lines []string) (n int) {
	var stamp []byte
	for range lines {
		stamp = time.Now().AppendFormat(nil, time.RFC3339) // want `AppendFormat of nil`
		n += len(stamp)
	}
	return n
}

func host(hostPort string) string {
	return strings.Split(hostPort, ":")[0]
}

func joined(lines [][]byte) []byte {
	if len(lines) == 1 {
		return lines[0]
	}
	return bytes.Join(lines, nil)
}

func Empty(lines [][]byte) bool {
	return len(joined(lines)) == 0
}
