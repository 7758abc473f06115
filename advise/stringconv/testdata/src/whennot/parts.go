package whennot

import "strings"

// All parts of these are kept: each of them would be a copy of its own.

type section struct{ comment []string }

func (s *section) parse(text []byte) {
	s.comment = strings.Split(string(text), "; ")
}

func (s *section) more(text []byte) {
	s.comment = append(s.comment, strings.Split(string(text), "; ")...)
}

func fields(line []byte) []string {
	return strings.Fields(string(line))
}

func sectionOf(text []byte) *section {
	parts := strings.Split(string(text), ";")
	if len(parts) == 0 {
		return nil
	}
	return &section{comment: parts}
}
