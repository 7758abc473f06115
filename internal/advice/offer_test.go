package advice

import (
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/go/ssa"
)

// offering has calls of the standard library in functions whose names say whether something is offered instead.
const offering = `package m

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

var kept string

func YesCompared(s string) bool { return strings.ToLower(s) == "a" }

func NoOrdered(s, t string) bool { return strings.ToLower(s) < t }

func NoStored(s string) { kept = strings.ToLower(s) }

func YesElements(s string) (n int) {
	for _, part := range strings.Split(s, ",") {
		n += len(part)
	}
	return n
}

func NoFolded(s, t string) bool { return strings.ToLower(s) == t }

func NoFoldedConstant(s string) bool { return strings.ToLower(s) == "A" }

func YesBothFolded(s, t string) bool { return strings.ToLower(s) == strings.ToLower(t) }

func YesOwn(s string) string {
	var b bytes.Buffer
	b.WriteString(s)
	return b.String()
}

func NoOwnLends(s string) []byte {
	var b bytes.Buffer
	b.WriteString(s)
	return b.Bytes()
}

func NoOwnGiven(b *bytes.Buffer, s string) { b.WriteString(s) }

func NoScanned(s *bufio.Scanner) (same bool) {
	last := ""
	for s.Scan() {
		text := s.Text()
		same, last = text == last, text
	}
	return same
}

func NoTexts(level fmt.Stringer) error { return fmt.Errorf("%v", level) }

func YesTexts(name string, err error) error { return fmt.Errorf("%s: %w", name, err) }

func NoSideBySide(s, t string) (same int) {
	all, others := strings.Split(s, ","), strings.Split(t, ",")
	for i := range all {
		if all[i] == others[i] {
			same++
		}
	}
	return same
}

func YesFirst(s string) string { return strings.Split(s, ",")[0] }

func NoDeferred(s string) { defer strings.ToLower(s) }

func NoList(s string) []string { return strings.Split(s, ",") }

func YesDies(n int) int { return len(fmt.Sprint(n)) }

func NoReturned(n int) string { return fmt.Sprint(n) }

func IfBranch(n int) int {
	s := fmt.Sprint(n)
	if n > 3 {
		kept = s
	}
	return len(s)
}

func NoBefore(n int) string {
	s := fmt.Sprint(n)
	if n > 3 {
		return s
	}
	return ""
}

func YesReceiver(b *bytes.Buffer) int { return len(b.String()) }

func NoReceiver(b *bytes.Buffer) string { return b.String() }

func NoRead(b *bytes.Buffer) string {
	line, _ := b.ReadString(10)
	return line
}

func YesFailed(r io.Reader) (int, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

func YesConstant() error { return errors.New("no") }

func NoVarying(s string) error { return errors.New(s) }

func YesPairs(s string) string { return strings.NewReplacer("a", "b").Replace(s) }

func NoPairs(r *strings.Replacer, s string) string { return r.Replace(s) }

func NoReplacer(with string) *strings.Replacer { return strings.NewReplacer("a", with) }

func YesLocal(s string) bool {
	p := "a+"
	return regexp.MustCompile(p).MatchString(s)
}

func NoArguments() string { return time.Now().Weekday().String() }

var title = "one"

func NoArgumentsSameSettled() string { return strings.Title(title) }

var heading = "one"

func ArgumentsSet(s string) string {
	heading = s
	return strings.Title(heading)
}

func ArgumentsUnlisted(s string) string { return strings.Title(s) }

func YesCopied(w io.Writer, s io.Reader) { io.Copy(w, s) }

func NoFilled(b *bytes.Buffer, s io.Reader) { io.Copy(b, s) }

func NoBuffer(w io.Writer, s *strings.Reader) { io.Copy(w, s) }

func NoArgumentsSame() string { return strings.Title("one") }

func OnlyReset(r io.Reader) (byte, error) { return bufio.NewReader(r).ReadByte() }

func NoResetBesideError(w io.Writer) {
	z, _ := zlib.NewWriterLevel(w, 1)
	z.Close()
}

func NoResetReturned(w io.Writer) *gzip.Writer { return gzip.NewWriter(w) }

func NoReset(w io.Writer) { _ = json.NewEncoder(w) }

func NoResetThatTells(f func()) { time.AfterFunc(1, f) }
`

// TestOffers: what the standard library offers is said where all its conditions hold of the call, or with the place that
// decides one.
func TestOffers(t *testing.T) {
	x, p := explainerOf(t, offering)
	method := regexp.MustCompile(`^\((\*?)(.*\.)(\w+)\)\.`)
	said := map[string]string{}
	for _, s := range p.Sites() {
		call, ok := s.Instr.(ssa.CallInstruction)
		if !ok || call.Common().StaticCallee() == nil {
			continue
		}
		callee := method.ReplaceAllString(call.Common().StaticCallee().String(), "$2($1$3).")
		in := s.Func.Name()
		if len(instead[plainName(callee)]) == 0 && !strings.Contains(in, "Arguments") && !strings.Contains(in, "Reset") {
			continue
		}
		k := &subject{x: x, c: &cause{callee: callee}, p: p, s: s, t: &site{}, e: &Explained{Size: 128}, life: lifetime{kind: unproved}}
		if in == "NoBefore" { // as the benchmarks take the other path
			k.life.kind = died
		}
		said[in] += k.offered()
	}
	for in, offers := range said {
		want := map[byte]string{'Y': "; ", 'I': "; if nobody keeps it (m.go:",
			'O': "; if nothing that it leads to is used after m.OnlyReset returns: "}[in[0]]
		conditional := strings.HasPrefix(offers, "; if ")
		if !strings.HasPrefix(offers, want) || (offers == "") != (want == "") || conditional != (in[0] == 'I' || in[0] == 'O') {
			t.Errorf("%s: %q, want %q", in, offers, want)
		}
	}
	if len(said) != strings.Count(offering, "\nfunc ") {
		t.Errorf("calls in %d functions: %v", len(said), said)
	}
}

// TestOffersOfMeasured: what was seen decides before the code, and alone tells that memory dies.
func TestOffersOfMeasured(t *testing.T) {
	for _, tt := range []struct {
		life lifetime
		want string
	}{
		{lifetime{kind: died}, "; append puts"}, {lifetime{kind: kept}, ""},
		{lifetime{kind: escaped}, ""},
		{lifetime{kind: died, mixed: true}, ""}, {lifetime{kind: unproved}, ""},
	} {
		k := &subject{c: &cause{callee: "strings.Join"}, t: &site{}, e: &Explained{Size: 128}, life: tt.life}
		if got := k.offered(); !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%v: %q, want %q", tt.life, got, tt.want)
		}
	}
	for leaf, want := range map[string]bool{"": true, "io.copyBuffer": true, "example.org/m.(*file).write": false} {
		k := &subject{c: &cause{callee: "io.Copy", leaf: leaf}, t: &site{}, e: &Explained{Size: 128}, life: lifetime{kind: unproved}}
		if got := k.offered(); strings.Contains(got, "CopyBuffer") != want {
			t.Errorf("io.Copy, where %q allocates: %q", leaf, got)
		}
	}
}
