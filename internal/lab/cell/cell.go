// Package cell defines measurements and their results: a [Cell] is one
// repetition of one configuration, a [Record] is everything that a child
// process reported about it.
//
// The package is pure data and its codec. A Cell goes to the child process as
// one JSON document on stdin, and one Record comes back as one JSON document on
// stdout; the store keeps the same documents. Nothing here runs, reads a clock
// or touches the machine.
package cell

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Config is what one cell measures, without the repetition. Two cells with
// equal Keys are repetitions of each other.
type Config struct {
	// Workload names a registered workload.
	Workload string `json:"workload"`
	// Study distinguishes several studies of one workload, each with its own
	// baseline; "" if the run has one.
	Study string `json:"study,omitempty"`
	// Params holds every parameter of the workload, in flag syntax.
	Params map[string]string `json:"params,omitempty"`
	// Command is the program that the exec workload runs.
	Command []string `json:"command,omitempty"`
	// GC sets the child's GOGC and GOMEMLIMIT.
	GC GC `json:"gc"`
	// Unset names those of GOGC and GOMEMLIMIT that the Command's environment lacks where GC has
	// the runtime's default: the program may have a default of its own. It is no factor.
	Unset []string `json:"unset,omitempty"`
	// GOMAXPROCS is the child's GOMAXPROCS; 0 leaves it to the Go runtime.
	GOMAXPROCS int `json:"gomaxprocs,omitempty"`
	// Pod bounds the program of an exec or serve cell.
	Pod Pod `json:"pod,omitzero"`
	// Collector is the build variant: "greentea", "classic", "goarenas", or "" for
	// the running binary's collector.
	Collector string `json:"collector,omitempty"`
	// Go is the Go version that builds the binary, such as "1.27.4"; "" for that of
	// the running binary.
	Go string `json:"go,omitempty"`
	// Twin marks the second copy of the baseline in every block: comparing it with
	// the baseline (A/A) shows the noise floor.
	Twin bool `json:"twin,omitempty"`
}

// A Cell is one configuration and one repetition: the unit of work for a fresh
// child process.
type Cell struct {
	Config
	// Index is the position in the plan, from 0. It identifies the cell
	// within its run.
	Index int `json:"index"`
	// Order is the position of the configuration in the plan, from 0, before
	// blocks were shuffled. The first configuration of a study is the baseline for
	// the others.
	Order int `json:"order"`
	// Block is the repetition, from 0. Cells of one block are compared with
	// each other.
	Block int `json:"block"`
	// Seed feeds the workload's random numbers. All cells of a block share
	// it, so that paired cells do the same work.
	Seed uint64 `json:"seed"`
	// Timeout is the time after which the child is killed; 0 means no limit.
	Timeout time.Duration `json:"timeout_ns,omitempty"`
	// MemoryBytes is the memory of its process tree above which the child is killed;
	// 0 means no limit.
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
	// WarmUp is how long a server is loaded before recording, where it would decide that itself; 0 lets it.
	WarmUp time.Duration `json:"warmup_ns,omitempty"`
	// Untimed spends the whole budget of a closed loop on time, CPU and allocation
	// per operation. Single operations are not timed, so there are no latencies.
	Untimed bool `json:"untimed,omitempty"`
	// Profiles lists the profiles to keep: cpu, heap, allocs, trace, phases.
	Profiles []string `json:"profiles,omitempty"`
}

// Key returns the configuration in canonical form, for example
//
//	strategies/size=1024/strategy=plain/gc=default
//
// Parameters are sorted by name. Equal configurations have equal keys. The
// form is also the name of a benchmark in the Go benchmark format, so spaces
// and slashes inside values are escaped as %20 and %2F.
func (c Config) Key() string {
	var b strings.Builder
	b.WriteString(escape(c.Workload))
	for _, name := range c.Factors()[1:] {
		value, _ := c.Factor(name)
		if name == "twin" {
			value = twinMark
		}
		fmt.Fprintf(&b, "/%s=%s", name, escape(value))
	}
	return b.String()
}

// Title returns the name of the study that c belongs to.
func (c Config) Title() string { return cmp.Or(c.Study, c.Workload) }

// A setting is a factor of every workload, besides its parameters. get returns "" if the
// configuration leaves it out.
type setting struct {
	name string
	get  func(c *Config) string
	set  func(c *Config, value string) error
}

// settings are in the order in which keys name them.
var settings = []setting{
	{"command", func(c *Config) string { return strings.Join(c.Command, " ") },
		func(c *Config, v string) error { c.Command = strings.Split(v, " "); return nil }},
	{"gc", func(c *Config) string { return c.GC.String() },
		func(c *Config, v string) (err error) { c.GC, err = ParseGC(v); return err }},
	{"gomaxprocs", func(c *Config) string { return given(c.GOMAXPROCS > 0, strconv.Itoa(c.GOMAXPROCS)) },
		(*Config).setProcs},
	{"pod", func(c *Config) string { return given(c.Pod != Pod{}, c.Pod.String()) },
		func(c *Config, v string) (err error) { c.Pod, err = ParsePod(v); return err }},
	{"collector", func(c *Config) string { return c.Collector },
		func(c *Config, v string) error { c.Collector = v; return nil }},
	{"go", func(c *Config) string { return c.Go }, func(c *Config, v string) error { c.Go = v; return nil }},
	{"twin", func(c *Config) string { return given(c.Twin, "true") },
		func(c *Config, v string) error { c.Twin = v == twinMark; return nil }},
}

// given returns value if is is set, else "".
func given(is bool, value string) string {
	if !is {
		return ""
	}
	return value
}

// twinMark is the mark of a twin in keys.
const twinMark = "aa"

func (c *Config) setProcs(value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return fmt.Errorf("cell: GOMAXPROCS %q: want a whole number of 1 or more", value)
	}
	c.GOMAXPROCS = n
	return nil
}

func findSetting(name string) *setting {
	if i := slices.IndexFunc(settings, func(s setting) bool { return s.name == name }); i >= 0 {
		return &settings[i]
	}
	return nil
}

// IsSetting reports whether the named factor is a setting.
func IsSetting(name string) bool { return findSetting(name) != nil }

// Factor returns the value of the named factor: "workload", a setting, or a
// parameter. ok is false if the configuration has no such factor.
func (c Config) Factor(name string) (value string, ok bool) {
	if name == "workload" {
		return c.Workload, true
	}
	if s := findSetting(name); s != nil {
		value = s.get(&c)
		return value, value != ""
	}
	value, ok = c.Params[name]
	return value, ok
}

// Set sets a factor other than the workload, to a value as written in keys.
func (c *Config) Set(name, value string) error {
	if s := findSetting(name); s != nil {
		return s.set(c, value)
	}
	c.Params = maps.Clone(c.Params)
	if c.Params == nil {
		c.Params = make(map[string]string)
	}
	c.Params[name] = value
	return nil
}

// Factors returns the names of c's factors in the order in which Key writes
// them.
func (c Config) Factors() []string {
	names := append([]string{"workload"}, slices.Sorted(maps.Keys(c.Params))...)
	for _, s := range settings {
		if s.get(&c) != "" {
			names = append(names, s.name)
		}
	}
	return names
}

var escaper = strings.NewReplacer("%", "%25", " ", "%20", "/", "%2F", "\t", "%09", "\n", "%0A")

func escape(s string) string { return escaper.Replace(s) }

// Readable returns a key without escapes, for people.
func Readable(key string) string {
	if text, err := url.PathUnescape(key); err == nil { // otherwise it is from an imported run
		return text
	}
	return key
}
