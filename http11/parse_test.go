package http11

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// An outcome is the parser's reading of a connection's input.
type outcome struct {
	answers []int  // statuses
	closes  bool   // after the last of them
	more    bool   // the last request is incomplete and unanswered
	trace   string // the reading of each request
}

// converse simulates a connection whose input arrives in pieces that end at the
// given offsets and at the end of the input.
func converse(m *memory, input string, lim *limits, cuts ...int) outcome {
	var out outcome
	r := m.acquire()
	var in []byte
	next := 0
	fill := func() bool {
		if next == len(input) {
			return false
		}
		stop := len(input)
		for len(cuts) > 0 && cuts[0] <= next {
			cuts = cuts[1:]
		}
		if len(cuts) > 0 {
			stop = cuts[0]
		}
		in = append(r.room(in, stop-next), input[next:stop]...)
		next = stop
		return true
	}
	refuse := func(err error) outcome {
		var refused *protocolError
		if !errors.As(err, &refused) {
			panic(err)
		}
		out.answers, out.closes = append(out.answers, refused.Status), true
		out.trace += refused.Reason + "\n"
		return out
	}
	defer func() { r.drop() }()
	for !out.closes {
		n, err := parseHead(&r.head, in, lim)
		if err != nil {
			return refuse(err)
		}
		if n == 0 {
			if !fill() {
				out.more = len(in) > 0
				return out
			}
			continue
		}
		out.trace += describe(&r.head, in)
		in = r.trim(in)
		rest := in[n:]
		body, rest, done, err := readBody(r, rest, lim, func() ([]byte, bool) {
			in = nil
			ok := fill()
			in = r.trim(in)
			return in, ok
		})
		if err != nil {
			return refuse(err)
		}
		if !done {
			out.more = true
			return out
		}
		out.trace += fmt.Sprintf("body %q trailers", body)
		for name, value := range (Request{r, r.epoch()}).Trailers() {
			out.trace += fmt.Sprintf(" %q=%q", name.String(), value.String())
		}
		out.trace += "\n"
		out.answers, out.closes = append(out.answers, 200), r.head.close
		r, in = r.detach(rest)
	}
	return out
}

// readBody reads the body that r.head announces from rest and then from fill,
// and returns the bytes after it.
func readBody(r *region, rest []byte, lim *limits, fill func() ([]byte, bool)) (body, after []byte, done bool, err error) {
	if r.head.chunked {
		var c chunkedBody
		c.start(r, lim)
		for {
			dst := make([]byte, len(rest))
			nd, ns, done, err := c.decode(dst, rest)
			body, rest = append(body, dst[:nd]...), rest[ns:]
			if err != nil {
				return nil, nil, false, err
			}
			if done {
				return body, rest, true, nil
			}
			if len(rest) > 0 {
				panic("the decoder stopped with a destination large enough")
			}
			var ok bool
			if rest, ok = fill(); !ok {
				return nil, nil, false, nil
			}
		}
	}
	for int64(len(body)) < r.head.length {
		if len(rest) == 0 {
			var ok bool
			if rest, ok = fill(); !ok {
				return nil, nil, false, nil
			}
		}
		n := min(r.head.length-int64(len(body)), int64(len(rest)))
		body, rest = append(body, rest[:n]...), rest[n:]
	}
	return body, rest, true, nil
}

// describe formats a head.
func describe(h *head, buf []byte) string {
	var b strings.Builder
	part := func(s span) string { return fmt.Sprintf("%q ", s.of(buf)) }
	b.WriteString(part(h.method) + part(h.target) + part(h.path) + part(h.query) + part(h.authority))
	fmt.Fprintln(&b, h.minor, h.length, h.chunked, h.close, h.expect, h.upgrade)
	for _, f := range h.fields {
		fmt.Fprintln(&b, part(f.name), part(f.value), f.id)
	}
	return b.String()
}

func (o outcome) equal(p outcome) bool { return fmt.Sprint(o) == fmt.Sprint(p) }

