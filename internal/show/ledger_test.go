package show_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/show/page"
	"github.com/isobar-go/isobar/internal/show/text"
)

// fixtureLedger has a claim with each kind of figure, and hostile texts.
func fixtureLedger() *text.Ledger {
	hostile := "<script>alert(1)</script> | \x1b[31m `x`"
	ratio := text.LedgerClaim{ID: "000/ratio", Section: "Step 1", Quote: hostile, Figure: "2.1x", LedgerFigure: text.LedgerFigure{Verdict: "refuted", Reason: "no effect", Unit: "x"}, Why: "Because.", Refutes: "nothing", Run: 3, Repeat: "isobar lab run x"}
	ratio.Beside, ratio.Published = "differs, more than runs do", text.LedgerPublished{LedgerFigure: text.LedgerFigure{Verdict: "varies", Reason: "it varies with the machine"}, ByRun: "holds 1; refuted 2"}
	ratio.SetEstimate(1.01, 0.97, 1.05, 1.1, 8)
	ratio.Samples = []text.LedgerSample{text.NewLedgerSample(cell.OpCPU, "gc=off", []float64{1200, 1300}), text.NewLedgerSample(cell.OpCPU, "", []float64{math.Inf(1)})}
	value := text.LedgerClaim{ID: "000/value", Quote: "q", LedgerFigure: text.LedgerFigure{Verdict: "holds", Unit: "ns", Metric: cell.OpCPU}}
	value.SetEstimate(1500, 1400, 1600, 1, 8)
	share := text.LedgerClaim{ID: "000/share", Quote: "q", LedgerFigure: text.LedgerFigure{Verdict: "refuted", Tentative: true, Unit: "of trials"}}
	share.SetEstimate(1, 0.94, 1, 1, 4)
	other := text.LedgerClaim{ID: "001/other", Quote: "q", LedgerFigure: text.LedgerFigure{Verdict: "open", Unit: "ops/cycle"}}
	other.SetEstimate(432, 400, 462, 1, 8)
	nothing := text.LedgerClaim{ID: "001/nothing", Quote: "q", LedgerFigure: text.LedgerFigure{Verdict: "untestable", Reason: "it takes 24 CPUs"}}
	return &text.Ledger{
		Title: "Claims", Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Version: "v1", Machine: cell.Machine{OS: "linux", Arch: "amd64", CPUs: 2, GoVersion: "go1.26"},
		Verdicts:  []string{"holds", "refuted", "varies", "open", "untestable"},
		Runs:      []string{"2026-01-01, a machine", "2026-01-02, another | machine"},
		Documents: []text.LedgerDocument{{ID: "000", Title: hostile, Claims: []text.LedgerClaim{ratio, value, share}}, {ID: "001", Title: "B", Claims: []text.LedgerClaim{other, nothing}}},
	}
}

func TestLedgerMeasured(t *testing.T) {
	want := map[string]string{
		"000/ratio": "1.01× [0.97×, 1.05×]", "000/value": "1.50 µs [1.40 µs, 1.60 µs]", "000/share": "100 % of trials [94.0 %, 100 %]",
		"001/other": "432 ops/cycle [400, 462]", "001/nothing": text.Absent,
	}
	for _, d := range fixtureLedger().Documents {
		for _, c := range d.Claims {
			if got := c.Measured(); got != want[c.ID] {
				t.Errorf("%s: %q, want %q", c.ID, got, want[c.ID])
			}
		}
	}
}

