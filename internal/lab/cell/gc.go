package cell

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// GC is a setting of the garbage collector, as environment variables set it before
// the program starts.
type GC struct {
	// Name is the setting's own name if the user gave one: default, tuned or
	// disabled.
	Name string `json:"name,omitempty"`
	// Percent is GOGC: -1 for off, otherwise 1 or more.
	Percent int `json:"percent"`
	// LimitBytes is GOMEMLIMIT in bytes; 0 means no limit.
	LimitBytes int64 `json:"limit_bytes,omitempty"`
}

// The named settings of the seed study (document 000, step 1): the runtime's
// default, its "tuned" 500 %, and collection turned off.
var (
	DefaultGC  = GC{Name: "default", Percent: 100}
	TunedGC    = GC{Name: "tuned", Percent: 500}
	DisabledGC = GC{Name: "disabled", Percent: -1}
)

// ParseGC reads a setting: default, tuned, disabled (or off), a GOGC
// percentage, or GOGC:LIMIT where LIMIT is a GOMEMLIMIT such as 512MiB.
func ParseGC(s string) (GC, error) {
	percent, limit, hasLimit := strings.Cut(s, ":")
	var gc GC
	switch percent {
	case "default":
		gc = DefaultGC
	case "tuned":
		gc = TunedGC
	case "disabled", "off":
		gc = DisabledGC
	default:
		n, err := strconv.Atoi(percent)
		if err != nil || n < 1 || n > math.MaxInt32 {
			return GC{}, fmt.Errorf("cell: GC setting %q: want default, tuned, disabled, a GOGC percentage of 1 or more, or "+
				"GOGC:LIMIT such as 200:512MiB", s)
		}
		gc = GC{Percent: n}
	}
	if hasLimit {
		n, err := ParseBytes(limit)
		if err != nil || n < 1e6 { // no program runs in less: a unit is missing
			return GC{}, fmt.Errorf("cell: GC setting %q: limit %q: want a size with its unit, such as 512MiB or 2GiB", s,
				limit)
		}
		gc.LimitBytes = n
	}
	return gc, nil
}

// String returns the setting in the form that ParseGC reads.
func (g GC) String() string {
	s := g.Name
	if s == "" {
		s = g.GOGC()
	}
	if g.LimitBytes > 0 {
		s += ":" + FormatBytes(g.LimitBytes)
	}
	return s
}

// GOGC returns the value of the environment variable GOGC.
func (g GC) GOGC() string {
	if g.Percent < 0 {
		return "off"
	}
	return strconv.Itoa(g.Percent)
}

// Names of the environment variables of a setting.
const (
	EnvGOGC  = "GOGC"
	EnvLimit = "GOMEMLIMIT"
)

// Env returns the environment variables for the setting. It sets both, as neither should be
// inherited, but for those named in unset whose value is the runtime's default.
func (g GC) Env(unset ...string) (env []string) {
	if g.Percent != DefaultGC.Percent || !slices.Contains(unset, EnvGOGC) {
		env = append(env, EnvGOGC+"="+g.GOGC())
	}
	switch {
	case g.LimitBytes > 0:
		env = append(env, EnvLimit+"="+strconv.FormatInt(g.LimitBytes, 10))
	case !slices.Contains(unset, EnvLimit):
		env = append(env, EnvLimit+"=off")
	}
	return env
}

// EnvironmentGC reads GOGC and GOMEMLIMIT from an environment as the runtime does: a
// negative GOGC is off. Values that the runtime silently replaces are errors, and so
// is GOGC=0, with which it collects without end.
func EnvironmentGC(environ []string) (GC, error) {
	gc := DefaultGC
	for _, entry := range environ {
		switch name, value, _ := strings.Cut(entry, "="); {
		case value == "":
		case name == "GOGC" && value == "off":
			gc = GC{Percent: -1, LimitBytes: gc.LimitBytes}
		case name == "GOGC":
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				return GC{}, fmt.Errorf("%s in the environment: the runtime silently takes this for 100: want a number or off",
					entry)
			}
			if n == 0 {
				return GC{}, fmt.Errorf("%s in the environment: with it the runtime collects without end: want 1 or more, or off",
					entry)
			}
			if n != int64(DefaultGC.Percent) {
				gc = GC{Percent: int(max(n, -1)), LimitBytes: gc.LimitBytes}
			}
		case name == "GOMEMLIMIT" && value != "off":
			n, err := ParseBytes(value)
			if err != nil || n == 0 {
				return GC{}, fmt.Errorf("%s in the environment: want a size such as 512MiB, or off", entry)
			}
			if n < math.MaxInt64 { // MaxInt64 is off
				gc.LimitBytes = n
			}
		}
	}
	return gc, nil
}

// WithoutEnv returns an environment without the named variables.
func WithoutEnv(environ []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, name)
	})
}

var byteUnits = []struct {
	suffix string
	factor int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"kB", 1e3}, {"B", 1},
}

// ParseBytes reads a size: a whole number and an optional unit, binary (KiB,
// MiB, GiB, TiB) or decimal (KB, MB, GB, TB).
func ParseBytes(s string) (int64, error) {
	digits, factor := s, int64(1)
	for _, u := range byteUnits {
		if rest, ok := strings.CutSuffix(s, u.suffix); ok {
			digits, factor = strings.TrimSpace(rest), u.factor
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/factor {
		return 0, fmt.Errorf("cell: size %q: want a whole number with an optional unit, such as 64KiB, 512MiB or 2GB", s)
	}
	return n * factor, nil
}

// ParseSize is ParseBytes for values that people type. It requires a unit, as "512" may mean
// bytes or MiB, and refuses 0.
func ParseSize(s string) (int64, error) {
	n, err := ParseBytes(s)
	if err == nil && (n == 0 || !strings.HasSuffix(s, "B")) {
		err = fmt.Errorf("cell: size %q: want a number above 0 and its unit, such as 512MiB", s)
	}
	return n, err
}

// FormatBytes writes n in the largest binary unit that divides it. ParseBytes
// reads the result.
func FormatBytes(n int64) string {
	for _, u := range byteUnits[:4] {
		if n >= u.factor && n%u.factor == 0 {
			return strconv.FormatInt(n/u.factor, 10) + u.suffix
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}