// everyMode runs test with each kind of request memory.
func everyMode(t *testing.T, test func(t *testing.T, m *memory)) {
	for _, config := range append(modes(), Memory{Mode: Arena, BlockBytes: 512, ChunkBytes: 1024, LimitBytes: 4096}) {
		t.Run(fmt.Sprintf("%v/offheap=%v/block=%d", config.Mode, config.OffHeap, config.BlockBytes), func(t *testing.T) {
			m, err := newMemory(config)
			if err != nil {
				t.Fatal(err)
			}
			test(t, m)
			m.close()
			if s := m.stats(); s.Requests != 0 || s.InUse != 0 || s.InUseBytes != 0 {
				t.Errorf("memory is left in use: %+v", s)
			}
		})
	}
}

func TestConformanceOfTheParser(t *testing.T) {
	alone(t)
	if len(conformance) < 120 {
		t.Errorf("the table has %d cases, want at least 120", len(conformance))
	}
	names := make(map[string]bool)
	for _, c := range conformance {
		if names[c.name] || c.section == "" || c.status == 0 {
			t.Errorf("%s: the name occurs twice, or the section or the status is missing", c.name)
		}
		names[c.name] = true
	}
	everyMode(t, func(t *testing.T, m *memory) {
		for _, c := range conformance {
			for _, lim := range []*limits{&conformanceLimits, &strictLimits} {
				whole := converse(m, c.input, lim)
				want := outcome{closes: c.closes, trace: whole.trace}
				for range c.before {
					want.answers = append(want.answers, 200)
				}
				want.answers = append(want.answers, c.status)
				if c.strict && lim.strictTargets {
					want.answers, want.closes = []int{400}, true
				}
				if !whole.equal(want) {
					t.Errorf("%s, strict %v: %+v\nwant %+v (RFC %s)", c.name, lim.strictTargets, whole, want, c.section)
				}
			}
		}
	})
}

// TestTargetCharacters puts each byte into a path and a query, in both forms.
func TestTargetCharacters(t *testing.T) {
	alone(t)
	m := newTestMemory(t)
	const unreserved = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"
	const pchar = unreserved + "!$&'()*+,;=" + ":@" // RFC 3986, section 3.3, but for percent
	for i := range 256 {
		c := byte(i)
		anyway := c > ' ' && c != 0x7f && c != '#'
		strict := strings.IndexByte(pchar+"/?", c) >= 0
		for _, form := range []string{"/a\x00b", "/\x00", "/?a\x00b", "/?\x00", "/a?b?\x00",
			"http://h/\x00", "http://h?\x00", "http://h/a?\x00&"} {
			target := strings.Replace(form, "\x00", string([]byte{c}), 1)
			for lim, ok := range map[*limits]bool{&conformanceLimits: anyway, &strictLimits: strict} {
				got := converse(m, line("GET "+target+" HTTP/1.1"), lim)
				if accepted := got.answers[0] == 200; accepted != ok {
					t.Errorf("%q, strict %v: %v, want accepted %v", target, lim.strictTargets, got, ok)
				} else if ok && !strings.Contains(got.trace, fmt.Sprintf("%q", target)) {
					t.Errorf("%q, strict %v: the target is not as it was sent: %s", target, lim.strictTargets, got.trace)
				}
			}
		}
	}
}

// TestTargetParts checks where path and query begin and end, and that nothing
// is decoded or normalized.
func TestTargetParts(t *testing.T) {
	m := newTestMemory(t)
	for target, want := range map[string][2]string{
		"/a[1]|^{}`\\\"<>?b=?c??d": {"/a[1]|^{}`\\\"<>", "b=?c??d"},
		"/%":                       {"/%", ""},
		"/%zz/%2f/../%":            {"/%zz/%2f/../%", ""},
		"/?":                       {"/", ""},
		"/??":                      {"/", "?"},
		"/?/?a?":                   {"/", "/?a?"},
		"//é/?é":                   {"//é/", "é"},
		"http://h?%":               {"/", "%"},
		"http://h:80/{?}":          {"/{", "}"},
	} {
		r := m.acquire()
		head := []byte(line("GET " + target + " HTTP/1.1"))
		if n, err := parseHead(&r.head, head, &conformanceLimits); err != nil || n != len(head) {
			t.Fatalf("%q: %d of %d, %v", target, n, len(head), err)
		}
		if got := [2]string{string(r.head.path.of(head)), string(r.head.query.of(head))}; got != want {
			t.Errorf("%q: path and query %q, want %q", target, got, want)
		}
		r.drop()
	}
}

