package before

type pointer struct{ buf []byte }

func (p *pointer) text() string { return string(p.buf) } // want `is copied for each caller`

type patch struct{ paths []string }

// One caller keeps it, another only reads.
func (d *patch) compare(p *pointer, root string, old, new []string) {
	for i := range old {
		if i >= len(new) || p.text() == root {
			d.paths = append(d.paths, p.text())
		}
	}
}

type name struct{ raw []byte }

// It is not known what the caller's callers do.
func (n *name) text() string { return string(n.raw) } // want `is copied for each caller`

func (n *name) full() string { return n.text() }
