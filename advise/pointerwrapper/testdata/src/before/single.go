package before

import "io"

type lower struct{ io.Reader } // embedded

func readers(rs []io.Reader) (out []*lower) {
	for _, r := range rs {
		out = append(out, &lower{r}) // want `each lower is an allocation for one io.Reader; pass it by value`
	}
	return out
}

type tries struct{ left int }

func (t *tries) run() error { return nil }

// Small numbers need no memory as an interface.
func limited(ns []int) (out []service) {
	for _, n := range ns {
		out = append(out, &tries{n}) // want `each tries is an allocation for one int`
	}
	return out
}

type state struct{ n int }

type view struct{ s *state }

func (v *view) run() error { return nil }

func views(states []*state) (out []service) {
	for _, s := range states {
		out = append(out, &view{s}) // want `each view is an allocation for one pointer; by value it is that pointer`
	}
	return out
}

type path struct{ parts []string }

func newPath(parts []string) *path { return &path{parts} } // want `each path is an allocation for one \[\]string`
