package advice

import (
	"os"
	"slices"
	"strings"
)

// texts reads files once, and splits them into lines once. A file that cannot be read has no text.
type texts map[string]*source

type source struct {
	text  []byte
	err   error
	lines []string // with line endings; nil until requested
}

func (t texts) read(name string) []byte { return t.of(name).text }

func (t texts) of(name string) *source {
	s := t[name]
	if s == nil {
		s = &source{}
		s.text, s.err = os.ReadFile(name)
		t[name] = s
	}
	return s
}

func (t texts) lines(name string) []string {
	s := t.of(name)
	if s.lines == nil {
		s.lines = slices.Collect(strings.Lines(string(s.text)))
	}
	return s.lines
}

// line returns line n of a file, trimmed, or "".
func (t texts) line(name string, n int) string {
	if lines := t.lines(name); n >= 1 && n <= len(lines) {
		return strings.TrimSpace(lines[n-1])
	}
	return ""
}

// flagged returns the code of a finding, with normalized white space.
func (t texts) flagged(f *Finding) string {
	at := f.Spans[0]
	src := t.read(at.File)
	if at.Start > at.End || at.End > len(src) {
		return ""
	}
	return strings.Join(strings.Fields(string(src[at.Start:at.End])), " ")
}
