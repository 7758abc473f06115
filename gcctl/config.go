package gcctl

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"
)

var (
	// ErrRunning is returned by Start while another controller is running.
	ErrRunning = errors.New("gcctl: Start: a controller is running in this process; close it first, or share it")
	// ErrClosed is returned by methods of a closed controller.
	ErrClosed = errors.New("gcctl: the controller is closed; start another one")
)

// Config describes a controller. The zero value keeps GOGC and enforces the
// memory limit set by the environment.
type Config struct {
	Mode Mode

	// LimitBytes is the memory budget of the process. As for GOMEMLIMIT, it covers
	// all memory that the runtime has mapped and not released. 0 means the lower
	// of GOMEMLIMIT and 90 % of the control group's memory limit, as Start finds
	// them; with neither there is no budget. A group resized later needs a new
	// controller, or a debug.SetMemoryLimit, which has the group read again.
	LimitBytes int64

	// TargetCPU is the share of the process's CPU time that the collector may take
	// in Adaptive mode; 0 means 0.07. It includes how much marking slows the
	// program down, estimated at half of the CPU time that the runtime accounts to
	// the collector. Stats.GCCPU leaves the slowdown out and settles at two thirds
	// of TargetCPU.
	TargetCPU float64

	// MaxSection is how long a critical section may last before the watchdog cuts it; 0
	// means one second. The watchdog may be up to 25 % late.
	MaxSection time.Duration

	// Interval is the longest time between collections in Hybrid mode; 0 means
	// that only heap growth triggers one.
	Interval time.Duration

	Logger  *slog.Logger // receives events; nil for none
	OnEvent func(Event)  // receives events; must not block
	OnShed  func(Shed)   // asked to shed load when the live heap leaves the collector no room; must not block

	// FallbackSignals trigger a Fallback.
	FallbackSignals []os.Signal
}

func (cfg *Config) complete() error {
	if err := cfg.Mode.check(); err != nil {
		return fmt.Errorf("gcctl: Start: %w", err)
	}
	switch {
	case cfg.LimitBytes < 0:
		return fmt.Errorf("gcctl: Start: LimitBytes %d is negative; use 0 for the limit of the environment", cfg.LimitBytes)
	case cfg.TargetCPU != 0 && !(cfg.TargetCPU >= 0.001 && cfg.TargetCPU <= 0.5): // NaN too
		return fmt.Errorf("gcctl: Start: TargetCPU %v is out of range; use 0.001 to 0.5", cfg.TargetCPU)
	case cfg.MaxSection < 0:
		return fmt.Errorf("gcctl: Start: MaxSection %v is negative; use 0 for %v", cfg.MaxSection, policy.maxSection)
	case cfg.Interval < 0:
		return fmt.Errorf("gcctl: Start: Interval %v is negative; use 0 for none", cfg.Interval)
	}
	if cfg.TargetCPU == 0 {
		cfg.TargetCPU = policy.targetCPU
	}
	if cfg.MaxSection == 0 {
		cfg.MaxSection = policy.maxSection
	}
	return nil
}

// EventKind says what an Event reports.
type EventKind uint8

const (
	EventCycle         EventKind = iota // one or more collections have ended
	EventModeChange                     // a mode was set
	EventCut                            // collections may run despite critical sections
	EventAlarm                          // the budget leaves the collector no room, or leaves room again
	EventShed                           // OnShed was called
	EventForeignChange                  // someone else changed GOGC or the memory limit
	EventFallback                       // control fell back to standard behaviour
)

var eventNames = [...]string{"cycle", "mode change", "cut", "alarm", "shed", "foreign change", "fallback"}

func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return fmt.Sprintf("EventKind(%d)", uint8(k))
}

// An Event reports something that happened to the collector or the controller.
// Its figures are those of that moment.
type Event struct {
	Time    time.Time
	Kind    EventKind
	Message string

	Mode        Mode
	Percent     int   // GOGC in force, -1 for off
	LimitBytes  int64 // the runtime's memory limit in force
	BudgetBytes int64 // 0 for none
	HeapBytes   int64 // live and dead objects
	LiveBytes   int64 // marked by the last collection
	Cycles      uint64
	Sections    int     // open and not cut
	GCCPU       float64 // the collector's share of used CPU time over recent collections
}

// A Shed asks the program to free memory.
type Shed struct {
	LiveBytes   int64
	BudgetBytes int64
	ExcessBytes int64 // by how much the live heap should shrink to give the collector ample room
	Cycles      int   // collections since the alarm began
}

// Stats are a controller's gauges and counters. Heap gauges are as of the
// controller's last look at the heap.
type Stats struct {
	Mode     Mode
	Fallback bool // fallen back to standard behaviour
	Alarm    bool // the budget leaves the collector no room; sections hold nothing back
	Holding  bool // the runtime's GOGC is off and the controller starts collections

	Percent         int // GOGC in force, -1 for off
	GoalPercent     int // GOGC that the controller collects by, -1 for the budget only
	LimitBytes      int64
	FoundPercent    int // what Close restores
	FoundLimitBytes int64

	BudgetBytes int64 // 0 for none
	MemoryBytes int64 // compared with the budget
	HeapBytes   int64
	LiveBytes   int64
	TimeToLimit time.Duration // at the present rate; -1 for never
	GCCPU       float64

	Open         int    // critical sections, including cut ones
	Begun        uint64 // critical sections
	Cut          uint64
	Cycles       uint64 // collections, whoever started them
	RuntimeStart uint64 // started by the runtime's limit despite sections

	// Collections started by the controller, by cause.
	Scheduled, Idle, Forced, Watchdog uint64

	PercentChanges uint64 // by Adaptive
	ModeChanges    uint64
	ForeignChanges uint64
	Alarms         uint64
	Sheds          uint64
	Polls          uint64
	PollTime       time.Duration // wall time spent reading the runtime's metrics
}
