package workload

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// figures reads figures from the standard output of a program or a load
// generator. It takes lines of the Go benchmark format by unit
// ("/figure:ns/op", "/figure:p99-ns"; the geometric mean of several lines), and
// a JSON object, if that is the whole output or its last line, by path
// ("/figure:latencies.99th"). It belongs to the goroutine that calls read, and
// to its starter once read has returned.
type figures struct {
	written int64
	end     []byte             // of the output
	values  map[string]float64 // from JSON
	logs    map[string]float64 // from benchmark lines: sums of logarithms
	lines   map[string]float64 // number of those lines
}

const (
	maxFigures = 1000
	maxJSON    = 1 << 20 // bytes of a document
	maxEnd     = 4 << 10 // bytes of the end
)

// read reads to the end of r, or until an error.
func (f *figures) read(r io.Reader) {
	f.values, f.logs, f.lines = map[string]float64{}, map[string]float64{}, map[string]float64{}
	in := bufio.NewReaderSize(r, 64<<10)
	var document, last []byte
	for whole := true; ; {
		line, err := in.ReadSlice('\n')
		f.written += int64(len(line))
		f.keepEnd(line)
		starts := whole
		whole = !errors.Is(err, bufio.ErrBufferFull)
		if starts && bytes.HasPrefix(line, []byte("Benchmark")) {
			f.benchmark(string(line))
		}
		if f.written == int64(len(line)) && bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) {
			document = make([]byte, 0, len(line))
		}
		if document != nil && f.written <= maxJSON {
			document = append(document, line...)
		}
		if starts && whole && bytes.HasPrefix(line, []byte("{")) {
			last = append(last[:0], line...)
		}
		if err != nil && whole {
			break
		}
	}
	if !f.json(document) {
		f.json(last)
	}
}

// keepEnd keeps the end of the input.
func (f *figures) keepEnd(line []byte) {
	f.end = append(f.end, line[max(len(line)-maxEnd, 0):]...)
	if len(f.end) > 16*maxEnd {
		f.end = append(f.end[:0], f.end[len(f.end)-maxEnd:]...)
	}
}

// last returns the end of the output.
func (f *figures) last() string { return string(f.end[max(len(f.end)-maxEnd, 0):]) }

// benchmark reads a line such as "BenchmarkX-2 100 25 ns/op 3 MB/s".
func (f *figures) benchmark(line string) {
	fields := strings.Fields(line)
	if len(fields) < 4 || len(fields)%2 != 0 {
		return
	}
	if n, err := strconv.Atoi(fields[1]); err != nil || n < 1 {
		return
	}
	for i := 2; i < len(fields); i += 2 {
		v, err := strconv.ParseFloat(fields[i], 64)
		if unit := fields[i+1]; err == nil && v > 0 && !math.IsInf(v, 0) && len(f.lines) < maxFigures {
			f.logs[unit] += math.Log(v)
			f.lines[unit]++
		}
	}
}

// json reads the numbers of an object and reports whether it is one.
func (f *figures) json(data []byte) bool {
	var object map[string]any
	if len(data) == 0 || json.Unmarshal(data, &object) != nil {
		return false
	}
	f.flatten("", object)
	return true
}

func (f *figures) flatten(prefix string, object map[string]any) {
	for name, value := range object {
		switch v := value.(type) {
		case float64:
			if len(f.values) < maxFigures {
				f.values[prefix+name] = v
			}
		case map[string]any:
			f.flatten(prefix+name+".", v)
		}
	}
}

// record stores the figures in rec.
func (f *figures) record(rec *cell.Record) {
	for name, v := range f.values {
		rec.Set(cell.FigurePrefix+name, v)
	}
	for unit, n := range f.lines {
		rec.Set(cell.FigurePrefix+unit, math.Exp(f.logs[unit]/n))
	}
}
