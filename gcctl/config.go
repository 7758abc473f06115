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

// Config describes a controller. Its zero value leaves GOGC as it is and
// enforces the memory limit that the environment sets.
type Config struct {
	Mode Mode

	// LimitBytes is the memory budget of the process, in the runtime's sense:
	// all memory the runtime has mapped and not released, as for GOMEMLIMIT.
	// 0 means the least of GOMEMLIMIT and 90 % of the control group's memory
	// limit; without either there is no budget.
	LimitBytes int64

	// TargetCPU is the collector's share of the CPU time that the process
	// uses, for Adaptive; 0 means 0.07. It includes what marking slows the
	// program down by, taken as half of what the runtime accounts to the
	// collector: Stats.GCCPU, without that, settles at two thirds of it.
	TargetCPU float64

	// MaxSection is how long a critical section may last before the watchdog
	// cuts it; 0 means one second. It is noticed up to a quarter later.
	MaxSection time.Duration

	// Interval is the longest time between collections in Hybrid mode; 0
	// means that only the growth of the heap makes one due.
	Interval time.Duration

	Logger  *slog.Logger // receives events; nil for none
	OnEvent func(Event)  // receives events; must not block
	OnShed  func(Shed)   // asked to shed load when nothing can fit the budget; must not block

	// FallbackSignals make the controller fall back to standard behaviour,
	// as Fallback does.
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
	EventCut                            // collections are allowed in spite of critical sections
	EventAlarm                          // the budget leaves the collector no room, or does so again
	EventShed                           // OnShed was called
	EventForeignChange                  // somebody else changed GOGC or the memory limit
	EventFallback                       // control has fallen back to standard behaviour
)

var eventNames = [...]string{"cycle", "mode change", "cut", "alarm", "shed", "foreign change", "fallback"}

func (k EventKind) String() string { return eventNames[k] }

// An Event is something that happened to the collector or to its control. The
// figures are those of the moment.
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
	GCCPU       float64 // the collector's share of used CPU time over the last collections
}

// A Shed asks the program to hold less memory.
type Shed struct {
	LiveBytes   int64
	BudgetBytes int64
	ExcessBytes int64 // how much less should be live, for the collector to have ample room
	Cycles      int   // collections since the alarm began
}

// Stats are a controller's gauges and counters. Gauges of the heap are as of
// the controller's last look at it.
type Stats struct {
	Mode     Mode
	Fallback bool // fallen back to standard behaviour
	Alarm    bool // the budget leaves the collector no room; sections do not hold
	Holding  bool // the runtime's GOGC is off and the controller starts collections

	Percent         int // GOGC in force, -1 for off
	GoalPercent     int // what collections of the controller go by, -1 for the budget only
	LimitBytes      int64
	FoundPercent    int // what Close restores
	FoundLimitBytes int64

	BudgetBytes int64 // 0 for none
	MemoryBytes int64 // what the budget is compared with
	HeapBytes   int64
	LiveBytes   int64
	TimeToLimit time.Duration // at the present rate; -1 for never
	GCCPU       float64

	Open         int    // critical sections, cut ones included
	Begun        uint64 // critical sections
	Cut          uint64
	Cycles       uint64 // collections, whoever started them
	RuntimeStart uint64 // by the runtime's limit while sections were held

	// Collections started by the controller, by cause.
	Scheduled, Idle, Forced, Watchdog uint64

	PercentChanges uint64 // by Adaptive
	ModeChanges    uint64
	ForeignChanges uint64
	Alarms         uint64
	Sheds          uint64
	Polls          uint64
	PollTime       time.Duration // wall time that reading the runtime's metrics took
}
