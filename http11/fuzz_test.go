package http11

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// stricter lists what net/http's ReadRequest accepts and we refuse: for each
// the reason, whose RFC section is in the error, and an example input.
var stricter = []struct {
	err   *protocolError
	input string
}{
	{errMethodLong, line(strings.Repeat("M", 33) + " / HTTP/1.1")},
	{errTarget, line("GET /a#b HTTP/1.1")},
	{errTargetForm, line("GET * HTTP/1.1")},
	{errTargetHost, line("GET http:///a HTTP/1.1")},
	{errTargetLong, line("GET /" + strings.Repeat("a", 1024) + " HTTP/1.1")},
	{errVersionMajor, line("GET / HTTP/2.0")},
	{errLineEnd, "GET / HTTP/1.1\nHost: a\n\n"},
	{errFieldFold, get + "A: b\r\n c\r\n\r\n"},
	{errFieldName, get + "A : b\r\n\r\n"},
	{errHeadLong, get + "A: " + strings.Repeat("b", 5<<10) + "\r\n\r\n"},
	{errFieldsMany, get + strings.Repeat("A: b\r\n", 32) + end},
	{errHostMissing, "GET / HTTP/1.1\r\n\r\n"},
	{errHost, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"},
	{errLengthTwice, post + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"},
	{errLengthAndTE, post + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + empty},
	{errBodyLong, post + "Content-Length: 65537\r\n\r\n" + strings.Repeat("a", 65537)},
	{errCoding, post + "Transfer-Encoding:\r\n chunked\r\n\r\n" + empty},
	{errCodingVersion, "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + empty},
	{errConnection, get + "Connection: \"close\"\r\n\r\n"},
	{errExpect, get + "Expect: 200-ok\r\n\r\n"},
	{errChunkSize, te + "3 \r\nabc\r\n" + empty},
	{errChunkExtension, te + "3;\r\nabc\r\n" + empty},
	{errTrailerFraming, te + "0\r\nContent-Length: 3\r\n\r\n"},
	{errTrailerList, post + "Trailer: A b\r\nTransfer-Encoding: chunked\r\n\r\n" + empty},
	{errTrailerLong, te + "0\r\nA: " + strings.Repeat("b", 5<<10) + "\r\n\r\n"},
}

var stricterErrors = func() map[*protocolError]bool {
	errs := map[*protocolError]bool{}
	for _, s := range stricter {
		errs[s.err] = true
	}
	return errs
}()

// understood is one parser's reading of the first request of an input.
type understood struct {
	method, target, host string
	minor                int
	close                bool
	length               int64
	fields, trailers     []string
	body                 string
	rest                 int // how many bytes follow
}

// ours parses the first request of input. ok is false if it is incomplete.
func ours(m *memory, input []byte, lim *limits) (u understood, ok bool, err error) {
	r := m.acquire()
	defer r.drop()
	in := append(r.room(nil, len(input)), input...)
	in = r.trim(in)
	n, err := parseHead(&r.head, in, lim)
	if n == 0 || err != nil {
		return u, false, err
	}
	r.base[baseHead] = in[:n]
	q := Request{r, r.open()}
	u = understood{method: q.Method().String(), target: q.Target().String(), host: q.Host().String(),
		minor: q.ProtoMinor(), close: r.head.close, length: q.ContentLength()}
	for name, value := range q.Headers() {
		u.fields = showField(u.fields, name.String(), value.String())
	}
	body, rest, done, err := readBody(r, in[n:], lim, func() ([]byte, bool) { return nil, false })
	if !done || err != nil {
		return u, false, err
	}
	u.body, u.rest = string(body), len(rest)
	for name, value := range q.Trailers() {
		u.trailers = showField(u.trailers, name.String(), value.String())
	}
	slices.Sort(u.fields)
	slices.Sort(u.trailers)
	return u, true, nil
}

// showField appends a field as net/http would show it. It omits the framing and
// Host, which net/http turns into Request.Host.
func showField(fields []string, name, value string) []string {
	switch name = http.CanonicalHeaderKey(name); name {
	case "Host", "Transfer-Encoding", "Trailer", "Content-Length":
		return fields
	}
	return append(fields, fmt.Sprintf("%s: %q", name, value))
}

// theirs parses the first request of input with net/http.
func theirs(input []byte) (u understood, err error) {
	// RFC 9112, section 2.2: a server should ignore an empty line before the
	// request line. In net/http, its server does, two after POST.
	for range 2 {
		input = bytes.TrimPrefix(input, []byte("\r\n"))
	}
	src := bytes.NewReader(input)
	br := bufio.NewReaderSize(src, 1<<20)
	r, err := http.ReadRequest(br)
	if err != nil {
		return u, err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return u, err
	}
	u = understood{method: r.Method, target: r.RequestURI, host: r.Host, minor: r.ProtoMinor,
		close: r.Close, length: r.ContentLength, body: string(body), rest: src.Len() + br.Buffered()}
	if r.ProtoMinor == 0 && !r.Close {
		u.close = true // what net/http leaves to its server
	}
	for name, values := range r.Header {
		for _, value := range values {
			u.fields = showField(u.fields, name, value)
		}
	}
	for name, values := range r.Trailer {
		for _, value := range values {
			u.trailers = showField(u.trailers, name, value)
		}
	}
	slices.Sort(u.fields)
	slices.Sort(u.trailers)
	return u, nil
}

// looser identifies what net/http's ReadRequest refuses and we understand, all
// in the target: invalid escapes in a path, unless targets are strict, and
// escapes in the host of an absolute form, which RFC 3986, section 3.2.2,
// allows.
func looser(u understood, lim *limits, theirErr error) bool {
	var escape url.EscapeError
	if !errors.As(theirErr, &escape) {
		return false
	}
	path, _, _ := strings.Cut(u.target, "?")
	if strings.HasPrefix(path, "/") {
		return !lim.strictTargets && strings.Contains(path, string(escape))
	}
	return strings.Contains(u.host, "%") || !lim.strictTargets && strings.Contains(path, string(escape))
}

// differ compares both readings of input. A difference is an error unless we
// refuse the input for a reason in the table of stricter rules, or accept it
// for one that looser names.
func differ(m *memory, input []byte, lim *limits) error {
	our, ok, err := ours(m, input, lim)
	their, theirErr := theirs(input)
	var refused *protocolError
	switch {
	case errors.As(err, &refused):
		_, known := stricterErrors[refused]
		if theirErr == nil && !known && !(lim.strictTargets && refused == errTargetStrict) {
			return fmt.Errorf("refused, but not in the table of stricter rules: %v; net/http: %+v", err, their)
		}
		return nil
	case !ok:
		if theirErr == nil {
			return fmt.Errorf("incomplete, but net/http understood %+v", their)
		}
		return nil
	case theirErr != nil && looser(our, lim, theirErr):
		return nil
	case theirErr != nil:
		return fmt.Errorf("net/http refuses: %v; we understood %+v", theirErr, our)
	}
	if our.minor == 0 {
		our.close, their.close = false, false
	}
	if our.minor > 1 || their.minor > 1 {
		our.minor, their.minor = 1, 1
	}
	if a, b := fmt.Sprintf("%+v", our), fmt.Sprintf("%+v", their); a != b {
		return fmt.Errorf("we understood\n%s, net/http\n%s", a, b)
	}
	return nil
}

func TestStricterThanNetHTTP(t *testing.T) {
	alone(t)
	m := newTestMemory(t)
	for _, s := range stricter {
		if _, _, err := ours(m, []byte(s.input), &conformanceLimits); err != error(s.err) {
			t.Errorf("%.60q: %v, want %v", s.input, err, s.err)
		}
		if _, err := theirs([]byte(s.input)); err != nil {
			t.Errorf("%.60q: net/http refuses it too: %v; take it out of the table", s.input, err)
		}
	}
	for _, c := range conformance {
		for _, lim := range []*limits{&conformanceLimits, &strictLimits} {
			if err := differ(m, []byte(c.input), lim); err != nil {
				t.Errorf("%s, strict %v: %v", c.name, lim.strictTargets, err)
			}
		}
	}
}

func newTestMemory(t testing.TB) *memory {
	t.Helper()
	m, err := newMemory(Memory{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.close)
	return m
}

func addConformance(f *testing.F) {
	for _, c := range conformance {
		if len(c.input) < 8<<10 {
			f.Add([]byte(c.input), uint16(len(c.input)/2), uint16(1))
		}
	}
}

// FuzzParse checks that the parser does not panic and does not depend on how
// the input is split or on the surrounding memory.
func FuzzParse(f *testing.F) {
	addConformance(f)
	m := newTestMemory(f)
	f.Fuzz(func(t *testing.T, input []byte, cut, step uint16) {
		if len(input) > 16<<10 {
			return
		}
		middle := int(cut) % (len(input) + 1)
		cuts := []int{middle}
		if n := int(step); n > 0 && len(input)/n < 500 {
			cuts = cuts[:0]
			for i := n; i < len(input); i += n {
				cuts = append(cuts, i)
			}
		}
		whole := converse(m, string(input), &conformanceLimits)
		if split := converse(m, string(input), &conformanceLimits, cuts...); !split.equal(whole) {
			t.Errorf("split at %v: %+v\nwhole: %+v", cuts, split, whole)
		}
		strict := converse(m, string(input), &strictLimits)
		if split := converse(m, string(input), &strictLimits, cuts...); !split.equal(strict) {
			t.Errorf("strict, split at %v: %+v\nwhole: %+v", cuts, split, strict)
		}
		// Strictness refuses requests and changes nothing else.
		before, refused := strings.CutSuffix(strict.trace, errTargetStrict.Reason+"\n")
		if !strict.equal(whole) && !(refused && strict.closes && strings.HasPrefix(whole.trace, before)) {
			t.Errorf("strict: %+v\nnot strict: %+v", strict, whole)
		}
		for _, around := range []string{"\x00\x00\x00\x00\x00\x00\x00\x00", "\r\n\r\n\r\n\r\n", "a: b\r\n\r\n", "AAAAAAAA"} {
			buf := append(append([]byte(around), input...), around...)
			part := buf[len(around) : len(around)+len(input) : len(around)+len(input)]
			var h, g head
			n, err := parseHead(&h, part, &conformanceLimits)
			k, wrong := parseHead(&g, slices.Clone(input), &conformanceLimits)
			if n != k || err != wrong || n > 0 && describe(&h, part) != describe(&g, input) {
				t.Errorf("between %q: %d %v, alone %d %v", around, n, err, k, wrong)
			}
		}
		parseInARow(t, string(input[:middle]), string(input[middle:]))
		repeatSection(t, string(input))
	})
}

// FuzzDifferential checks that each disagreement with net/http is a refusal in
// the table.
func FuzzDifferential(f *testing.F) {
	addConformance(f)
	m := newTestMemory(f)
	f.Fuzz(func(t *testing.T, input []byte, _, _ uint16) {
		for _, lim := range []*limits{&conformanceLimits, &strictLimits} {
			if err := differ(m, input, lim); err != nil {
				t.Errorf("strict %v: %v", lim.strictTargets, err)
			}
		}
	})
}
