package cell

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/gc/phase"
	"github.com/isobar-go/isobar/internal/gc/trace"
)

// A Record is everything that came back from one cell. A failed cell has a
// Record too, with Err and whatever was measured before it failed.
type Record struct {
	Cell    Cell      `json:"cell"`
	Started time.Time `json:"started"`
	// Err says why the cell failed; nil if it finished.
	Err *Failure `json:"err,omitempty"`
	// Warnings are doubts about the figures. They are stored with the data.
	Warnings []Warning `json:"warnings,omitempty"`
	// Metrics holds the scalar figures by metric name; see metrics.go.
	Metrics map[string]float64 `json:"metrics,omitempty"`
	// Latency holds whole latency histograms by name (HistResponse,
	// HistService), each in the compressed HDR encoding of package latency.
	// Values are nanoseconds.
	Latency map[string][]byte `json:"latency,omitempty"`
	// Buckets holds the runtime's own histograms by name (HistPause,
	// HistSched).
	Buckets map[string]Buckets `json:"buckets,omitempty"`
	// Timeline is memory over time.
	Timeline Timeline `json:"timeline,omitzero"`
	// Pauses lists single stop-the-world pauses, for plotting. The histogram
	// in Buckets is the complete record; this list may lack some.
	Pauses []Pause `json:"pauses,omitempty"`
	// Cycles lists the collections of an exec cell's program in the order in which
	// they ended; if there are too many, only the first ones.
	Cycles []Cycle `json:"cycles,omitempty"`
	// Phases say what the collector did during the slowest operations, if the
	// cell's profiles include phases or trace.
	Phases *Phases `json:"phases,omitempty"`
	// Noise is what else happened on the machine during the cell.
	Noise Noise `json:"noise,omitzero"`
	// GoVersion and Experiments say how the child was built.
	GoVersion   string `json:"go_version,omitempty"`
	Experiments string `json:"experiments,omitempty"`
	// Check is the workload's checksum: equal for cells that did equal work.
	Check string `json:"check,omitempty"`
	// Stderr is the end of the standard error of the child (or of an exec cell's
	// program), without gctrace lines.
	Stderr string `json:"stderr,omitempty"`
	// Stdout is the end of the standard output of a program that failed.
	Stdout string `json:"stdout,omitempty"`
	// Profiles names the kept profiles, by kind. On the way from child to runner
	// the values are file names; the store keeps the bytes and leaves the values
	// empty.
	Profiles map[string]string `json:"profiles,omitempty"`
	// Origin says where a fleet measured the cell; nil if the run's own machine
	// did.
	Origin *Origin `json:"origin,omitempty"`
}

// An Origin is the worker and the attempt behind a fleet's record. All records
// of a block share it.
type Origin struct {
	Machine Machine `json:"machine"`
	// Worker names the worker. Attempt identifies the one time that it ran the
	// block.
	Worker  string `json:"worker"`
	Attempt string `json:"attempt"`
}

// A Failure says how a cell failed.
type Failure struct {
	Kind    FailureKind `json:"kind"`
	Message string      `json:"message"`
}

// FailureKind classifies failures.
type FailureKind string

const (
	// FailTimeout: the cell ran longer than Cell.Timeout and was killed.
	FailTimeout FailureKind = "timeout"
	// FailMemory: the cell's processes occupied more than Cell.MemoryBytes
	// and were killed, or the kernel refused memory.
	FailMemory FailureKind = "memory"
	// FailKilled: the child died from a signal that the runner did not send.
	FailKilled FailureKind = "killed"
	// FailExit: the program of an exec cell exited with a non-zero status.
	FailExit FailureKind = "exit"
	// FailWorkload: the workload reported an error, such as a malformed
	// input file.
	FailWorkload FailureKind = "workload"
	// FailCrash: the child ended without a Record, for example in a panic.
	FailCrash FailureKind = "crash"
	// FailFleet: no worker of the fleet returned the cell's block.
	FailFleet FailureKind = "fleet"
)

func (f *Failure) Error() string {
	kind := string(f.Kind) + ": "
	return kind + strings.TrimPrefix(f.Message, kind) // workload is both a kind and a package
}

// A Warning is a doubt about a figure.
type Warning struct {
	// Code identifies the kind of doubt, for example "steal" or "few-gc".
	Code string `json:"code"`
	// Text is one sentence for a person.
	Text string `json:"text"`
}

