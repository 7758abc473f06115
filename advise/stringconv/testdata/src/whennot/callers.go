package whennot

type pointer struct{ buf []byte }

// All that callers do with the text is to keep it.
func (p *pointer) text() string { return string(p.buf) }

type operation struct{ kind, path string }

type patch struct{ ops []operation }

func (d *patch) add(kind, path string) { d.ops = append(d.ops, operation{kind, path}) }

func (d *patch) compare(p *pointer, old, new []string) {
	for i := range old {
		switch {
		case i >= len(new):
			d.add("remove", p.text())
		case old[i] != new[i]:
			d.ops = append(d.ops, operation{kind: "replace", path: p.text()})
		}
	}
	path := p.text()
	for i := len(old); i < len(new); i++ {
		d.add("add", path)
	}
}
