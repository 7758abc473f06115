package show_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/page"
	"github.com/isobar-go/isobar/internal/show/text"
)

// forms are all ways to write an analysis.
var forms = map[string]func(io.Writer, cell.Run, *stat.Analysis) error{
	"text.golden": func(w io.Writer, m cell.Run, a *stat.Analysis) error {
		return text.Report(w, m, a, text.Style{Width: 100})
	},
	"colour.golden": func(w io.Writer, m cell.Run, a *stat.Analysis) error {
		return text.Report(w, m, a, text.Style{Width: 60, Color: true})
	},
	"summary.golden": func(w io.Writer, m cell.Run, a *stat.Analysis) error {
		return text.Summary(w, m, a, text.Style{Width: 80})
	},
	"json.golden": text.JSON,
	"html.golden": func(w io.Writer, m cell.Run, a *stat.Analysis) error { return page.Write(w, page.Run{Meta: m}, a) },
	"compare.golden": func(w io.Writer, _ cell.Run, a *stat.Analysis) error {
		return text.Comparisons(w, "run 4 against run 3", a.Comparisons, text.Style{Width: 100})
	},
	"compare.json.golden": func(w io.Writer, _ cell.Run, a *stat.Analysis) error { return text.ComparisonsJSON(w, a.Comparisons) },
}

func TestGolden(t *testing.T) {
	for name, write := range forms {
		if name == "html.golden" {
			continue // checked in a browser
		}
		t.Run(name, func(t *testing.T) {
			var buf bytes.Buffer
			if err := write(&buf, fixtureMeta(), fixture()); err != nil {
				t.Fatal(err)
			}
			golden(t, name, buf.Bytes())
		})
	}
}

// TestOdd writes analyses of troubled runs.
func TestOdd(t *testing.T) {
	const nan, inf = "nan", "inf"
	values := map[string]float64{nan: math.NaN(), inf: math.Inf(1), "-inf": math.Inf(-1), "zero": 0, "tiny": 5e-324, "huge": 1.7e308, "negative": -1}
	odd := map[string]*stat.Analysis{
		"empty":        {},
		"nothing left": {Missing: 4, Warnings: []stat.CountedWarning{{}}, Findings: []string{""}, Comparisons: []stat.Comparison{{}}, Floors: []stat.Comparison{{}}},
		"bare group":   {Groups: []*stat.Group{{}}},
		"all failed":   {Groups: []*stat.Group{{Key: "k", Failures: []*cell.Record{{}, {Err: &cell.Failure{Kind: cell.FailCrash, Message: "x"}}}}}},
	}
	for name, v := range values {
		a := fixture()
		for _, g := range a.Groups {
			for metric := range g.Series {
				g.Series[metric] = seriesOf(metric, v)
			}
			g.Series[cell.OpTime] = seriesOf(cell.OpTime, v, v, 1, v, v, v, v)
			g.Buckets[cell.HistPause] = cell.Buckets{Lower: []float64{v, v, 0}, Upper: []float64{v, 1, v}, Count: []uint64{1, 1 << 63}}
			g.Records[0].Timeline = cell.Timeline{AtNs: []int64{-5, 9e18}, HeapBytes: []int64{-1, 9e18}, GoalBytes: []int64{1}}
			g.Records[0].Noise = cell.Noise{Steal: v, CPUPressure: v}
		}
		for i := range a.Comparisons {
			c := &a.Comparisons[i]
			c.AValue, c.BValue, c.Ratio, c.Lo, c.Hi, c.P, c.Floor = v, v, v, v, v, v, v
		}
		odd[name] = a
	}
	for name, a := range odd {
		for form, write := range forms {
			t.Run(name+"/"+form, func(t *testing.T) {
				var buf bytes.Buffer
				if err := write(&buf, cell.Run{}, a); err != nil {
					t.Fatal(err)
				}
				if strings.Contains(form, "json") && !json.Valid(buf.Bytes()) {
					t.Error("not valid JSON")
				}
				if found := regexp.MustCompile(`NaN|[^a-z]Inf|%!`).FindString(buf.String()); found != "" {
					t.Errorf("%q in the output", found)
				}
			})
		}
	}
}

