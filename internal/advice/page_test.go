package advice

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/advise"
)

// TestPage builds a page of everything that a page can hold, hostile text included. The
// browser tests look at it: ISOBAR_ADVICE_PAGE names the file to leave it in.
func TestPage(t *testing.T) {
	const hostile = `</code><script>document.title="owned"</script>` + "\u202e\x1b[31m"
	dir := tree(t, map[string]string{"hot.go": "package p\n\nfunc f() {\n\tx := \"" + hostile + "\"\n\t_ = x\n}\n", "long.go": strings.Repeat("// "+strings.Repeat("long ", 60)+"\n", 40)})
	at := func(file string, line int, check string, s *Shares) Finding {
		return Finding{File: file, Line: line, EndLine: line + 1, Column: 1, Check: check, Severity: "advice", Message: "message of " + check + hostile, Function: "T.f", Fix: true, Share: s,
			Spans: []span{{File: filepath.Join(dir, filepath.Base(file)), From: line, To: line + 1, Column: 1}}}
	}
	dropped := at("hot.go", 4, "sprintf", &Shares{Bytes: 0.5, Objects: 0.4})
	small := at("long.go", 20, "prealloc", &Shares{Bytes: 0.01, Objects: 0.1})
	large := at("hot.go", 5, "regexpcompile", &Shares{Bytes: 0.2, Objects: 0.3, CPU: 0.1})
	open := at("gone.go", 1, "boxing", nil)
	figures := func(ratio float64) []Figure {
		return []Figure{
			{Package: "example.org/p", Benchmark: "X/" + hostile, Metric: "allocs/op", Before: 10, After: 10 * ratio, Ratio: factor(ratio), Lo: factor(ratio), Hi: factor(ratio), Floor: 1, Verdict: "better"},
			{Package: "example.org/p", Benchmark: "Y", Metric: "B/op", Before: 0, After: 16, Ratio: factor(math.Inf(1)), Lo: factor(math.Inf(1)), Hi: factor(math.Inf(1)), Floor: 1, Verdict: "worse"},
			{Metric: "time/op", Before: 1e-6, After: 9e-7, Ratio: 0.9, Lo: 0.85, Hi: 1.01, Floor: 1.02, Verdict: "no difference shown"},
		}
	}
	r := &Result{
		Packages: 3, Lines: 1000,
		Evidence: &Evidence{Total: Totals{Bytes: 1 << 20, Objects: 1000, CPU: 2e9}, Account: &Account{
			Explained: Shares{Bytes: 0.99, Objects: 1},
			Sites: []Explained{
				{File: "hot.go", Line: 5, Function: "T.f", Share: Shares{Bytes: 0.6, Objects: 0.2}, Kind: "make", What: "make([]T, n)",
					Lifetime: "kept", Verdict: Look, Remedy: "kept by T.all"},
				{File: "hot.go", Line: 4, Function: "T.f", Share: Shares{Bytes: 0.3, Objects: 0.3}, Kind: "concatenation",
					What: hostile, Objects: 12, Size: 16, Flow: "flow" + hostile, Lifetime: "dies in the call",
					Verdict: Remedy, Check: "sprintf", Remedy: "append it", Decides: "hot.go:9",
					Tried: figures(0.5), Fix: true},
			},
		}},
		Verification: &Verification{Fixes: []Verified{
			{Finding: dropped, Outcome: Dropped, Reason: "with it tests fail: " + hostile, Diff: "-old\n+new\n same\n"},
			{Finding: small, Outcome: Kept, Reason: "less", Figures: figures(0.5), Diff: "-\told " + hostile + "\n+\tnew\n"},
			{Finding: large, Outcome: Kept, Reason: "less", Figures: figures(0)},
		}},
	}
	var b bytes.Buffer
	if err := Page(&b, PageMeta{Name: "p" + hostile, Repeat: "isobar advise --html page.html ./...", Version: "test", Dir: dir}, advise.All(), r, []Finding{dropped, open, small, large}); err != nil {
		t.Fatal(err)
	}
	html := b.String()
	for _, want := range []string{"regexpcompile</a> <code class=\"where\">hot.go:5</code>", "2 kept, 1 dropped, 0 unproven", "-100.0 %", "50.0 % of bytes", "id=\"check-boxing\"", "   4      x := ", `class="outcome kept"`,
		"99.0 % of the bytes", `href="#site-2"`, `<svg class="flame"`, "10 -&gt; 5 allocs/op in BenchmarkX", "hot.go:9",
		"12 objects in the profile, 16 bytes on average", "kept by T.all"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, not := range []string{"<script", "\u202e", "\x1b", "https://", "http://", "id=\"check-deferloop\""} {
		if strings.Contains(html, not) {
			t.Errorf("the page holds %q", not)
		}
	}
	order := []string{"hot.go:5</code>", "long.go:20</code>", "hot.go:4</code>", "gone.go:1</code>"}
	_, findings, _ := strings.Cut(html, `<h2 id="findings">`)
	for i := range order[1:] {
		if strings.Index(findings, order[i]) > strings.Index(findings, order[i+1]) {
			t.Errorf("%s stands after %s: kept ones come first, by what they save", order[i], order[i+1])
		}
	}
	if name := os.Getenv("ISOBAR_ADVICE_PAGE"); name != "" {
		if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPageOfNothing(t *testing.T) {
	var b bytes.Buffer
	if err := Page(&b, PageMeta{Name: "p"}, advise.All(), &Result{}, nil); err != nil || !strings.Contains(b.String(), "<p>None.</p>") {
		t.Errorf("%v: %s", err, b.String())
	}
	b.Reset()
	r := &Result{Next: []Step{{"profile the benchmarks", "isobar advise --bench . ./..."}}}
	if err := Page(&b, PageMeta{Name: "p"}, advise.All(), r, nil); err != nil ||
		!strings.Contains(b.String(), "profile the benchmarks: <code>isobar advise --bench . ./...</code>") {
		t.Errorf("the next step is missing: %v: %s", err, b.String())
	}
}

// TestDocParts: lines that an author broke are one paragraph, labels begin one, code stays as it is.
func TestDocParts(t *testing.T) {
	got := docParts("short\n\nOne\nsentence.\nWhen: now.\nSilent: never.\n\nBefore:\n\n    a\n\n    \tb\n\nAfter:\n")
	want := []docPart{{"short", false}, {"One sentence.", false}, {"When: now.", false}, {"Silent: never.", false},
		{"Before:", false}, {"a\n\n\tb", true}, {"After:", false}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
