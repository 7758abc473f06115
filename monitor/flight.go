package monitor

import (
	"bytes"
	"fmt"
	"runtime/trace"
	"sync"
	"time"
)

// An Alarm is a condition on a figure. While a Monitor has alarms, the
// runtime's flight recorder runs. The first sample that meets a condition saves
// the recording of the seconds before it, and the page offers it for download.
// The Monitor saves the next one once the condition has ended and a minute has
// passed.
type Alarm struct {
	Key   string  // of a figure that is not a counter
	Above float64 // in the unit of the figure
}

// A recording is the flight recorder's content at an alarm.
type recording struct {
	at    time.Time
	why   string
	trace []byte
}

const (
	quiet       = time.Minute // between recordings
	flightAge   = 10 * time.Second
	flightBytes = 8 << 20
)

// flight watches for alarms and saves recordings.
type flight struct {
	alarms   []Alarm
	columns  []int // index of each alarm's figure
	recorder *trace.FlightRecorder
	ringing  bool // owned by the sampling goroutine
	again    time.Time

	mu   sync.Mutex
	last *recording // guarded by mu; the recording itself never changes
	err  error      // guarded by mu: error of the last failed recording
}

func newFlight(alarms []Alarm, figures []Figure, index map[string]int) (*flight, error) {
	f := &flight{alarms: alarms,
		recorder: trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: flightAge, MaxBytes: flightBytes})}
	for _, a := range alarms {
		column, ok := index[a.Key]
		if !ok {
			return nil, fmt.Errorf("alarm on %q: no such figure", a.Key)
		}
		if figures[column].Counter {
			return nil, fmt.Errorf("alarm on %q: a counter only grows, so it would stay above; use another figure", a.Key)
		}
		f.columns = append(f.columns, column)
	}
	if err := f.recorder.Start(); err != nil {
		return nil, fmt.Errorf("flight recorder: %w; stop the other recorder or leave out Alarms", err)
	}
	return f, nil
}

// look saves a recording if a figure in the row exceeds its alarm.
func (f *flight) look(now time.Time, row []float64) {
	for i, a := range f.alarms {
		if !(row[f.columns[i]] > a.Above) {
			continue
		}
		if !f.ringing && !now.Before(f.again) {
			f.keep(now, fmt.Sprintf("%s was %v, above %v", a.Key, row[f.columns[i]], a.Above))
			f.again = now.Add(quiet)
		}
		f.ringing = true
		return
	}
	f.ringing = false
}

func (f *flight) keep(now time.Time, why string) {
	var b bytes.Buffer
	_, err := f.recorder.WriteTo(&b)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err = err; err == nil {
		f.last = &recording{now, why, b.Bytes()}
	}
}

func (f *flight) recording() (*recording, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last, f.err
}

func (f *flight) close() { f.recorder.Stop() }
