package show_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/page"
)

// program is a group of runs of a program, each with n collections.
func program(command string, gc cell.GC, n int) *stat.Group {
	g := &stat.Group{Config: cell.Config{Workload: "exec", Command: []string{command}, GC: gc}}
	g.Key = g.Config.Key()
	g.Series = map[string]stat.Series{cell.WallTime: seriesOf(cell.WallTime, 1, 1.2, 1.1), cell.RSSPeak: seriesOf(cell.RSSPeak, 50<<20, 51<<20, 52<<20)}
	for block := range 3 {
		rec := &cell.Record{Cell: cell.Cell{Config: g.Config, Block: block}, Metrics: map[string]float64{cell.GCCycles: float64(n)}}
		rec.Timeline = cell.Timeline{AtNs: []int64{0, 1e9}, HeapBytes: []int64{1 << 20, 4 << 20}}
		for i := range n {
			rec.Cycles = append(rec.Cycles, cell.Cycle{N: uint64(i + 1), Percent: 3, AtNs: int64(i+1) * 1e6, SweepNs: 1e5, MarkNs: 2e6, TerminationNs: 3e5, CPUNs: 9e6, AssistNs: 2e6, DedicatedNs: 6e6,
				IdleNs: 4e6, StartBytes: 5 << 20, EndBytes: 6 << 20, LiveBytes: 2 << 20, GoalBytes: 7 << 20, StackBytes: 1 << 20, GlobalBytes: 3 << 20, Procs: 2, Forced: i == 1, Leaks: i == 2})
		}
		g.Records = append(g.Records, rec)
	}
	return g
}

// rows returns the cell texts of each row of a page's first table.
func rows(page string) [][]string {
	var out [][]string
	for _, row := range regexp.MustCompile(`(?s)<tr>(.*?)</tr>`).FindAllStringSubmatch(strings.SplitN(page, "</table>", 2)[0], -1) {
		var cells []string
		for _, c := range regexp.MustCompile(`<t[hd][^>]*>(.*?)</t[hd]>`).FindAllStringSubmatch(row[1], -1) {
			cells = append(cells, c[1])
		}
		out = append(out, cells)
	}
	return out
}

func TestCollectionsOfCell(t *testing.T) {
	render := func(rec *cell.Record, v page.View) string {
		t.Helper()
		shown, err := page.NewCell(cell.Run{ID: 4}, rec, v)
		if err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		if err := page.Templates().ExecuteTemplate(&buf, "cell", shown); err != nil {
			t.Fatal(err)
		}
		_, after, found := strings.Cut(buf.String(), `<h2 id="collections">`)
		if listed := strings.Contains(fmt.Sprint(shown.Contents), "{collections Collections}"); found != listed || found != (len(rec.Cycles) > 0) {
			t.Errorf("collections: %v, in the contents %v, of %d", found, listed, len(rec.Cycles))
		}
		after, _, _ = strings.Cut(after, "</section>")
		return after
	}
	rec := program("prog", cell.DefaultGC, 250).Records[0]
	rec.Metrics[cell.GCCycles] = 20_000
	section := render(rec, page.View{})
	table := rows(section)
	if !strings.Contains(section, "<details class=\"more\"><summary>") || len(table) != 201 || !strings.Contains(section, "The first 200; 50 more are in the record.") || !strings.Contains(section, "there were 19750 more") {
		t.Fatalf("%d rows: %s", len(table), section[max(len(section)-400, 0):])
	}
	want := "1 automatic 1.00 ms 3 % 100 µs 2.00 ms 300 µs 400 µs 5.00 MiB 6.00 MiB 2.00 MiB 7.00 MiB 1.00 MiB 3.00 MiB 2.00 ms 6.00 ms 4.00 ms 1.00 ms 2"
	if got := strings.Join(table[1], " "); got != want {
		t.Errorf("first row %s, want %s", got, want)
	}
	if got := []string{table[2][1], table[3][1]}; got[0] != "forced" || got[1] != "automatic, leak check" {
		t.Errorf("kinds %q", got)
	}
	rec.Timeline.AtNs[1] = 250e6
	section = render(rec, page.View{From: 220 * time.Millisecond, To: 225 * time.Millisecond, Exact: true})
	if table := rows(section); len(table) != 7 || table[1][0] != "220" || table[1][2] != "220000000 ns" || !strings.Contains(section, " From 220 ms to 225 ms.") {
		t.Errorf("a stretch of 5 ms: %q", table)
	}
	// A record from before collections were numbered, with two processes.
	rec.Cycles = []cell.Cycle{{AtNs: 1e6, MarkNs: 1e6, CPUNs: 1e6}, {Stream: 1, AtNs: 1e6, MarkNs: 1e6, CPUNs: 1e6}}
	table = rows(render(rec, page.View{}))
	if got := strings.Join(table[2], " "); got != "2 of process 2 automatic 1.00 ms – – 1.00 ms – – 0 0 0 – 0 0 – – 0 – 0" {
		t.Errorf("an old record: %s", got)
	}
	rec.Cycles = nil
	render(rec, page.View{})
	// Figures that no program should write.
	rec.Cycles = []cell.Cycle{{N: 1<<64 - 1, Stream: -1, AtNs: -1 << 63, CPUNs: -1 << 63, AssistNs: 1<<63 - 1, LiveBytes: 1<<63 - 1, Percent: -1, Procs: -3}}
	if odd := regexp.MustCompile(`NaN|[^a-z]Inf|%!`).FindString(render(rec, page.View{})); odd != "" {
		t.Errorf("%q in the page", odd)
	}
}