func TestLedgerText(t *testing.T) {
	for _, width := range []int{40, 80, 160} {
		var list, story bytes.Buffer
		l := fixtureLedger()
		if err := text.LedgerLines(&list, l, text.Style{Width: width}); err != nil {
			t.Fatal(err)
		}
		if err := text.LedgerStory(&story, l, text.Style{Width: width}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(list.String(), "5 claims: 1 holds, 2 refuted, 1 open, 1 untestable; 1 of them tentative, marked ?") {
			t.Errorf("the counts are missing:\n%s", &list)
		}
		for _, text := range []string{"Because.", "isobar lab show 3", "1.20 µs  1.30 µs", "differed by up to 1.10×"} {
			if !strings.Contains(strings.Join(strings.Fields(story.String()), " "), strings.Join(strings.Fields(text), " ")) {
				t.Errorf("width %d: %q is missing:\n%s", width, text, &story)
			}
		}
		if strings.Contains(list.String()+story.String(), "\x1b") {
			t.Error("a control character of the user's text is printed")
		}
	}
}

func TestLedgerJSON(t *testing.T) {
	var buf bytes.Buffer
	if err := text.LedgerJSON(&buf, fixtureLedger()); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Schema    int
		Documents []struct {
			Claims []struct {
				ID, Verdict string
				Estimate    *float64
				Samples     []struct{ Values []*float64 }
			}
		}
	}
	if err := json.Unmarshal(buf.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	c := doc.Documents[0].Claims[0]
	if doc.Schema != text.Schema || c.ID != "000/ratio" || c.Verdict != "refuted" || *c.Estimate != 1.01 || len(c.Samples[0].Values) != 2 || c.Samples[1].Values[0] != nil {
		t.Errorf("not the written ledger: %s", &buf)
	}
}

func TestLedgerPages(t *testing.T) {
	var shown, markdown bytes.Buffer
	l := fixtureLedger()
	if err := page.WriteLedger(&shown, l); err != nil {
		t.Fatal(err)
	}
	if err := text.LedgerMarkdown(&markdown, l); err != nil {
		t.Fatal(err)
	}
	if path := os.Getenv("ISOBAR_CLAIMS_PAGE"); path != "" { // for the browser tests
		if err := os.WriteFile(path, shown.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	html := shown.String()
	if strings.Contains(html, "<script") || regexp.MustCompile(`(?:src|href)="(?:https?:)?//`).MatchString(html) {
		t.Error("the page has a script or a reference to elsewhere")
	}
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(html, -1) {
		if ids[m[1]] {
			t.Errorf("the id %s occurs twice", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(html, -1) {
		if !ids[m[1]] {
			t.Errorf("a link goes to #%s, which does not exist", m[1])
		}
	}
	for _, text := range []string{"000/ratio", "24 CPUs", "1.20 µs  1.30 µs", "isobar lab run x", "refuted?"} {
		if !strings.Contains(html, text) {
			t.Errorf("the page lacks %q", text)
		}
	}
	md := markdown.String()
	if strings.Contains(md, "<script") || !strings.Contains(md, `\|`) || !strings.Contains(md, "linux/amd64, 2 CPUs, go1.26") || !strings.Contains(md, "2026-01-02") || !strings.Contains(md, "**refuted?**") {
		t.Errorf("Markdown: %s", md)
	}
	for _, want := range []string{"| varies: holds 1; refuted 2 |", "2. 2026-01-02, another \\| machine", "Beside the 2 runs published, 1: differs, more than runs do."} {
		if !strings.Contains(md, want) {
			t.Errorf("Markdown lacks %q", want)
		}
	}
	head, tables, _ := strings.Cut(md, "\n## Document")
	if !strings.Contains(head, "| document | claims | holds | refuted | varies |") || !strings.Contains(head, "\n| 000 | ") {
		t.Errorf("no summary by document in %s", head)
	}
	for _, line := range strings.Split(tables, "\n") {
		if bars := strings.Count(line, "|") - strings.Count(line, `\|`); strings.HasPrefix(line, "|") && bars != 7 {
			t.Errorf("%d bars in %q", bars, line)
		}
	}
}

// TestLedgerElsewhere holds that published verdicts are shown if nothing was measured here.
func TestLedgerElsewhere(t *testing.T) {
	l := fixtureLedger()
	l.Created = time.Time{}
	for i := range l.Documents {
		for j := range l.Documents[i].Claims {
			c := &l.Documents[i].Claims[j]
			c.LedgerFigure, c.Beside = text.LedgerFigure{Verdict: "not run"}, ""
			if c.ID == "001/other" {
				c.Published = text.LedgerPublished{LedgerFigure: text.LedgerFigure{Verdict: "holds"}, ByRun: "holds 1, 2"}
			}
		}
	}
	var lines, markdown bytes.Buffer
	if err := errors.Join(text.LedgerLines(&lines, l, text.Style{Width: 80}), text.LedgerMarkdown(&markdown, l)); err != nil {
		t.Fatal(err)
	}
	if out := lines.String(); !strings.Contains(out, "1 holds, 1 varies") || !strings.Contains(out, "these are the 2 runs published") {
		t.Errorf("%s", out)
	}
	for _, want := range []string{"**varies** | holds 1; refuted 2 |", "**holds** | holds 1, 2 |", "- **000/ratio** (varies): It varies with the machine. Because."} {
		if !strings.Contains(markdown.String(), want) {
			t.Errorf("Markdown lacks %q:\n%s", want, &markdown)
		}
	}
	if strings.Contains(markdown.String(), "Measured 0001") {
		t.Error("a day without a measurement")
	}
}