// TestHTMLStandsAlone looks for external references, and for elements that are
// not closed in order.
func TestHTMLStandsAlone(t *testing.T) {
	var buf bytes.Buffer
	if err := page.Write(&buf, page.Run{Meta: fixtureMeta()}, fixture()); err != nil {
		t.Fatal(err)
	}
	page := buf.String()
	for _, pattern := range []string{`(?i)(src|href|action|poster|data)\s*=\s*["']?\s*(https?:)?//`, `(?i)url\(`, `(?i)@import`, `(?i)<(script|link|img|iframe|object|embed)\b`} {
		if found := regexp.MustCompile(pattern).FindString(page); found != "" {
			t.Errorf("the page refers to something outside: %q", found)
		}
	}
	for _, want := range []string{`<html lang="en">`, "<main", "<nav", `class="skip"`, "default-src 'none'", "prefers-reduced-motion", "Strategy × GC setting", "syncpool needs 0.56×"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	void := map[string]bool{"meta": true, "input": true, "br": true}
	var open []string
	style := regexp.MustCompile(`(?s)<style>.*?</style>`).ReplaceAllString(page, "")
	for _, m := range regexp.MustCompile(`<(/?)([a-z][a-z0-9]*)[^<>]*?(/?)>`).FindAllStringSubmatch(style, -1) {
		switch name := m[2]; {
		case m[1] == "/" && (len(open) == 0 || open[len(open)-1] != name):
			t.Fatalf("</%s> closes %v", name, open)
		case m[1] == "/":
			open = open[:len(open)-1]
		case m[3] == "" && !void[name]:
			open = append(open, name)
		}
	}
	if len(open) > 0 {
		t.Errorf("never closed: %v", open)
	}
}

func TestTextFitsItsWidth(t *testing.T) {
	for _, width := range []int{40, 60, 80, 120} {
		var buf bytes.Buffer
		if err := text.Report(&buf, fixtureMeta(), fixture(), text.Style{Width: width}); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(buf.String(), "\n") {
			if n := utf8.RuneCountInString(line); n > width && !strings.HasPrefix(line, "repeat") {
				t.Errorf("%d columns, want at most %d: %s", n, width, line)
			}
		}
	}
}

func TestSummaryIsOneScreen(t *testing.T) {
	a := fixture()
	for i := range 40 {
		a.Groups = append(a.Groups, groupOf("many", strings.Repeat("x", i+1), cell.DefaultGC, 100))
		a.Findings = append(a.Findings, "one more")
		a.Warnings = append(a.Warnings, stat.CountedWarning{Warning: cell.Warning{Code: "c", Text: "one more"}})
	}
	var buf bytes.Buffer
	if err := text.Summary(&buf, fixtureMeta(), a, text.Style{Width: 100}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(buf.String(), "\n"); n > 55 {
		t.Errorf("%d lines", n)
	}
	for _, want := range []string{"and 34 more", "rows more", "and 40 more"} {
		if !strings.Contains(buf.String(), want) {
			t.Errorf("the summary does not say %q:\n%s", want, buf.String())
		}
	}
}

type brokenWriter struct{}

var errBroken = errors.New("broken pipe")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestWriteErrors(t *testing.T) {
	for form, write := range forms {
		if err := write(brokenWriter{}, fixtureMeta(), fixture()); !errors.Is(err, errBroken) || !strings.HasPrefix(err.Error(), "report: ") {
			t.Errorf("%s: %v", form, err)
		}
	}
}

// TestMissingCellsAreSaidOnce holds that a report mentions an incomplete run once.
func TestMissingCellsAreSaidOnce(t *testing.T) {
	plan := []cell.Cell{{Config: cell.Config{Workload: "alloc"}}, {Config: cell.Config{Workload: "alloc"}, Index: 1, Block: 1}}
	rec := &cell.Record{Cell: plan[0]}
	rec.Set(cell.OpTime, 5)
	a, err := stat.Analyze(plan, []*cell.Record{rec})
	if err != nil {
		t.Fatal(err)
	}
	var terminal, html bytes.Buffer
	if err := errors.Join(text.Report(&terminal, cell.Run{}, a, text.Style{}), page.Write(&html, page.Run{}, a)); err != nil {
		t.Fatal(err)
	}
	for name, out := range map[string]string{"terminal": terminal.String(), "page": html.String()} {
		if n := strings.Count(out, "1 planned cell has no record"); n != 1 || strings.Contains(out, "1 planned cells") {
			t.Errorf("%s says it %d times:\n%s", name, n, out)
		}
	}
}
