package monitor

import (
	"bytes"
	"fmt"
	"runtime/trace"
	"sync"
	"time"
)

// An Alarm is a condition of a figure. While a Monitor has alarms the runtime's
// flight recorder runs, and the first sample that fulfils one of them keeps its
// recording of the seconds before, for the page to offer. The next is kept
// when the condition has ended and a minute has passed.
type Alarm struct {
	Key   string  // of a figure that is not a counter
	Above float64 // in the unit of the figure
}

// A recording is what the flight recorder had at an alarm.
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

// flight watches for alarms.
type flight struct {
	alarms   []Alarm
	columns  []int // of the alarms
	recorder *trace.FlightRecorder
	ringing  bool // owned by the goroutine that samples
	again    time.Time

	mu   sync.Mutex
	last *recording // guarded by mu; the recording itself does not change
	err  error      // guarded by mu: of the last recording that failed
}

func newFlight(alarms []Alarm, index map[string]int) (*flight, error) {
	f := &flight{alarms: alarms, recorder: trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: flightAge, MaxBytes: flightBytes})}
	for _, a := range alarms {
		column, ok := index[a.Key]
		if !ok {
			return nil, fmt.Errorf("alarm on %q: there is no such figure", a.Key)
		}
		f.columns = append(f.columns, column)
	}
	if err := f.recorder.Start(); err != nil {
		return nil, fmt.Errorf("flight recorder: %w; stop the other one, or leave Alarms out", err)
	}
	return f, nil
}

// look keeps a recording if a figure of the row is beyond its alarm.
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
