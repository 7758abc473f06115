package whennot

import "strings"

func split(s string) []string {
	var out []string
	for f := range strings.FieldsSeq(s) {
		out = append(out, f)
	}
	return out
}

func stored(lines []string) (all [][]string) {
	for _, l := range lines {
		tokens := split(l)
		all = append(all, tokens)
	}
	return all
}

func sent(lines []string, ch chan []string) {
	for _, l := range lines {
		tokens := split(l)
		ch <- tokens
	}
}

// Once, and not gone over: little to gain.
func parts(line string) int {
	fields := strings.Split(line, ",")
	return len(fields)
}

func label(n int) string { return strings.Repeat("x", n) }

func labelled(ns []int) (out []string) {
	for _, n := range ns {
		name := label(n)
		out = append(out, name)
	}
	return out
}

func init() { words = once("a b") }

var words int

func once(line string) int {
	tokens := split(line)
	return len(tokens)
}

func NewWords(s string) []string {
	out := make([]string, 0, 4)
	return append(out, s)
}

func AppendWords(dst []string, s string) []string {
	dst = append(dst, s)
	return dst
}

type record struct{ fields []string }

func kept(r *record, line string) {
	fields := split(line)
	r.fields = fields
}

func keptDirectly(rs []record, line string) {
	for i := range rs {
		rs[i].fields = split(line)
	}
}

var cache []string

func cached(line string) []string {
	if cache == nil {
		cache = split(line)
	}
	out := cache
	out = append(out, line)
	return out
}

func lookups(lines []string) (n int) {
	for _, l := range lines {
		n += len(cached(l))
	}
	return n
}

func found(lines []string) []string {
	for _, l := range lines {
		tokens := split(l)
		if len(tokens) > 3 {
			return tokens
		}
	}
	return nil
}

func cut(s []string) []string { return s[1:] }

func shared(lists [][]string) (n int) {
	for _, l := range lists {
		rest := cut(l)
		n += len(rest)
	}
	return n
}

type indexes struct{ of []int }

func (x *indexes) into(dst []int, at int) []int { return append(dst, x.of[at:]...) }

// The caller gives the slice.
func (x *indexes) From(dst []int, at int) []int { return x.into(dst[:0], at) }

type ring struct {
	held []string
	all  [][]string
}

// Kept for good: set once, held twice, or given the memory of the one before.
func (r *ring) init(line string) { r.held = split(line) }

func (r *ring) add(line string) {
	tokens := split(line)
	r.held = tokens
	r.all = append(r.all, tokens)
}

func (r *ring) reuse(line string) { r.held = AppendWords(r.held[:0], line) }

// What it holds is handed out as it is, and so are constants.
func (r *ring) Held() []string { return r.held }

func (r *ring) Names() []string { return []string{"a", "b"} }
