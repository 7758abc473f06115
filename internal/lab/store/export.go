package store

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/latency"
)

// Export writes every sample of a run in one of these formats:
//
//   - benchfmt: the Go benchmark format, one line per finished cell, which
//     benchstat and Import read. Failed cells are left out.
//   - csv: one line per sample, with a column for each factor, and for worker
//     and host if a fleet measured. A failed cell is marked in the column
//     failure, and has a line even if it measured nothing.
//   - json: the run, its plan, and the whole records. Their histograms are also
//     under latency_hdr, in the compressed HdrHistogram V2 format.
//
// The first two include the metrics named by stat.LatencyMetric besides the
// measured ones.
func (s *Store) Export(w io.Writer, run int64, format string) error {
	write, ok := map[string]func(io.Writer, Run, []cell.Cell, []*cell.Record) error{
		"benchfmt": exportBenchmarks, "csv": exportCSV, "json": exportJSON,
	}[format]
	if !ok {
		return fmt.Errorf("store: export: unknown format %q: want benchfmt, csv or json", format)
	}
	r, cells, records, err := s.Whole(run)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	if err = write(out, r, cells, records); err == nil {
		err = out.Flush()
	}
	if err != nil {
		return fmt.Errorf("store: export run %d: %w", run, err)
	}
	return nil
}

// csvTail are the columns of a sample that follow those of its cell.
var csvTail = []string{"failure", "metric", "unit", "value"}

func exportCSV(w io.Writer, run Run, cells []cell.Cell, records []*cell.Record) error {
	var factors []string
	for _, c := range cells {
		for _, name := range c.Factors() {
			if !slices.Contains(factors, name) {
				factors = append(factors, name)
			}
		}
	}
	own := []string{"run", "cell", "block", "key"}
	fleet := slices.ContainsFunc(records, func(r *cell.Record) bool { return r.Origin != nil })
	if fleet {
		own = append(own, "machine", "host")
	}
	head := slices.Clone(own)
	for _, name := range factors {
		if slices.Contains(own, name) || slices.Contains(csvTail, name) {
			name = "factor:" + name
		}
		head = append(head, name)
	}
	out := csv.NewWriter(w)
	out.Write(append(head, csvTail...)) // Error returns the error of any write
	for _, rec := range records {
		metrics, err := stat.Metrics(rec)
		if err != nil {
			return err
		}
		row, failure := csvRow(run, rec, factors, fleet), ""
		if rec.Err != nil {
			failure = string(rec.Err.Kind)
		}
		if len(metrics) == 0 {
			out.Write(append(row, failure, "", "", ""))
		}
		for _, metric := range slices.Sorted(maps.Keys(metrics)) {
			value := strconv.FormatFloat(metrics[metric], 'g', -1, 64)
			out.Write(append(row, failure, metric, cell.Unit(metric), value))
		}
	}
	out.Flush()
	return out.Error()
}

// csvRow returns the columns that identify a sample's cell.
func csvRow(run Run, rec *cell.Record, factors []string, fleet bool) []string {
	c := rec.Cell
	row := []string{strconv.FormatInt(run.ID, 10), strconv.Itoa(c.Index), strconv.Itoa(c.Block), c.Key()}
	if fleet {
		worker, host := "", run.Machine.Hostname
		if o := rec.Origin; o != nil {
			worker, host = o.Worker, o.Machine.Hostname
		}
		row = append(row, worker, host)
	}
	for _, name := range factors {
		value, _ := c.Factor(name)
		row = append(row, value)
	}
	return row
}

// jsonRecord is a record with its histograms in an interoperable form.
type jsonRecord struct {
	*cell.Record
	HDR map[string][]byte `json:"latency_hdr,omitempty"`
}

func exportJSON(w io.Writer, run Run, cells []cell.Cell, records []*cell.Record) error {
	out := make([]jsonRecord, len(records))
	for i, rec := range records {
		out[i] = jsonRecord{rec, map[string][]byte{}}
		for name, data := range rec.Latency {
			var h latency.Histogram
			if err := h.UnmarshalBinary(data); err != nil {
				return fmt.Errorf("cell %d: %s latency: %w", rec.Cell.Index, name, err)
			}
			hdr, err := h.EncodeHDR()
			if err != nil {
				return fmt.Errorf("cell %d: %s latency: %w", rec.Cell.Index, name, err)
			}
			out[i].HDR[name] = hdr
		}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(struct {
		Run     Run          `json:"run"`
		Cells   []cell.Cell  `json:"cells"`
		Records []jsonRecord `json:"records"`
	}{run, cells, out})
}
