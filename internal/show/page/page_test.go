package page

import (
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/text"
)

// A large fleet must not make a page too large for a browser.
func TestManyMachines(t *testing.T) {
	s := &text.Section{Name: "w"}
	for i := range 40 {
		c := stat.Comparison{Metric: cell.OpTime, A: "a", B: "b", Verdict: stat.NoDifference, Heterogeneity: &stat.Heterogeneity{}}
		if i == 7 {
			c.Heterogeneity.Differ = true
		}
		for range 100 {
			c.Machines = append(c.Machines, stat.MachineComparison{Machine: &stat.Machine{Name: "m"}})
		}
		s.Comparisons = append(s.Comparisons, c)
	}
	table := byMachineTable(s)
	if len(table.Rows) != 102 || !strings.HasPrefix(table.Rows[101][0].Text, "39 comparisons without a difference") {
		t.Errorf("%d rows, the last %v", len(table.Rows), table.Rows[len(table.Rows)-1])
	}
	s.Comparisons = s.Comparisons[:10]
	if table = byMachineTable(s); len(table.Rows) != 1010 {
		t.Errorf("%d rows, want all", len(table.Rows))
	}
}

// Parameters that all pairs share are said once; what differs names the pair.
func TestShort(t *testing.T) {
	pair := func(key string) []stat.Comparison { return []stat.Comparison{{A: key, B: key}} }
	for _, tc := range []struct {
		keys         []string
		want, common string
	}{
		{[]string{"a/n=1/s=x/gc=off", "a/n=1/s=y/gc=off"}, "a s=x|a s=y", "n=1 gc=off"},
		{[]string{"a/n=1", "b/n=1"}, "a|b", "n=1"},
		{[]string{"a/n=1/gc=off"}, "a/n=1/gc=off", ""},
		{[]string{"a/n=1", "a/n=1/s=y"}, "a/n=1|a/n=1/s=y", ""},
	} {
		var pairs [][]stat.Comparison
		for _, key := range tc.keys {
			pairs = append(pairs, pair(key))
		}
		names, common := short(pairs)
		if got := strings.Join(names, "|"); got != tc.want || common != tc.common {
			t.Errorf("%v: %q, %q; want %q, %q", tc.keys, got, common, tc.want, tc.common)
		}
	}
}
