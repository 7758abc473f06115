package advice

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/isobar-go/isobar/internal/show/plot"
	"github.com/isobar-go/isobar/internal/show/text"
)

// pageSites is how many sites a page describes; its table has all of them.
const pageSites = 40

type pageSite struct {
	ID, Place, What, Function, Verdict, Class  string
	Share, Saves, Made, Flow, Lifetime, Remedy string
	Condition, Decides, Through                string
	Code, Preview                              []pageCode
}

// verdictsInOrder are the verdicts as a page shows them, with what they mean.
var verdictsInOrder = []struct {
	Verdict
	class string
}{{Remedy, "kept"}, {Reshape, ""}, {Outside, ""}, {Inherent, ""}, {Open, ""}, {Unknown, "dropped"}}

// account fills in what the page says of each allocation.
func (p *pageBody) account(a *Account, base string, shown []Finding, src texts) {
	sites := a.BySaving()
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

// BySaving returns the sites in the order of what their remedies save, then by their
// share.
func (a *Account) BySaving() []Explained {
	return slices.SortedStableFunc(slices.Values(a.Sites), func(x, y Explained) int {
		return cmp.Or(cmp.Compare(y.Saves.weight(), x.Saves.weight()), cmp.Compare(y.Share.weight(), x.Share.weight()))
	})
}

func pageSiteOf(id string, s *Explained, base string, shown []Finding, src texts) pageSite {
	p := pageSite{
		ID: id, Place: text.Clean(fmt.Sprintf("%s:%d", s.File, s.Line)), What: text.Clean(s.Kind + " " + s.What),
		Function: text.Clean(s.Function), Verdict: string(s.Verdict), Share: s.Share.String(),
		Made: fmt.Sprintf("%d objects in the profile, %.0f bytes on average", s.Objects, s.Size), Flow: text.Clean(s.Flow),
		Lifetime: text.Clean(s.Lifetime), Remedy: text.Clean(s.Remedy), Condition: text.Clean(s.Condition),
		Decides: text.Clean(s.Decides), Through: text.Clean(s.Through),
	}
	if s.PerCall > 0 {
		p.Made += fmt.Sprintf(", %.3g for each call of the function", s.PerCall)
	}
	if s.Saves.weight() > 0 {
		p.Saves = s.Saves.String()
	}
	for _, v := range verdictsInOrder {
		if v.Verdict == s.Verdict {
			p.Class = v.class
		}
	}
	name := s.File
	if !filepath.IsAbs(name) {
		name = filepath.Join(base, name)
	}
	p.Code = excerpt(src, &Finding{Line: s.Line, spans: []span{{File: name}}})
	for i := range shown {
		if f := &shown[i]; s.Fix && f.Check == s.Check && len(f.spans) > 0 && f.spans[0].File == name &&
			f.Line <= s.Line && s.Line <= f.EndLine {
			p.Preview = preview(f, src)
		}
	}
	return p
}

// previewLines is the longest change that a page shows for a fix that was not
// tried.
const previewLines = 24

// preview is what the fix of a finding changes.
func preview(f *Finding, src texts) (out []pageCode) {
	for name, changes := range f.fix {
		before := src.read(name)
		after, err := edited(name, before, changes)
		if err != nil {
			return nil
		}
		for line := range strings.Lines(string(diff.Diff(f.File, before, f.File, after))) {
			class, ok := map[byte]string{'+': "added", '-': "hit", ' ': ""}[line[0]]
			if ok && !strings.HasPrefix(line, "+++ ") && !strings.HasPrefix(line, "--- ") {
				out = append(out, pageCode{display(strings.TrimRight(line, "\r\n")), class})
			}
		}
	}
	return out[:min(previewLines, len(out))]
}

func siteTable(sites []Explained) *plot.Table {
	t := &plot.Table{Label: "All allocations with their verdicts", Left: 3,
		Head: []string{"Place", "What", "Verdict", "Bytes", "Objects", "Saves bytes", "Saves objects"}}
	for _, s := range sites {
		t.Add(text.Clean(fmt.Sprintf("%s:%d", s.File, s.Line)), text.Clean(s.Kind+" "+s.What), string(s.Verdict),
			share(s.Share.Bytes), share(s.Share.Objects), share(s.Saves.Bytes), share(s.Saves.Objects))
	}
	return t
}

// flameOf draws what is allocated by verdict, function and site: bytes, or
// objects where no profile has bytes.
func flameOf(sites []Explained, ids []string) *plot.Plot {
	value, unit := func(s *Explained) float64 { return s.Share.Bytes }, "bytes"
	if !slices.ContainsFunc(sites, func(s Explained) bool { return s.Share.Bytes > 0 }) {
		value, unit = func(s *Explained) float64 { return s.Share.Objects }, "objects"
	}
	root := &plot.Flame{Name: "all " + unit}
	parts := map[string]*plot.Flame{"": root}
	part := func(of *plot.Flame, key, name string, series int) *plot.Flame {
		f := parts[key]
		if f == nil {
			f = &plot.Flame{Name: name, Series: series}
			parts[key] = f
			of.Parts = append(of.Parts, f)
		}
		return f
	}
	for i := range sites {
		s := &sites[i]
		series := slices.IndexFunc(verdictsInOrder, func(v struct {
			Verdict
			class string
		}) bool {
			return v.Verdict == s.Verdict
		})
		verdict := part(root, string(s.Verdict), string(s.Verdict), max(series, 0))
		fn := part(verdict, string(s.Verdict)+"\x00"+s.Function, text.Clean(s.Function), 0)
		site := &plot.Flame{Name: text.Clean(fmt.Sprintf("%s:%d %s %s", s.File, s.Line, s.Kind, s.What)), Value: value(s)}
		if ids[i] != "" {
			site.Link = "#" + ids[i]
		}
		fn.Parts = append(fn.Parts, site)
	}
	root.Sum(share)
	return plot.NewFlame("causes", "Allocated "+unit+" by cause", "By verdict, then by function, then by the expression "+
		"that allocates. Each box that names a place leads to what can be done about it.", root)
}
