// Package modes is the study of document 001's two matrices: which memory mode
// of http11 fits which kind of service, and which requirement each mode meets. A [Row] is a
// workload to measure with the mode as a factor; [Studies] makes the plan from the rows, and
// [Page] computes the two matrices from an analyzed run. The package measures nothing itself.
package modes

import (
	"strings"

	"github.com/isobar-go/isobar/http11"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/plan"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// modes are the levels of the factor; ratios are relative to the first.
var modes = func() (names []string) {
	for _, mode := range http11.MemoryModes() {
		names = append(names, mode.String())
	}
	return names
}()

var (
	p99  = stat.LatencyMetric(cell.HistResponse, "p99")
	tail = stat.LatencyMetric(cell.HistResponse, "p99.9")
)

// A Row is one kind of service.
type Row struct {
	Name  string
	Says  string // the mode that the document recommends; "" if the document lacks this service
	About string
	Flags string // of 'isobar lab run', beside the factor
	// Metrics are those that count, most important first.
	Metrics []string

	workload, factor string
}

func server(name, says, about, flags string, metrics ...string) Row {
	return Row{name, says, about, flags + " --duration 1200ms", metrics, "http", "server"}
}

// Rows are the document's nine workloads, then those needed for the requirements and for
// the share of a request's memory.
var Rows = []Row{
	server("REST API below 10,000 requests/s", "pooled",
		"POST of 512 bytes with 8 headers, 8 KiB of garbage a request from decoding and encoding, beside a live heap of "+
			"64 MiB: a collection every second or so",
		"--body 512 --reply 1KiB --alloc 8KiB --from heap --live 64MiB --rate 6000", cell.OpCPU, tail),
	server("REST API above 100,000 requests/s", "pooled",
		"16 requests at a time on each connection, 1 KiB of request memory, as fast as they are answered",
		"--pipeline 16 --alloc 1KiB --rate 0", cell.OpCPU, tail),
	server("File server", "pooled", "Files of 64 KiB, which the kernel copies",
		"--answer file --reply 64KiB --rate 4000", cell.OpCPU, cell.RSSPeak),
	server("WebSocket", "pooled", "500 connections that were handed over, messages of 128 bytes",
		"--answer upgrade --body 128 --connections 500 --rate 8000", cell.OpCPU, cell.RSSPeak),
	server("API gateway", "slab", "GET with 32 headers, 4 KiB of request memory, 5 ms for another service to answer",
		"--headers 32 --alloc 4KiB --wait 5ms --connections 256 --rate 6000", cell.OpCPU, tail),
	server("Batch processing", "slab", "16 requests at a time on each connection",
		"--pipeline 16 --alloc 1KiB --rate 32000", cell.OpCPU, tail),
	server("Real-time trading", "arena", "GET with 4 KiB of request memory beside a live heap of 64 MiB: the tail counts",
		"--alloc 4KiB --live 64MiB --rate 2000", tail, cell.OpCPU),
	server("Embedded, memory-constrained", "slab",
		"2,000 connections, requests of 2 KiB that take 16 KiB of request memory for 100 ms, some 500 of them at a time",
		"--body 2KiB --alloc 16KiB --wait 100ms --connections 2000 --rate 5000", cell.RSSPeak, cell.OpCPU),
	server("Development and testing", "pooled", "200 requests a second on 4 connections, as a test suite sends",
		"--connections 4 --rate 200", cell.OpCPU, cell.RSSPeak),
	server("Uploads", "", "Bodies of 256 KiB, read as a whole",
		"--body 256KiB --connections 16 --rate 400", cell.OpCPU, cell.RSSPeak),
	server(middling, "", "GET, four at a time on each connection", "--pipeline 4 --alloc 1KiB --rate 20000", cell.OpCPU),
	server(plaintext, "", "GET with 8 headers, 128 bytes in answer, as fast as they are answered", "--alloc 0 --rate 0",
		cell.OpCPU),
	{memoryAlone, "", "The memory for 8 headers and 512 bytes, filled and read", "--shape typical --duration 400ms",
		[]string{cell.OpTime}, "httpmem", "mode"},
}

const (
	middling    = "20,000 requests/s"
	plaintext   = "Plaintext"
	memoryAlone = "Memory of a request alone"
)

// A requirement is met if a figure of a row, of alone or divided by over, lies within a bound.
type requirement struct {
	Name     string
	Says     [3]string // the document's words for standard pool, slabs and arena
	Row      string
	of, over string
	least    float64
	most     float64 // 0 if least is the bound
}

var requirements = []requirement{
	{"below 10,000 requests/s", [3]string{"yes", "yes", "overkill"}, Rows[0].Name, cell.Done, cell.Scheduled, 0.99, 0},
	{"10,000 to 100,000 requests/s", [3]string{"ideal", "OK", "yes"}, middling, cell.Done, cell.Scheduled, 0.99, 0},
	{"above 100,000 requests/s", [3]string{"yes", "no", "ideal"}, Rows[1].Name, cell.Throughput, "", 100_000, 0},
	{"p99 below 1 ms", [3]string{"yes", "maybe", "yes"}, Rows[6].Name, p99, "", 0, 1e6},
	{"p99 below 100 µs", [3]string{"yes", "no", "yes"}, Rows[6].Name, p99, "", 0, 1e5},
	{"memory below 1 GB", [3]string{"OK", "ideal", "yes"}, Rows[7].Name, cell.RSSPeak, "", 0, 1e9},
	{"more than 4 GB available", [3]string{"yes", "yes", "yes"}, Rows[7].Name, cell.RSSPeak, "", 0, 4e9},
}

// Command returns the command that measures only this row.
func (r Row) Command() string {
	return "isobar lab run " + r.workload + " --" + r.factor + " " + strings.Join(modes, ",") + " " + r.Flags
}

// Studies returns the plan: one study per row.
func Studies() (studies []plan.Study) {
	for _, r := range Rows {
		s := plan.Study{Workload: r.workload, Name: r.Name, Factors: []plan.Factor{{Name: r.factor, Levels: modes}}}
		words := strings.Fields(r.Flags)
		for i := 0; i+1 < len(words); i += 2 {
			s.Factors = append(s.Factors, plan.Factor{Name: strings.TrimPrefix(words[i], "--"), Levels: words[i+1 : i+2]})
		}
		studies = append(studies, s)
	}
	return studies
}
