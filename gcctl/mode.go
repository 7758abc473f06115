package gcctl

import (
	"fmt"
	"strconv"
	"strings"
)

// A Mode says when collections happen. Modes are comparable; the zero Mode is
// Default.
type Mode struct {
	kind    kind
	percent int // of Percent
}

type kind uint8

const (
	standard kind = iota
	percentage
	off
	hybrid
	idle
	adaptive
)

var (
	// Default keeps the GOGC that Start found.
	Default = Mode{}
	// Off switches GOGC off: the runtime collects only when memory nears the
	// budget. It needs a budget: if other code removes the limit, the controller
	// falls back.
	Off = Mode{kind: off}
	// Hybrid collects while no critical section is open: when the heap has grown
	// as far as the GOGC found by Start allows, and every Interval.
	Hybrid = Mode{kind: hybrid}
	// Idle keeps the GOGC that Start found, and collects earlier when a caller of
	// [Controller.Idle] has time.
	Idle = Mode{kind: idle}
	// Adaptive adjusts GOGC so that the collector takes TargetCPU of the CPU time and
	// memory stays within the budget. It sets the runtime's limit to 96 % of the budget,
	// because the runtime neither counts all memory nor guarantees its limit; lower while
	// the live heap grows; and below the heap while a collection is marking that may exceed
	// the budget, so that allocating goroutines mark first.
	Adaptive = Mode{kind: adaptive}
)

// Percent sets GOGC to n, which must be 1 to 1,000,000.
func Percent(n int) Mode { return Mode{kind: percentage, percent: n} }

var kindNames = [...]string{
	standard: "default", off: "off", hybrid: "hybrid", idle: "idle", adaptive: "adaptive", percentage: "percent",
}

// String returns the mode as ParseMode reads it.
func (m Mode) String() string {
	if m.kind == percentage {
		return "percent=" + strconv.Itoa(m.percent)
	}
	return kindNames[m.kind]
}

// ParseMode reads "default", "off", "hybrid", "idle", "adaptive" or
// "percent=N".
func ParseMode(s string) (Mode, error) {
	if n, ok := strings.CutPrefix(s, "percent="); ok {
		percent, err := strconv.Atoi(n)
		if err != nil {
			return Mode{}, fmt.Errorf("gcctl: ParseMode: %q is not a percentage; write percent=200, say", n)
		}
		m := Percent(percent)
		if err := m.check(); err != nil {
			return Mode{}, fmt.Errorf("gcctl: ParseMode: %w", err)
		}
		return m, nil
	}
	for k, name := range kindNames {
		if name == s && kind(k) != percentage {
			return Mode{kind: kind(k)}, nil
		}
	}
	return Mode{}, fmt.Errorf("gcctl: ParseMode: no mode %q; use default, off, hybrid, idle, adaptive or percent=N", s)
}

func (m Mode) check() error {
	if m.kind == percentage && (m.percent < 1 || m.percent > maxAnyPercent) {
		return fmt.Errorf("percent %d is out of range; use 1 to %d, or mode off", m.percent, maxAnyPercent)
	}
	return nil
}

// maxAnyPercent keeps the runtime's arithmetic on heap goals in 64 bits.
const maxAnyPercent = 1_000_000
