package before

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"sync"
)

// What is cut from the text is only searched, compared and measured.
func cuts(r io.Reader) (n int) {
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		if strings.TrimSpace(string(sc.Bytes())) == "" { // want `what is cut from it is only read`
			continue
		}
		line := sc.Text() // want `the copy in line is only read`
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, field := range strings.Fields(line) {
			if field == "end" || len(field) > 9 {
				n++
			}
		}
	}
	return n
}

func count(out []byte) int {
	text := strings.TrimSpace(string(out)) // want `what is cut from it is only read`
	lines := strings.Split(text, "\n")
	return len(lines) - 1
}

func read(b []byte) io.Reader {
	return strings.NewReader(string(b)) // want `bytes.NewReader reads the slice`
}

func print(w io.Writer, names [][]byte, b []byte) {
	for i, name := range names {
		fmt.Fprintf(w, "%d: %5s %q\n", i, string(name), string(b)) // want `%s takes the slice` `%q takes the slice`
	}
}

// A look-up needs no copy, and may find what is asked for.
func intern(seen map[string]int, names [][]byte) {
	for _, name := range names {
		key := string(name) // want `made for a look-up, too`
		if _, ok := seen[key]; !ok {
			seen[key] = len(seen)
		}
	}
}

type index interface{ find(name string) int }

type names struct{ ids sync.Map }

func (n *names) find(name string) any {
	id, _ := n.ids.Load(name)
	return id
}

// Who gets the text may keep it, or may not.
func handed(i index, n *names, b []byte) (any, int) {
	id := n.find(string(b))      // want `hands them on`
	return id, i.find(string(b)) // want `where that does not keep them`
}
