package golangci

import (
	"strings"
	"testing"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/isobar-go/isobar/advise"
)

func TestPlugin(t *testing.T) {
	build, err := register.GetPlugin("isobar")
	if err != nil {
		t.Fatal(err)
	}
	all := len(advise.All())
	for _, tc := range []struct {
		conf any
		want int
		err  string // part of it
	}{
		{conf: nil, want: all},
		{conf: map[string]any{"disable": []string{"sprintf", "jsonloop"}}, want: all - 2},
		{conf: map[string]any{"disable": []string{"sprint"}}, err: `no check "sprint"; there are`},
		{conf: map[string]any{"all": []string{"x"}}, err: `all: there is no check "x"`},
		{conf: map[string]any{"all": []string{"sprintf"}, "disable": []string{"sprintf"}}, err: "sprintf is disabled"},
		{conf: map[string]any{"disabled": []string{"sprintf"}}, err: "settings are disable and all"},
	} {
		p, err := build(tc.conf)
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%v: error %v, want one with %q", tc.conf, err, tc.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v: %v", tc.conf, err)
			continue
		}
		analyzers, err := p.BuildAnalyzers()
		if err != nil || len(analyzers) != tc.want {
			t.Errorf("%v: %d analyzers, %v; want %d", tc.conf, len(analyzers), err, tc.want)
		}
		if err := analysis.Validate(analyzers); err != nil {
			t.Errorf("%v: %v", tc.conf, err)
		}
		if p.GetLoadMode() != register.LoadModeTypesInfo {
			t.Errorf("load mode %s: the checks need types", p.GetLoadMode())
		}
	}
}

// The setting all reaches the flag of the analyzer.
func TestHints(t *testing.T) {
	build, err := register.GetPlugin("isobar")
	if err != nil {
		t.Fatal(err)
	}
	c := advise.Lookup("sprintf")
	defer c.ReportAll(false)
	if _, err := build(map[string]any{"all": []string{"sprintf"}}); err != nil {
		t.Fatal(err)
	}
	if got := c.Analyzer.Flags.Lookup("all").Value.String(); got != "true" {
		t.Errorf("the flag all of sprintf is %s", got)
	}
}
