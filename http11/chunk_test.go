package http11

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// chunkLine matches a chunk-size line: RFC 9112, sections 7.1 and 7.1.1, with
// the rules of RFC 9110, section 5.6, except for white space directly after the
// size. It is for Latin-1, one rune per byte.
var chunkLine = func() *regexp.Regexp {
	const (
		bws    = `[ \t]*`
		token  = "[-!#$%&'*+.^_`|~0-9A-Za-z]+"
		pair   = `\\[\t \x21-\x7e\x{80}-\x{ff}]`
		quoted = `"(?:[\t \x21\x23-\x5b\x5d-\x7e\x{80}-\x{ff}]|` + pair + `)*"`
		more   = bws + ";" + bws + token + "(?:" + bws + "=" + bws + "(?:" + token + "|" + quoted + "))?"
	)
	first := strings.TrimPrefix(more, bws)
	return regexp.MustCompile(`^([0-9A-Fa-f]{1,16})((?:` + first + `(?:` + more + `)*)?)\r\n`)
}()

func latin1(b []byte) string {
	runes := make([]rune, len(b))
	for i, c := range b {
		runes[i] = rune(c)
	}
	return string(runes)
}

// A chunkedReading is the grammar's reading of a chunked body before its
// trailer section.
type chunkedReading struct {
	whole      bool // the last chunk is there
	data       int
	extensions int // bytes
}

func referenceChunks(body []byte) (r chunkedReading) {
	for {
		line := chunkLine.FindStringSubmatch(latin1(body))
		if line == nil {
			return r
		}
		size, err := strconv.ParseUint(line[1], 16, 64)
		if err != nil {
			return r
		}
		if n := len([]rune(line[2])); n > 0 {
			r.extensions += n - 1 // the first ";" does not count
		}
		body = body[len([]rune(line[0])):]
		switch {
		case size == 0:
			r.whole = true
			return r
		case size+2 > uint64(len(body)) || size+2 < size || string(body[size:size+2]) != "\r\n":
			return r
		}
		r.data += int(size)
		body = body[size+2:]
	}
}

// againstReference compares the decoder with the grammar.
func againstReference(t *testing.T, m *memory, body []byte) {
	t.Helper()
	u, ok, err := ours(m, append([]byte(te), body...), &conformanceLimits)
	want := referenceChunks(body)
	switch fits := want.extensions <= maxExtensionBytes && int64(want.data) <= conformanceLimits.bodyBytes; {
	case ok && (!want.whole || !fits || want.data != len(u.body)):
		t.Errorf("%q: understood with a body of %d bytes, the grammar has %+v", body, len(u.body), want)
	case want.whole && fits && slices.Contains([]error{errChunkSize, errChunkExtension, errChunkEnd, errBodyLong}, err):
		t.Errorf("%q: %v, the grammar has %+v", body, err, want)
	}
}

// everySplit checks that decoding does not depend on how a body is split.
func everySplit(t *testing.T, m *memory, body []byte) {
	t.Helper()
	input := te + string(body)
	whole := converse(m, input, &conformanceLimits)
	bytewise := make([]int, len(body))
	for i := range body {
		bytewise[i] = len(te) + i
		if got := converse(m, input, &conformanceLimits, len(te)+i); !got.equal(whole) {
			t.Errorf("%q split at %d: %+v\nwhole: %+v", body, i, got, whole)
		}
	}
	if got := converse(m, input, &conformanceLimits, bytewise...); !got.equal(whole) {
		t.Errorf("%q byte by byte: %+v\nwhole: %+v", body, got, whole)
	}
}

// TestExtensionsByTheGrammar tries all extensions of up to six parts, and each
// byte in each position.
func TestExtensionsByTheGrammar(t *testing.T) {
	alone(t)
	m := newTestMemory(t)
	accepted, refused := 0, 0
	try := func(line string) {
		body := []byte(line + "\r\nabc\r\n" + empty)
		againstReference(t, m, body)
		if referenceChunks(body).whole {
			accepted++
		} else {
			refused++
		}
	}
	var extend func(line string, depth int)
	extend = func(line string, depth int) {
		try(line)
		if depth == 0 {
			return
		}
		for _, part := range []string{";", "=", "a", " ", `"`, `\`, "("} {
			extend(line+part, depth-1)
		}
	}
	depth := 6
	if testing.Short() || raceOrDebug {
		depth = 4
	}
	extend("3", depth)
	for c := range 256 {
		for _, line := range []string{"3\x00", "3;\x00", "3;a\x00", "3;a \x00", "3;a=\x00", "3;a=b\x00", "3;a=b \x00",
			"3;a=\"\x00\"", "3;a=\"\\\x00\"", "3;a=\"\"\x00", "3;\x00a=b", "3;a=b;\x00"} {
			try(strings.Replace(line, "\x00", string([]byte{byte(c)}), 1))
		}
	}
	t.Logf("%d lines accepted, %d refused", accepted, refused)
	if accepted < 100 || refused < 100 {
		t.Errorf("%d lines accepted and %d refused, want some of both", accepted, refused)
	}
}

// The limit applies to the extension bytes of all chunks together.
func TestExtensionBound(t *testing.T) {
	m := newTestMemory(t)
	for _, c := range []struct {
		line  string
		chunk int // how often
		err   error
	}{
		{"1;" + strings.Repeat("a", maxExtensionBytes), 1, nil},
		{"1;" + strings.Repeat("a", maxExtensionBytes+1), 1, errChunkExtension},
		{"1;" + strings.Repeat("a", maxExtensionBytes/4), 4, nil},
		{"1;" + strings.Repeat("a", maxExtensionBytes/4) + ";b", 4, errChunkExtension},
		{"1;a=\"" + strings.Repeat(" ", maxExtensionBytes) + "\"", 1, errChunkExtension},
		{"1;" + strings.Repeat(" ", maxExtensionBytes) + "a", 1, errChunkExtension},
	} {
		body := strings.Repeat(c.line+"\r\na\r\n", c.chunk) + empty
		u, ok, err := ours(m, []byte(te+body), &conformanceLimits)
		if err != c.err && (c.err != nil || err != nil) || ok && len(u.body) != c.chunk {
			t.Errorf("%d of %.20q: body %q, %v, want %v", c.chunk, c.line, u.body, err, c.err)
		}
		againstReference(t, m, []byte(body))
	}
}

// FuzzChunked is FuzzDifferential for chunked bodies and their trailers. It
// also compares with the grammar and checks that splits make no difference.
func FuzzChunked(f *testing.F) {
	for _, c := range conformance {
		if body, ok := strings.CutPrefix(c.input, te); ok && len(body) < 8<<10 {
			f.Add([]byte(body))
		}
	}
	m := newTestMemory(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		if err := differ(m, append([]byte(te), body...), &conformanceLimits); err != nil {
			t.Error(err)
		}
		againstReference(t, m, body)
		if len(body) <= 256 {
			everySplit(t, m, body)
		}
	})
}
