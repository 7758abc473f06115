package before

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
)

var all []string

// Only a part of the text is kept, or only now and then.
func parts(b []byte) (n int, err error) {
	all = append(all, strings.TrimSpace(string(b))) // want `let bytes.TrimSpace cut the slice`
	all = append(all, strings.ToLower(string(b)))   // want `bytes.ToLower reads the slice`
	line := string(b)                               // want `the copy in line is only read`
	if key, value, ok := strings.Cut(line, "="); ok && key == "n" {
		return strconv.Atoi(value)
	}
	text := string(b) // want `convert only what is kept`
	if strings.HasPrefix(text, "#") {
		return 0, nil
	}
	all = append(all, text)
	return 1, nil
}

type cache struct{ results map[string]int }

func (c *cache) match(subject string) int {
	if n, ok := c.results[subject]; ok {
		return n
	}
	c.results[subject] = strings.Count(subject, ".")
	return c.results[subject]
}

func (c *cache) hit(subject string) int { return c.match(subject) }

func (c *cache) publish(subjects [][]byte) (n int) {
	for _, s := range subjects {
		n += c.match(string(s)) // want `reads them and keeps some`
		n += c.hit(string(s))   // want `reads them and keeps some`
		c.results[string(s)]++
		c.results[string(s)] += 2
		delete(c.results, string(s)) // want `copied to be deleted`
	}
	return n
}

type packet struct{ topic []byte }

func (p *packet) Topic() string {
	return string(p.topic)
}

func values(b []byte, f func(string) bool, buf *bytes.Buffer) ([]byte, bool) {
	raw, err := hex.DecodeString(string(b)) // want `Decode and AppendDecode read the slice`
	if err != nil {
		return nil, false
	}
	if strings.Contains(buf.String(), "x") { // want `bytes.Contains reads the slice`
		return raw, false
	}
	return raw, f(string(b)) // want `for a function value`
}

func render(w io.Writer, buf *bytes.Buffer) (n int) {
	for line := range strings.SplitSeq(buf.String(), "\n") { // want `what is cut from it is only read`
		n += len(line)
	}
	fmt.Fprint(w, buf.String()) // want `Write takes the bytes`
	return n
}

func built(names [][]byte) string {
	var b []byte
	for _, name := range names {
		b = append(b, name...)
	}
	return string(b)
}
