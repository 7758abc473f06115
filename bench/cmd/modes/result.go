package main

import (
	"encoding/json"
	"fmt"

	"github.com/isobar-go/isobar/internal/lab/stat"
)

// A result is the run of a row: what each mode reached in the metrics that
// count, and how equal configurations differed.
type result struct {
	row     row
	machine string
	groups  map[string]*stat.Group // by mode
	floor   map[string]float64     // by metric
}

// runJSON is the part that is used of what 'isobar lab run --json' prints.
type runJSON struct {
	Run struct {
		Failed, Missing int
		Machine         struct {
			CPU  string
			CPUs int
		}
	}
	Groups []struct {
		Config struct {
			Params map[string]string
		}
		Metrics map[string]struct {
			Blocks []int
			Values []float64
		}
	}
	Comparisons []struct {
		Metric string
		Floor  float64
	}
}

func decode(data []byte, r row) (*result, error) {
	var in runJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	if in.Run.Failed > 0 || in.Run.Missing > 0 {
		return nil, fmt.Errorf("%s: %d cells failed, %d are missing", r.name, in.Run.Failed, in.Run.Missing)
	}
	out := &result{row: r, groups: map[string]*stat.Group{}, floor: map[string]float64{}}
	out.machine = fmt.Sprintf("%d CPUs, %s", in.Run.Machine.CPUs, in.Run.Machine.CPU)
	for _, g := range in.Groups {
		group := &stat.Group{Key: g.Config.Params[r.factor], Series: map[string]stat.Series{}}
		for _, metric := range r.metrics {
			s := g.Metrics[metric]
			if len(s.Values) == 0 {
				return nil, fmt.Errorf("%s: %s has no %s", r.name, group.Key, metric)
			}
			group.Series[metric] = stat.Series{Metric: metric, Blocks: s.Blocks, Values: s.Values}
		}
		out.groups[group.Key] = group
	}
	for _, mode := range modes {
		if out.groups[mode] == nil {
			return nil, fmt.Errorf("%s: the run has no mode %s", r.name, mode)
		}
	}
	for _, c := range in.Comparisons {
		out.floor[c.Metric] = c.Floor
	}
	return out, nil
}

func (r *result) summary(mode, metric string) stat.Summary {
	return stat.Summarize(r.groups[mode].Series[metric])
}

// compare sets mode b against mode a.
func (r *result) compare(a, b, metric string) stat.Comparison {
	return stat.Compare(r.groups[a], r.groups[b], metric, r.floor[metric])
}

// best returns the modes that none is shown to be better than, and the metrics
// that decided.
func (r *result) best() (candidates, decided []string) {
	candidates = modes
	for _, metric := range r.row.metrics {
		var left []string
		for _, b := range candidates {
			beaten := false
			for _, a := range candidates {
				beaten = beaten || a != b && r.compare(a, b, metric).Verdict == stat.Worse
			}
			if !beaten {
				left = append(left, b)
			}
		}
		if len(left) > 0 && len(left) < len(candidates) {
			candidates, decided = left, append(decided, metric)
		}
	}
	return candidates, decided
}