// TestTargetEndKnowsEachByte compares the eight bytes at once with the class of each, at
// every place and beside every other byte.
func TestTargetEndKnowsEachByte(t *testing.T) {
	alone(t)
	buf := make([]byte, 16)
	for at := range buf {
		for c := range 256 {
			for next := range 256 {
				for i := range buf {
					buf[i] = 'a'
				}
				buf[at] = byte(c)
				if at+1 < len(buf) {
					buf[at+1] = byte(next)
				}
				want := slices.IndexFunc(buf, func(b byte) bool { return classOf[b]&isTarget == 0 })
				if want < 0 {
					want = len(buf)
				}
				if got := targetEnd(buf, 0); got != want {
					t.Fatalf("%q: %d, want %d", buf, got, want)
				}
			}
		}
	}
}

// TestHeadsInARow parses each head behind each other one. Many of them have the
// same header section.
func TestHeadsInARow(t *testing.T) {
	alone(t)
	for _, first := range conformance {
		for _, second := range conformance {
			parseInARow(t, first.input, second.input)
			parseInARow(t, first.input, second.input[:len(second.input)/2])
		}
		repeatSection(t, first.input)
	}
	repeatSection(t, "GET /b HTTP/1.0\r\nA: b\r\n\r\n") // without a Host
}

// repeatSection parses the header section of input again behind other request
// lines.
func repeatSection(t *testing.T, input string) {
	if _, section, ok := strings.Cut(input, "\r\n"); ok {
		for _, line := range []string{"GET / HTTP/1.1", "OPTIONS http://b HTTP/1.1", "GET /b HTTP/1.0", "GET / HTTP/1.0"} {
			parseInARow(t, input, line+"\r\n"+section)
		}
	}
}

// parseInARow checks that second is read alike behind first and alone.
func parseInARow(t *testing.T, first, second string) {
	var h, alone head
	n, err := parseHead(&h, []byte(first), &conformanceLimits)
	if n == 0 || err != nil {
		return
	}
	input := []byte(second)
	got, err := parseNext(&h, []byte(first[:n]), input, &conformanceLimits)
	want, wrong := parseHead(&alone, input, &conformanceLimits)
	if got != want || err != wrong || h.seen != alone.seen || describe(&h, input) != describe(&alone, input) {
		t.Errorf("%q behind %q: %d %v, alone %d %v\n%s\n%s", second, first, got, err, want, wrong,
			describe(&h, input), describe(&alone, input))
	}
}

// TestSplitsMakeNoDifference delivers each case split at every offset, and byte
// by byte.
func TestSplitsMakeNoDifference(t *testing.T) {
	alone(t)
	m, err := newMemory(Memory{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range conformance {
		if len(c.input) > 16<<10 {
			continue // its first part is a case of its own
		}
		splitEverywhere(t, m, c, &conformanceLimits)
		if c.strict {
			splitEverywhere(t, m, c, &strictLimits)
		}
	}
	m.close()
}

func splitEverywhere(t *testing.T, m *memory, c conformanceCase, lim *limits) {
	whole := converse(m, c.input, lim)
	all := make([]int, len(c.input))
	for i := range all {
		all[i] = i
		if len(c.input) > 2000 && i > 1100 && i%61 != 0 && i < len(c.input)-100 {
			continue
		}
		if got := converse(m, c.input, lim, i); !got.equal(whole) {
			t.Errorf("%s: split at %d: %+v\nwhole: %+v", c.name, i, got, whole)
		}
	}
	if len(c.input) < 2000 {
		if got := converse(m, c.input, lim, all...); !got.equal(whole) {
			t.Errorf("%s: byte by byte: %+v\nwhole: %+v", c.name, got, whole)
		}
	}
}
