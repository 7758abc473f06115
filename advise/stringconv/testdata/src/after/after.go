package after

import (
	"bufio"
	"io"
)

var lines, commas int

func processLine(b []byte) {
	lines++
	for _, c := range b {
		if c == ',' {
			commas++
		}
	}
}

func parseFile(r io.Reader) {
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		processLine(sc.Bytes()) // sc reuses its buffer; processLine must not retain
	}
}

func distinct(r io.Reader) int {
	sc := bufio.NewScanner(r)
	seen := map[string]struct{}{}
	for sc.Scan() {
		if _, ok := seen[string(sc.Bytes())]; ok {
			continue
		} // compiler elides copy
		seen[string(sc.Bytes())] = struct{}{} // this one copies
	}
	return len(seen)
}
