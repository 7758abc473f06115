package advice

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/advise/check"
	"github.com/isobar-go/isobar/internal/show/page"
	"github.com/isobar-go/isobar/internal/show/plot"
	"github.com/isobar-go/isobar/internal/show/text"
)

//go:embed assets
var assets embed.FS

// PageMeta describes a page.
type PageMeta struct {
	Name    string // of what was analyzed
	Repeat  string // the command that repeats it
	Version string // of the program
	Dir     string // base of relative file names
}

// pageFindings is the maximum number of findings on a page: beyond it, a profile helps
// more than a longer page.
const pageFindings = 300

// A pageBody is what the template sees.
type pageBody struct {
	PageMeta
	*Result
	CSS       template.CSS
	Shown     int
	Findings  []pageFinding
	More      string
	Flame     *plot.Plot
	Sites     []pageSite
	SiteTable *text.Table
	Checks    []*check.Check // of the findings
}

type pageFinding struct {
	ID string
	Verified
	Code, Change []pageCode
}

type pageCode struct{ Text, Class string }

// pageFuncs are the functions of the template: the name of a figure's benchmark, a
// value of its metric, a share in percent, and seconds.
var pageFuncs = template.FuncMap{
	"benchmark": func(f Figure) string { return path.Base(f.Package) + "." + f.Benchmark },
	"share":     share,
	"size":      func(n int64) string { return text.Bytes(float64(n)) },
	"count":     func(n int64) string { return text.Count(float64(n)) },
	"plural":    text.Plural,
	"parts":     docParts,
	"seconds":   func(ns int64) string { return fmt.Sprintf("%.3g s", float64(ns)/1e9) },
	"value":     func(f Figure, v float64) string { return f.text(v) },
}

// A docPart is a paragraph of a check's documentation, or code.
type docPart struct {
	Text string
	Code bool
}

// label begins a line of documentation that is a paragraph of its own.
var label = regexp.MustCompile(`^[A-Z][A-Za-z -]*: `)

// docParts joins the lines of paragraphs, which the page breaks where they fit.
func docParts(doc string) (all []docPart) {
	fresh := true // the next line begins a part
	for line := range strings.Lines(doc) {
		line = strings.TrimRight(line, "\n")
		code := strings.HasPrefix(line, "    ")
		last := len(all) - 1
		switch {
		case line == "" && last >= 0 && all[last].Code:
			all[last].Text += "\n" // perhaps amid code
		case line == "":
			fresh = true
		case code && last >= 0 && all[last].Code:
			all[last].Text += "\n" + line[4:]
		case code:
			all, fresh = append(all, docPart{line[4:], true}), false
		case fresh || all[last].Code || label.MatchString(line):
			all, fresh = append(all, docPart{line, false}), false
		default:
			all[last].Text += " " + line
		}
	}
	for i := range all {
		all[i].Text = strings.TrimRight(all[i].Text, "\n")
	}
	return all
}

// Page writes the result as one self-contained HTML file, in the style of package report. It reads
// the lines of the findings from their files, and spells out what a terminal or browser would hide.
func Page(w io.Writer, m PageMeta, checks []*check.Check, r *Result, shown []Finding) error {
	p := pageBody{PageMeta: m, Result: r, CSS: page.StyleSheet() + Style(), Shown: len(shown)}
	named := map[string]bool{}
	src := texts{}
	for i, f := range bySaving(r.Verification, shown) {
		if i == pageFindings {
			p.More = fmt.Sprintf("%d more findings are left out; a profile brings those that matter to the top.", len(shown)-i)
			break
		}
		named[f.Finding.Check] = true
		p.Findings = append(p.Findings, pageFinding{fmt.Sprintf("finding-%d", i+1), f, src.excerpt(&f.Finding),
			colored(f.Diff)})
	}
	if r.Evidence != nil {
		p.account(r.Evidence.Account, m.Dir, shown, src)
	}
	for _, c := range checks {
		if named[c.Name] {
			p.Checks = append(p.Checks, c)
		}
	}
	file := template.Must(template.New("advice.html.tmpl").Funcs(pageFuncs).ParseFS(assets, "assets/advice.html.tmpl"))
	var whole strings.Builder
	err := file.Execute(&whole, p)
	if err == nil {
		_, err = io.WriteString(w, strings.Join(text.CleanAll(strings.Split(whole.String(), "\n")), "\n"))
	}
	if err != nil {
		return fmt.Errorf("advise: html: %w", err)
	}
	return nil
}

func share(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

// bySaving joins the findings with the outcomes of their fixes. Kept fixes come first, by what
// they save of the profile, or else of a benchmark; the others keep their order.
func bySaving(v *Verification, shown []Finding) []Verified {
	var all []Verified
	for _, f := range shown {
		one := Verified{Finding: f}
		if v != nil {
			for _, fixed := range v.Fixes {
				if g := fixed.Finding; g.File == f.File && g.Line == f.Line && g.Column == f.Column && g.Check == f.Check {
					one = fixed
				}
			}
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b Verified) int { return cmp.Compare(b.saving(), a.saving()) })
	return all
}

// saving returns the sort key of a kept fix; 0 for all others.
func (v *Verified) saving() float64 {
	if v.Outcome != Kept {
		return 0
	}
	saved := 1e-6 // more than nothing: a mistake fixed
	if best := v.best(); best != nil {
		saved += max(0, 1-float64(best.Ratio))
	}
	if s := v.Finding.Share; s != nil {
		return 1 + saved*max(s.Bytes, s.Objects)
	}
	return saved
}

// colored returns the lines of a diff, with their classes.
func colored(diff string) (out []pageCode) {
	for line := range strings.Lines(diff) {
		class := map[byte]string{'+': "added", '-': "hit"}[line[0]]
		out = append(out, pageCode{display(line), class})
	}
	return out
}

// around is the number of lines that an excerpt shows before and after a finding,
// longest the maximum of the finding itself.
const around, longest = 3, 12

// excerpt returns the code of a finding, with the lines around it.
func (t texts) excerpt(f *Finding) (out []pageCode) {
	name, last := f.Spans[0].File, min(max(f.Line, f.EndLine), f.Line+longest)
	for n := max(1, f.Line-around); n <= min(len(t.lines(name)), last+around); n++ {
		class := ""
		if n >= f.Line && n <= last {
			class = "hit"
		}
		out = append(out, pageCode{fmt.Sprintf("%4d  %s", n, display(t.lines(name)[n-1])), class})
	}
	return out
}

// display returns a line of code as the page shows it.
func display(line string) string {
	return strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    ")
}
