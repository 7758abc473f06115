package fleet

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/store"
)

// A Job is a block on its way to a worker.
type Job struct {
	Sweep string `json:"sweep"`
	Block int    `json:"block"`
	// Cells are all run, in this order.
	Cells []cell.Cell `json:"cells"`
	// Programs replace the first word of the cells' commands, by platform
	// (OS/ARCH). Empty for cells without a command.
	Programs map[string]Program `json:"programs,omitempty"`
}

// A Program is an executable in the object store.
type Program struct {
	SHA256 string `json:"sha256"` // of its bytes, in hex; also the object's name
	Bytes  int64  `json:"bytes"`
}

// A Result is everything from one attempt at a block.
type Result struct {
	Sweep string `json:"sweep"`
	Block int    `json:"block"`
	// Origin belongs to all records, which travel without one.
	Origin  *cell.Origin  `json:"origin"`
	Records []cell.Record `json:"records"` // in the order of the job's cells
	// Profiles holds each record's profiles by kind; nil if no cell kept any.
	Profiles []map[string][]byte `json:"profiles,omitempty"`
}

// A Dead is a message that was given up.
type Dead struct {
	Reason string `json:"reason"`
	// Worker is who gave up; "" for the coordinator.
	Worker     string `json:"worker,omitempty"`
	Deliveries int    `json:"deliveries,omitempty"`
	// Message is the beginning of the message.
	Message []byte `json:"message,omitempty"`
}

// deadSample is how much of a dead message is kept.
const deadSample = 16 << 10

func sample(data []byte) []byte { return data[:min(len(data), deadSample)] }

func workSubject(sweep string, block int) string   { return blockSubject("work", sweep, block) }
func resultSubject(sweep string, block int) string { return blockSubject("result", sweep, block) }

func blockSubject(kind, sweep string, block int) string {
	return "isobar." + kind + "." + sweep + "." + strconv.Itoa(block)
}

// sweepSubjects are the subjects of all blocks of a sweep.
func sweepSubjects(kind, sweep string) string { return "isobar." + kind + "." + sweep + ".*" }

// subjectBlock is the inverse of blockSubject: it parses the last two tokens.
func subjectBlock(subject string) (sweep string, block int, err error) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 4 {
		return "", 0, fmt.Errorf("subject %s names no block", subject)
	}
	block, err = strconv.Atoi(tokens[3])
	if err != nil || block < 0 || strconv.Itoa(block) != tokens[3] {
		return tokens[2], 0, fmt.Errorf("subject %s names no block", subject)
	}
	return tokens[2], block, nil
}

// deadSubject is where a message with the given subject goes when it is given
// up.
func deadSubject(subject string) string {
	_, rest, _ := strings.Cut(strings.TrimPrefix(subject, "isobar."), ".")
	return "isobar.dead." + rest
}

// decodeJob decodes a job and checks what all workers rely on.
func decodeJob(subject string, data []byte) (Job, error) {
	var job Job
	if len(data) > maxMessage {
		return job, fmt.Errorf("oversized: %d bytes, at most %d", len(data), maxMessage)
	}
	if err := decodeStrict(bytes.NewReader(data), &job); err != nil {
		return job, fmt.Errorf("malformed: %w", err)
	}
	sweep, block, err := subjectBlock(subject)
	switch {
	case err != nil:
		return job, fmt.Errorf("malformed: %w", err)
	case job.Sweep != sweep || job.Block != block:
		return job, fmt.Errorf("malformed: block %d of sweep %q on subject %s", job.Block, job.Sweep, subject)
	case len(job.Cells) == 0:
		return job, errors.New("malformed: a block without cells")
	}
	for i, c := range job.Cells {
		if c.Block != block || c.Index < 0 || i > 0 && c.Index <= job.Cells[i-1].Index {
			return job, fmt.Errorf("malformed: cell %d of block %d is out of place in block %d", c.Index, c.Block, block)
		}
	}
	return job, nil
}

func decodeStrict(r io.Reader, v any) error {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("data after the document")
	}
	return nil
}

// maxResult bounds the size of a decompressed result.
const maxResult = 1 << 30

// deflaters and inflaters hold idle *gzip.Writer and *gzip.Reader: making one
// takes more memory than most results.
var (
	deflaters = sync.Pool{New: func() any {
		z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
		return z
	}}
	inflaters = sync.Pool{New: func() any { return new(gzip.Reader) }}
)

func (r *Result) encode() ([]byte, error) {
	var b bytes.Buffer
	z := deflaters.Get().(*gzip.Writer)
	defer deflaters.Put(z)
	z.Reset(&b)
	if err := json.NewEncoder(z).Encode(r); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// decodeResult decodes a result and checks that it is one whole attempt at the
// planned cells.
func decodeResult(sweep string, planned []cell.Cell, data []byte) (*Result, error) {
	z := inflaters.Get().(*gzip.Reader)
	defer inflaters.Put(z)
	if err := z.Reset(bytes.NewReader(data)); err != nil {
		return nil, fmt.Errorf("malformed: %w", err)
	}
	r := new(Result)
	limited := &io.LimitedReader{R: z, N: maxResult}
	if err := decodeStrict(limited, r); err != nil {
		if limited.N <= 0 {
			return nil, fmt.Errorf("oversized: more than %d bytes", maxResult)
		}
		return nil, fmt.Errorf("malformed: %w", err)
	}
	if r.Sweep != sweep || len(r.Records) != len(planned) || r.Profiles != nil && len(r.Profiles) != len(planned) {
		return nil, fmt.Errorf("malformed: %d records of sweep %q for the %d cells of block %d of %s", len(r.Records),
			r.Sweep, len(planned), planned[0].Block, sweep)
	}
	if r.Origin == nil || r.Origin.Attempt == "" || r.Origin.Worker == "" {
		return nil, errors.New("malformed: no origin")
	}
	for i := range r.Records {
		if err := checkRecord(&r.Records[i], &planned[i]); err != nil {
			return nil, fmt.Errorf("malformed: record %d: %w", i, err)
		}
		r.Records[i].Origin = r.Origin
	}
	return r, nil
}

func checkRecord(rec *cell.Record, planned *cell.Cell) error {
	// Nil and empty lists are equal, because their encodings are.
	if !reflect.DeepEqual(&rec.Cell, planned) {
		got, err1 := json.Marshal(rec.Cell)
		want, err2 := json.Marshal(planned)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("not for the planned cell (%s)", planned.Key())
		}
		rec.Cell = *planned
	}
	for metric, value := range rec.Metrics {
		if err := store.CheckMetric(metric, value); err != nil {
			return err
		}
	}
	return nil
}

// Entries returns the records with their profiles, in the form the store takes.
func (r *Result) Entries() []store.Entry {
	entries := make([]store.Entry, len(r.Records))
	for i := range r.Records {
		entries[i].Record = r.Records[i]
		if r.Profiles != nil {
			entries[i].Profiles = r.Profiles[i]
		}
	}
	return entries
}
