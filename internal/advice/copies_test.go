package advice

import (
	"regexp"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/advise/life"
)

// copying are functions whose expression of the kind that their name ends with makes what is there already: with
// a remedy where the name begins with Yes, with a condition where it begins with If.
const copying = `package m

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

var kept [][]byte

func sum(b []byte) (n int) {
	for _, c := range b {
		n += int(c)
	}
	return n
}

func clear(b []byte) { b[0] = 0 }

func keep(b []byte) { kept = append(kept, b) }

func YesConvert(s string, n int) (all int) {
	for range n {
		all += sum([]byte(s))
	}
	return all
}

func NoWrittenConvert(s string, n int) {
	for range n {
		clear([]byte(s))
	}
}

func IfKeptConvert(s string, n int) {
	for range n {
		keep([]byte(s))
	}
}

func NoOtherConvert(in []string) (all int) {
	for _, s := range in {
		all += sum([]byte(s))
	}
	return all
}

func YesCall(s string, in []string) (n int) {
	for _, t := range in {
		if t == strings.ToLower(s) {
			n++
		}
	}
	return n
}

func NoCountedCall(s string, in []string) (n int) {
	for range in {
		n += len(fmt.Sprint(s, n))
	}
	return n
}

func YesAgainConvert(b []byte) (string, string) {
	if i := strings.Index(string(b), "/"); i > 0 {
		return "", ""
	}
	return string(b), ""
}

func NoAgainWrittenConvert(b []byte) (string, string) {
	if strings.Index(string(b), "/") > 0 {
		b[0] = 'x'
	}
	return string(b), ""
}

func YesUnusedLiteral(n int) *bytes.Reader {
	r := &bytes.Reader{}
	if n > 1 {
		r = bytes.NewReader(nil)
	} else {
		r = bytes.NewReader([]byte{1})
	}
	return r
}

func YesBufferCall(in []string) string {
	var b bytes.Buffer
	for _, s := range in {
		fmt.Fprint(&b, s)
		b.WriteByte(',')
	}
	return b.String()
}

func YesNewBufferCall(in []string) string {
	b := bytes.NewBuffer(nil)
	for _, s := range in {
		b.WriteString(s)
	}
	return b.String()
}

func NoBufferOfCall(in []byte) string {
	b := bytes.NewBuffer(in)
	b.WriteByte(' ')
	return b.String()
}

func NoBufferReadCall(r io.Reader) string {
	var b bytes.Buffer
	b.ReadFrom(r)
	return b.String()
}

func IfGatheredConvert(s string) string {
	var b []byte
	for i := range len(s) {
		if s[i] != ' ' {
			b = append(b, s[i])
		}
	}
	return string(b)
}

func IfElementsAppend(s string) (b []byte) {
	for i := 0; i < len(s) && s[i] != ' '; i++ {
		b = append(b, s[i])
	}
	return b
}

func IfCopyAppend(b []byte) []byte { return append([]byte(nil), b...) }

func NoGrownAppend(b []byte) []byte {
	c := append([]byte(nil), b...)
	return append(c, 1)
}
`

// TestCopiesNeedWhatTheirRemedyRestsOn: what makes a value that is there already has a remedy where the code leaves no
// doubt, and a condition where it does.
func TestCopiesNeedWhatTheirRemedyRestsOn(t *testing.T) {
	kinds := map[string]life.Kind{"Convert": life.Convert, "Call": life.Call, "Literal": life.Literal,
		"Append": life.Append}
	x, p := explainerOf(t, copying)
	judged := map[string]string{}
	for _, s := range p.Sites() {
		name := s.Func.Name()
		for end, kind := range kinds {
			if s.Kind != kind || !strings.HasSuffix(name, end) {
				continue
			}
			k := &subject{x: x, c: &cause{}, p: p, s: s, t: &site{}, e: &Explained{}}
			k.copied()
			got := "No"
			if k.e.Verdict == Remedy {
				got = "Yes"
			} else if k.hint != "" {
				got = "If"
			}
			judged[name] += got + " " + k.e.Remedy + k.hint + "; "
		}
	}
	for name, got := range judged {
		want := map[bool]string{true: "Yes", false: "No"}[strings.HasPrefix(name, "Yes")]
		if strings.HasPrefix(name, "If") {
			want = "If"
		}
		more := want != "Yes" && strings.Contains(got, "Yes") || want == "No" && strings.Contains(got, "If")
		if !strings.Contains(got, want+" ") || more {
			t.Errorf("%s: %s", name, got)
		}
	}
	if n := len(regexp.MustCompile(`\nfunc (Yes|No|If)`).FindAllString(copying, -1)); len(judged) != n {
		t.Errorf("%d functions judged, want %d", len(judged), n)
	}
}

// TestLifetimesWeighAsTheProfileHasThem: what was seen of a benchmark and size counts by the bytes that the profile
// has of them, not by how many were sampled.
func TestLifetimesWeighAsTheProfileHasThem(t *testing.T) {
	at := frame{place: place{"/m/m.go", 7}, function: "example.org/m.F"}
	often, seldom, unseen := bench{"m", "BenchmarkOften"}, bench{"m", "BenchmarkSeldom"}, bench{"m", "BenchmarkUnseen"}
	bytes := func(n int64) *site {
		return &site{Totals: Totals{Bytes: n, Objects: n / 16}, sizes: map[int64]*Totals{16: {Bytes: n, Objects: n / 16}}}
	}
	way := &chain{origin: at, made: true, site: *bytes(1000),
		by: map[bench]*site{often: bytes(700), seldom: bytes(100), unseen: bytes(200)}}
	c := &cause{at: at.place, chains: map[string]*chain{"": way}}
	m := sightings{}
	trail := trailOf("", []frame{at})
	*m.of(kindOf{trail, made{by: often, size: 16}}) = tally{made: 1, by: map[heldBy]int{}}
	has := func(name string) map[heldBy]int { return map[heldBy]int{{rank: byGlobal, name: name}: 9} }
	*m.of(kindOf{trail, made{by: often, size: 4096}}) = tally{made: 9, live: 9, by: has("m.pool")}
	*m.of(kindOf{trail, made{by: seldom, size: 16}}) = tally{made: 9, live: 9, by: has("m.all")}
	l, objects, ok := m.lifetime(c, &way.site)
	want := "dies with the call of m.F (70 % of its bytes); kept by package variable m.all (10 % of its bytes); not " +
		"measured of 20 % of its bytes"
	if !ok || objects != 10 || l.String() != want {
		t.Errorf("%d objects, %v: %s; want %s", objects, ok, l, want)
	}
}
