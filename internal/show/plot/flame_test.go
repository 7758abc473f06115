package plot

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// A flame graph is well-formed, escapes its names, links its parts and omits parts too narrow to see.
func TestFlame(t *testing.T) {
	root := &Flame{Name: "all", Parts: []*Flame{
		{Name: "small", Series: 1, Parts: []*Flame{{Name: "tiny", Value: 0.001, Link: "#tiny"}, {Name: "a<b>", Value: 9, Link: "#a"}}},
		{Name: "large", Series: 2, Parts: []*Flame{{Name: "x", Value: 90}}},
	}}
	root.Sum(func(v float64) string { return "share" })
	if root.Value != 99.001 || root.Parts[0].Name != "large" || root.Parts[1].Parts[0].Name != "a<b>" {
		t.Errorf("the sum is %v, the parts begin with %s", root.Value, root.Parts[0].Name)
	}
	p := NewFlame("causes", "Causes", "", root)
	svg := string(p.Panels[0].SVG)
	for dec := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v: %s", err, svg)
		}
	}
	for _, want := range []string{`<a href="#a" aria-label="a&lt;b&gt;, share">`, `class="part s2"`, `class="whole"`,
		`viewBox="0 0 960 72"`} {
		if !strings.Contains(svg, want) {
			t.Errorf("the graph lacks %s: %s", want, svg)
		}
	}
	if strings.Contains(svg, "#tiny") {
		t.Error("a part of a thousandth is drawn")
	}
	if len(p.Legend) != 2 || !strings.HasPrefix(p.Legend[0].Name, "large") {
		t.Errorf("legend %v", p.Legend)
	}
	if NewFlame("n", "Nothing", "", &Flame{Name: "all"}) != nil {
		t.Error("nothing is drawn")
	}
}
