package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
)

// pick returns the findings of a tool that are judged: all of them, or a sample
// that depends on them alone.
func pick(found []finding) []finding {
	rng := rand.New(rand.NewPCG(16, 20))
	var sample []finding
	for _, i := range rng.Perm(len(found))[:min(sampleSize, len(found))] {
		sample = append(sample, found[i])
	}
	slices.SortFunc(sample, finding.compare)
	return sample
}

// readJudged reads judgements: tool, module, place and message of a finding,
// yes or no, and why.
func readJudged(name string) (map[string]bool, error) {
	text, err := os.ReadFile(name)
	judged := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if len(fields) != 6 || fields[4] != "yes" && fields[4] != "no" || fields[5] == "" {
			return nil, fmt.Errorf("%s: %q: want tool, module, place, message, yes or no, and why, by tabs", name, line)
		}
		judged[strings.Join(fields[:4], "\t")] = fields[4] == "yes"
	}
	return judged, err
}

// table renders the outcomes.
func table(outcomes []*outcome, modules []*module, judged map[string]bool) string {
	lines, sites, bytes, held := 0, 0, 0.0, 0.0
	for _, m := range modules {
		lines, sites, bytes = lines+m.lines, sites+len(m.sites), bytes+m.total
		for _, s := range m.sites {
			held += s.Share.Bytes * m.total
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d modules, %d lines, %d sites that hold %.0f %% of %.1f GB.\n\n", len(modules), lines, sites,
		100*held/bytes, bytes/1e9)
	b.WriteString("| tool | findings | per 1,000 lines | sites it names | of all bytes, on them | mean of the modules | " +
		"worth making |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, o := range outcomes {
		named, on, share := 0, 0.0, 0.0
		for _, m := range modules {
			for _, s := range m.sites {
				about := func(f finding) bool { return f.module == m.name && m.names(f, s) }
				if slices.ContainsFunc(o.findings, about) {
					named++
					on += s.Share.Bytes * m.total
					share += s.Share.Bytes
				}
			}
		}
		worth, open := 0, 0
		sample := pick(o.findings)
		for _, f := range sample {
			yes, ok := judged[f.key()]
			if yes {
				worth++
			}
			if !ok {
				open++
			}
		}
		verdict := fmt.Sprintf("%d of %d", worth, len(sample))
		if open > 0 {
			verdict += fmt.Sprintf(", %d not judged", open)
		}
		fmt.Fprintf(&b, "| %s | %d | %.2f | %d of %d | %.1f %% | %.1f %% | %s |\n", o.tool, len(o.findings),
			1000*float64(len(o.findings))/float64(lines), named, sites, 100*on/bytes, 100*share/float64(len(modules)), verdict)
	}
	return b.String()
}