// Buckets is a histogram with explicit boundaries, as in runtime/metrics,
// without the empty buckets. Count[i] values were in [Lower[i], Upper[i]). An
// infinite bound is clamped to the finite bound of the same bucket.
type Buckets struct {
	Lower []float64 `json:"lower"` // seconds
	Upper []float64 `json:"upper"` // seconds
	Count []uint64  `json:"count"`
}

// Timeline is memory over time, in columns of equal length, one row per sample.
// Columns that a platform or workload cannot fill are empty.
type Timeline struct {
	AtNs      []int64 `json:"at_ns"` // since the start of the measured phase
	HeapBytes []int64 `json:"heap_bytes,omitempty"`
	GoalBytes []int64 `json:"goal_bytes,omitempty"`
	SysBytes  []int64 `json:"sys_bytes,omitempty"`
	RSSBytes  []int64 `json:"rss_bytes,omitempty"`
	Cycles    []int64 `json:"cycles,omitempty"` // GC cycles finished so far
}

// NoGoal is the least heap goal that means none: with collection off, the runtime
// reports nearly the whole address space.
const NoGoal = 1 << 50

// A Pause is one stop-the-world pause of a GC cycle.
type Pause struct {
	AtNs int64 `json:"at_ns"` // its end, since the start of the measured phase
	Ns   int64 `json:"ns"`
}

// A Cycle is one collection of a program.
type Cycle = trace.Cycle

// Phases say what the collector did during the slowest operations of a cell.
type Phases = phase.Attribution

// Noise is what else happened on the machine while a cell ran.
type Noise struct {
	// Steal is the share of CPU time, 0 to 1, that the hypervisor gave to others
	// while this machine wanted to run.
	Steal float64 `json:"steal"`
	// CPUPressure is the share of time, 0 to 1, in which some runnable task waited
	// for a CPU (pressure-stall information); -1 if unknown.
	CPUPressure float64 `json:"cpu_pressure"`
	// MemoryPressure is the same for memory stalls; -1 if unknown.
	MemoryPressure float64 `json:"memory_pressure"`
	// OtherCPU is the CPU time that other processes used, in CPUs; -1 if unknown.
	OtherCPU float64 `json:"other_cpu"`
}

// Machine is the fingerprint of the machine that a run was measured on.
type Machine struct {
	Hostname    string   `json:"hostname"` // a digest of the name, not the name
	OS          string   `json:"os"`
	Arch        string   `json:"arch"`
	Kernel      string   `json:"kernel"`
	CPU         string   `json:"cpu"`
	CPUs        int      `json:"cpus"`         // logical CPUs available to the process
	CPUQuota    float64  `json:"cpu_quota"`    // cgroup CPU limit in CPUs; 0 for none
	MemoryBytes int64    `json:"memory_bytes"` // usable memory: physical, or the cgroup limit if lower
	Cgroup      string   `json:"cgroup"`       // "v1", "v2", "hybrid" or ""
	Virtual     string   `json:"virtual,omitempty"`
	Governor    string   `json:"governor,omitempty"`
	HugePages   string   `json:"huge_pages,omitempty"` // transparent_hugepage/enabled
	Clocksource string   `json:"clocksource,omitempty"`
	GoVersion   string   `json:"go_version"`
	Isobar      string   `json:"isobar"` // version of this program
	Warnings    []string `json:"warnings,omitempty"`
}

// Warn adds a warning, once per code and text.
func (r *Record) Warn(code, format string, args ...any) {
	w := Warning{Code: code, Text: fmt.Sprintf(format, args...)}
	if !slices.Contains(r.Warnings, w) {
		r.Warnings = append(r.Warnings, w)
	}
}

// Set records a metric.
func (r *Record) Set(metric string, value float64) {
	if r.Metrics == nil {
		r.Metrics = make(map[string]float64)
	}
	r.Metrics[metric] = value
}

// SetLatency records a latency histogram, of package latency.
func (r *Record) SetLatency(name string, h encoding.BinaryMarshaler) {
	data, err := h.MarshalBinary()
	if err != nil {
		panic("cell: " + name + " histogram: " + err.Error()) // it is written to memory
	}
	if r.Latency == nil {
		r.Latency = make(map[string][]byte)
	}
	r.Latency[name] = data
}

// Encode writes v, a Cell or a Record, as one line of JSON.
func Encode(w io.Writer, v any) error {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		return fmt.Errorf("cell: encode: %w", err)
	}
	return nil
}

// Decode reads one JSON document into v, a pointer to a Cell or a Record.
// Unknown fields are an error, because both ends are the same program. Empty
// input gives io.ErrUnexpectedEOF.
func Decode(r io.Reader, v any) error {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("cell: decode: %w", err)
	}
	return nil
}
