package store

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"

	"github.com/isobar-go/isobar/internal/cell"
)

// deflaters holds idle *zlib.Writer: making one takes more memory than most
// documents.
var deflaters = sync.Pool{New: func() any { return zlib.NewWriter(nil) }}

// encodeDocument compresses what of a record has no table of its own.
func encodeDocument(rec *cell.Record, profiles map[string][]byte) ([]byte, error) {
	rest := *rec
	rest.Cell = cell.Cell{}
	rest.Metrics = nil
	rest.Profiles = nil
	for kind := range profiles {
		if rest.Profiles == nil {
			rest.Profiles = make(map[string]string, len(profiles))
		}
		rest.Profiles[kind] = ""
	}
	var buf bytes.Buffer
	z := deflaters.Get().(*zlib.Writer)
	defer deflaters.Put(z)
	z.Reset(&buf)
	if err := cell.Encode(z, rest); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// maxDocument bounds what a damaged document may decompress to.
const maxDocument = 1 << 30

// decodeDocument is the inverse of encodeDocument. Most of a document are the
// columns of numbers of the timeline and the pauses: they are cut out and read
// by themselves, which the general decoder takes several times as long for
// (BenchmarkDecode).
func decodeDocument(data []byte) (*cell.Record, error) {
	text, err := inflate(data)
	if err != nil {
		return nil, err
	}
	rec := new(cell.Record)
	rest, line, hasLine := cut(text, timelineKey, parseTimeline)
	rest, pauses, hasPauses := cut(rest, pausesKey, parsePauses)
	if err := cell.Decode(bytes.NewReader(rest), rec); err != nil {
		return nil, err
	}
	if hasLine {
		rec.Timeline = line
	}
	if hasPauses {
		rec.Pauses = pauses
	}
	return rec, nil
}

// inflate decompresses a document. The checksum stands at the end of the
// stream, so all of it is read.
func inflate(data []byte) ([]byte, error) {
	z, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	var buf bytes.Buffer
	buf.Grow(8 * len(data))
	if _, err := io.Copy(&buf, io.LimitReader(z, maxDocument)); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// A rawRecord is a record as the store has it.
type rawRecord struct {
	index int
	doc   string // its cell
	data  []byte
}

func (r *rawRecord) decode(run int64) (*cell.Record, error) {
	rec, err := decodeDocument(r.data)
	if err != nil {
		return nil, fmt.Errorf("record of cell %d is damaged: restore the store from a copy, or remove run %d: %w", r.index, run, err)
	}
	return rec, cell.Decode(strings.NewReader(r.doc), &rec.Cell)
}

// decodeAll decodes the records of a run, on all CPUs.
func decodeAll(run int64, raw []rawRecord) ([]*cell.Record, error) {
	records, errs := make([]*cell.Record, len(raw)), make([]error, len(raw))
	workers := min(runtime.GOMAXPROCS(0), len(raw))
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() { // each owns every so many of both slices
			for i := w; i < len(raw); i += workers {
				records[i], errs[i] = raw[i].decode(run)
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return records, nil
}
