package store

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// deflaters holds idle *zlib.Writer: creating one takes more memory than most
// documents.
var deflaters = sync.Pool{New: func() any { return zlib.NewWriter(nil) }}

// encodeDocument compresses the parts of a record that have no table.
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
	return deflate(func(w io.Writer) error { return cell.Encode(w, rest) })
}

// deflate returns the compressed output of write.
func deflate(write func(io.Writer) error) ([]byte, error) {
	var buf bytes.Buffer
	z := deflaters.Get().(*zlib.Writer)
	defer deflaters.Put(z)
	z.Reset(&buf)
	err := errors.Join(write(z), z.Close())
	return buf.Bytes(), err
}

// maxDocument is the largest size to which a document, possibly damaged, is decompressed.
const maxDocument = 1 << 30

// decodeDocument is the inverse of encodeDocument.
func decodeDocument(data []byte) (*cell.Record, error) {
	text, err := inflate(data)
	if err != nil {
		return nil, err
	}
	rec := new(cell.Record)
	return rec, cell.Decode(bytes.NewReader(text), rec)
}

// inflaters holds idle values of io.ReadCloser that are also zlib.Resetter.
var inflaters sync.Pool

// inflate decompresses a document. It reads all of it, because the checksum is
// at the end of the stream.
func inflate(data []byte) ([]byte, error) {
	z, _ := inflaters.Get().(io.ReadCloser)
	var err error
	if z == nil {
		z, err = zlib.NewReader(bytes.NewReader(data))
	} else {
		err = z.(zlib.Resetter).Reset(bytes.NewReader(data), nil)
	}
	if err != nil {
		return nil, err // do not reuse a reader after damaged data
	}
	var buf bytes.Buffer
	buf.Grow(8 * len(data))
	if _, err := io.Copy(&buf, io.LimitReader(z, maxDocument)); err != nil {
		return nil, err
	}
	inflaters.Put(z)
	return buf.Bytes(), nil
}

// A rawRow is a cell as stored.
type rawRow struct {
	index int
	doc   string // its plan
	data  []byte // document of the record; nil without one
}

func (r *rawRow) decode(run int64) (c cell.Cell, rec *cell.Record, err error) {
	if err := cell.Decode(strings.NewReader(r.doc), &c); err != nil || r.data == nil {
		return c, nil, err
	}
	if rec, err = decodeDocument(r.data); err != nil {
		return c, nil, fmt.Errorf("record of cell %d is damaged: restore the store from a copy, or remove run %d: %w",
			r.index, run, err)
	}
	rec.Cell = c
	return c, rec, nil
}

// decodeAll decodes the cells and records of a run on all CPUs.
func decodeAll(run int64, rows []rawRow) ([]cell.Cell, []*cell.Record, error) {
	cells, records := make([]cell.Cell, len(rows)), make([]*cell.Record, len(rows))
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for i := range rows {
		all.Go(func() (err error) {
			cells[i], records[i], err = rows[i].decode(run)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, nil, err
	}
	return cells, slices.DeleteFunc(records, func(r *cell.Record) bool { return r == nil }), nil
}
