package advice

import (
	"bytes"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/advise"
)

// TestFragment checks that a fragment has everything of a page except what the outer page has itself.
func TestFragment(t *testing.T) {
	finding := Finding{File: "hot.go", Line: 4, Check: "sprintf", Severity: "advice", Message: "<b>&",
		Share: &Shares{Bytes: 0.5},
		Spans: []span{{File: "hot.go", From: 4, To: 4}}}
	r := &Result{Packages: 3, Lines: 1000, Verification: &Verification{Fixes: []Verified{{Finding: finding,
		Outcome: Kept, Reason: "less", Diff: "-old\n+new\n",
		Figures: []Figure{{Package: "p", Benchmark: "X", Metric: "allocs/op", Before: 10, After: 5, Ratio: 0.5, Lo: 0.5,
			Hi: 0.5, Floor: 1, Verdict: "better"}}}}}}
	var b bytes.Buffer
	if err := Page(&b, PageMeta{Name: "a & b", Repeat: "isobar advise ./...", Version: "test"}, advise.All(), r,
		[]Finding{finding}); err != nil {
		t.Fatal(err)
	}
	f, err := FragmentOf(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if f.Title != "Isobar advice: a & b" {
		t.Errorf("title %q", f.Title)
	}
	for _, want := range []string{"1 kept, 0 dropped", "isobar advise ./...", `href="#findings"`, "hot.go:4",
		"&lt;b&gt;&amp;", "allocs/op", "-50.0 %", `id="check-sprintf"`, "How to read this"} {
		if !strings.Contains(string(f.Parts), want) {
			t.Errorf("the fragment lacks %q", want)
		}
	}
	for _, not := range []string{"<html", "<head", "<style", "<main", "<h1", "theme-auto", "<footer", "skip"} {
		if strings.Contains(string(f.Parts), not) {
			t.Errorf("the fragment holds %q", not)
		}
	}
	if !strings.Contains(string(Style()), "pre.code") {
		t.Error("the style is not that of pages")
	}
	for _, not := range [][]byte{nil, []byte("<h1>x</h1>"), b.Bytes()[:b.Len()/2]} {
		if f, err := FragmentOf(not); err == nil || !strings.Contains(err.Error(), "--save") {
			t.Errorf("%.20q: %v, %v", not, f, err)
		}
	}
}
