package advice

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// sampled finds out which benchmarks run the remedies' code from the profiles
// of benchmarks: a stack that passes a line of a finding ends in its benchmark.
// Nothing is known of lines without a sample.
func (v *verifier) sampled(ctx context.Context, all []*testPackage, remedies []*remedy) error {
	matches, err := regexp.Compile(v.Bench)
	if err != nil {
		return fmt.Errorf("advise: bench: %w; want a regular expression", err)
	}
	if strings.Contains(v.Bench, "/") {
		return nil // profiles do not tell the parts of a benchmark
	}
	objects := map[*remedy]map[benchmark]int64{}
	for _, name := range v.Profiles {
		if remote(name) {
			continue // a program that runs is no benchmark, and has another profile by now
		}
		p, err := readProfile(ctx, name)
		if err != nil {
			return err
		}
		index := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == "alloc_objects" })
		if index < 0 || !benchmarked(p) {
			continue
		}
		for _, s := range p.Sample {
			stack := frames(s)
			b, ok := benchmarkOf(stack, all)
			if !ok || !matches.MatchString(b.name) || s.Value[index] <= 0 {
				continue
			}
			for _, r := range remedies {
				if r.broken == nil && r.passes(stack) {
					if objects[r] == nil {
						objects[r] = map[benchmark]int64{}
					}
					objects[r][b] += s.Value[index]
				}
			}
		}
	}
	for r, counts := range objects {
		v.timed[r] = slices.SortedFunc(maps.Keys(counts), func(a, b benchmark) int {
			return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a.String(), b.String()))
		})
	}
	return nil
}

func readProfile(ctx context.Context, name string) (*profile.Profile, error) {
	f, err := open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		return nil, fmt.Errorf("advise: profile: %s: %w; want a whole CPU, heap or allocs profile in pprof format", name, err)
	}
	return p, nil
}

// passes reports whether a stack has a line of the remedy's finding.
func (m *remedy) passes(stack []profile.Line) bool {
	return slices.ContainsFunc(stack, func(f profile.Line) bool {
		return slices.ContainsFunc(m.finding.Spans, func(s span) bool {
			return f.Function.Filename == s.File && s.From <= int(f.Line) && int(f.Line) <= s.To
		})
	})
}

// benchmarkOf returns the benchmark that a stack belongs to, of the packages.
func benchmarkOf(stack []profile.Line, all []*testPackage) (benchmark, bool) {
	for _, f := range slices.Backward(stack) {
		slash := strings.LastIndex(f.Function.Name, "/") + 1
		element, rest, ok := strings.Cut(f.Function.Name[slash:], ".")
		name, _, _ := strings.Cut(rest, ".")
		if !ok || !strings.HasPrefix(name, "Benchmark") {
			continue
		}
		path, err := url.PathUnescape(f.Function.Name[:slash] + strings.TrimSuffix(element, "_test"))
		if err != nil {
			continue
		}
		for _, p := range all {
			if p.ImportPath == path {
				return benchmark{p, name, ""}, true
			}
		}
	}
	return benchmark{}, false
}
