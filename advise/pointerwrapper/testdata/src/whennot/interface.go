package whennot

import "io"

type params interface{ get(name string) any }

// By value an interface in another one needs as much memory, and a type of an
// interface has no methods.
type clean struct{ of params }

func (c *clean) get(name string) any { return c.of.get(name) }

func eval(p params) any {
	if p != nil {
		p = &clean{p}
	}
	return lookup(p)
}

func lookup(p params) any { return p.get("x") }

func clear(p params) (params, error) { return &clean{of: p}, nil }

type upper struct{ io.Reader } // embedded

func uppers(rs []io.Reader) (out []io.Reader) {
	for _, r := range rs {
		out = append(out, &upper{r})
	}
	return append(out, list(rs[0], &upper{rs[1]})...)
}

func list(rs ...io.Reader) []io.Reader { return rs }

type source struct {
	name string
	r    io.Reader
}

func sources(rs []io.Reader, sink chan<- io.Reader) (out []source) {
	var last io.Reader = &upper{rs[0]}
	for _, r := range rs {
		out = append(out, source{"a", &upper{r}}, source{r: &upper{r}})
		sink <- &upper{last}
	}
	return out
}
