package advice

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/isobar-go/isobar/internal/show/plot"
	"github.com/isobar-go/isobar/internal/show/text"
)

// pageSites is the number of sites that a page describes; its table has all of them.
const pageSites = 40

type pageSite struct {
	ID, Class string
	Explained
	Code, Preview []pageCode
}

// verdictOrder is the order of the verdicts on a page.
var verdictOrder = []Verdict{Remedy, Candidate, Outside, Look, Unknown}

// account adds the allocations to the page.
func (p *pageBody) account(a *Account, base string, shown []Finding, src texts) {
	sites := a.ByVerdict()
	var ids []string
	for i, s := range sites {
		id := ""
		if i < pageSites {
			id = fmt.Sprintf("site-%d", i+1)
			p.Sites = append(p.Sites, pageSiteOf(id, &s, base, shown, src))
		}
		ids = append(ids, id)
	}
	p.SiteTable = siteTable(sites)
	p.Flame = flameOf(sites, ids)
}

// Proposes reports whether a site has a remedy or candidate and a share that is worth it.
func (e *Explained) Proposes() bool {
	return (e.Verdict == Remedy || e.Verdict == Candidate) && e.Share.weight() >= worthTrial
}

// ByVerdict returns the sites with a remedy first, then the candidates, where they are worth it, then all others, each
// group by share.
func (a *Account) ByVerdict() []Explained {
	order := func(e Explained) int {
		if e.Proposes() {
			return slices.Index(verdictOrder, e.Verdict)
		}
		return len(verdictOrder)
	}
	return slices.SortedStableFunc(slices.Values(a.Sites), func(x, y Explained) int {
		return cmp.Or(order(x)-order(y), cmp.Compare(y.Share.weight(), x.Share.weight()))
	})
}

func pageSiteOf(id string, s *Explained, base string, shown []Finding, src texts) pageSite {
	p := pageSite{ID: id, Explained: *s, Class: map[Verdict]string{Remedy: "kept", Unknown: "dropped"}[s.Verdict]}
	name := absolute(base, s.File)
	p.Code = src.excerpt(&Finding{Line: s.Line, Spans: []span{{File: name}}})
	for i := range shown {
		if f := &shown[i]; s.Fix && f.Check == s.Check && f.Spans[0].File == name && f.Line <= s.Line && s.Line <= f.EndLine {
			p.Preview = preview(f, src)
		}
	}
	return p
}

// previewLines is the maximum number of lines that a page shows of a fix that was not tried.
const previewLines = 24

// preview returns what the fix of a finding changes.
func preview(f *Finding, src texts) (out []pageCode) {
	for name, changes := range f.Edits {
		before := src.read(name)
		after, err := edited(name, before, changes)
		if err != nil {
			return nil
		}
		_, hunks, _ := strings.Cut(string(diff.Diff(f.File, before, f.File, after)), "\n@@")
		for _, line := range colored("@@" + hunks) {
			if !strings.HasPrefix(line.Text, "@@") {
				out = append(out, line)
			}
		}
	}
	return out[:min(previewLines, len(out))]
}

func siteTable(sites []Explained) *text.Table {
	t := &text.Table{Label: "All allocations with their verdicts", Left: 3,
		Head: []string{"Place", "What", "Verdict", "Bytes", "Objects", "Measured"}}
	for _, s := range sites {
		t.Add(fmt.Sprintf("%s:%d", s.File, s.Line), s.Name(), string(s.Verdict),
			share(s.Share.Bytes), share(s.Share.Objects), saving(s.Tried))
	}
	return t
}

// flameOf draws allocations by verdict, function and site: in bytes, or in objects if
// no profile has bytes.
func flameOf(sites []Explained, ids []string) *plot.Plot {
	value, unit := func(s *Explained) float64 { return s.Share.Bytes }, "bytes"
	if !slices.ContainsFunc(sites, func(s Explained) bool { return s.Share.Bytes > 0 }) {
		value, unit = func(s *Explained) float64 { return s.Share.Objects }, "objects"
	}
	root := &plot.Flame{Name: "all " + unit}
	part := func(of *plot.Flame, name string, series int) *plot.Flame {
		i := slices.IndexFunc(of.Parts, func(f *plot.Flame) bool { return f.Name == name })
		if i < 0 {
			i, of.Parts = len(of.Parts), append(of.Parts, &plot.Flame{Name: name, Series: series})
		}
		return of.Parts[i]
	}
	for i := range sites {
		s := &sites[i]
		verdict := part(root, string(s.Verdict), max(0, slices.Index(verdictOrder, s.Verdict)))
		fn := part(verdict, s.Function, 0)
		site := &plot.Flame{Name: fmt.Sprintf("%s:%d %s", s.File, s.Line, s.Name()), Value: value(s)}
		if ids[i] != "" {
			site.Link = "#" + ids[i]
		}
		fn.Parts = append(fn.Parts, site)
	}
	root.Sum(share)
	return plot.NewFlame("causes", "Allocated "+unit+" by cause", "By verdict, then by function, then by the expression "+
		"that allocates. Each box that names a place leads to what can be done about it.", root)
}
