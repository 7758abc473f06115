package monitor

import (
	"math"
	"time"

	"github.com/isobar-go/isobar/eventloop"
	"github.com/isobar-go/isobar/gcctl"
	"github.com/isobar-go/isobar/http11"
	"github.com/isobar-go/isobar/latency"
	"github.com/isobar-go/isobar/pool"
)

// Controller returns the figures of a GC controller.
func Controller(c *gcctl.Controller) Source {
	const budget, actions = "GC controller: memory budget", "GC controller"
	return Source{
		Figures: []Figure{
			{Key: "/gcctl/budget:bytes", Help: "Memory budget.", Chart: budget},
			{Key: "/gcctl/memory:bytes", Help: "What the budget is compared with.", Chart: budget},
			{Key: "/gcctl/gogc:percent", Help: "GOGC in force; nothing if it is off.", Chart: "GOGC"},
			{Key: "/gcctl/time-to-limit:seconds", Help: "Until memory reaches the budget at the present rate; nothing for never.", Chart: "Time to limit"},
			{Key: "/gcctl/collections:events", Help: "Collections that the controller started.", Counter: true, Chart: actions},
			{Key: "/gcctl/mode-changes:events", Help: "Changes of mode.", Counter: true, Chart: actions},
			{Key: "/gcctl/cuts:events", Help: "Critical sections that were cut.", Counter: true, Chart: actions},
			{Key: "/gcctl/alarms:events", Help: "Alarms: the budget left the collector no room.", Counter: true, Chart: actions},
			{Key: "/gcctl/sheds:events", Help: "Calls that asked the program to shed load.", Counter: true, Chart: actions},
			{Key: "/gcctl/foreign-changes:events", Help: "Changes of GOGC or the limit by somebody else.", Counter: true, Chart: actions},
		},
		Read: func(v []float64) {
			s := c.Stats()
			v[0], v[1] = orNone(float64(s.BudgetBytes), s.BudgetBytes > 0), float64(s.MemoryBytes)
			v[2], v[3] = orNone(float64(s.Percent), s.Percent >= 0), orNone(s.TimeToLimit.Seconds(), s.TimeToLimit >= 0)
			v[4] = float64(s.Scheduled + s.Idle + s.Forced + s.Watchdog)
			v[5], v[6], v[7], v[8], v[9] = float64(s.ModeChanges), float64(s.Cut), float64(s.Alarms), float64(s.Sheds), float64(s.ForeignChanges)
		},
	}
}

// orNone is v if there is such a value.
func orNone(v float64, there bool) float64 {
	if !there {
		return math.NaN()
	}
	return v
}

// Pool returns the figures of a pool; stats is its Stats method. The name
// tells pools of a program apart.
func Pool(name string, stats func() pool.Stats) Source {
	counts, idle := "Pool "+name, "Pool "+name+": objects"
	key := func(of string) string { return "/pool/" + name + "/" + of }
	return Source{
		Figures: []Figure{
			{Key: key("hits:gets"), Help: "Gets served by an idle object.", Counter: true, Chart: counts},
			{Key: key("misses:gets"), Help: "Gets served by a new object.", Counter: true, Chart: counts},
			{Key: key("in-use:objects"), Help: "Objects taken and not given back.", Chart: idle},
			{Key: key("idle:objects"), Help: "Objects ready to be taken.", Chart: idle},
		},
		Read: func(v []float64) {
			s := stats()
			v[0], v[1], v[2], v[3] = float64(s.Hits), float64(s.Misses), float64(s.InUse), float64(s.Idle)
		},
	}
}

// Latency returns the quantiles of what r recorded since the sample before, such
// as the latency of tasks (eventloop.Config.Latency) or of requests; nothing where
// there is none. The name tells recorders of a program apart.
func Latency(name string, r *latency.Recorder) Source {
	shares, to, w := []float64{0.5, 0.99, 0.999, 1}, make([]time.Duration, 4), r.Window()
	key := func(of string) string { return "/latency/" + name + "/" + of }
	chart := "Latency " + name
	count := 0.0
	return Source{
		Figures: []Figure{
			{Key: key("p50:seconds"), Help: "Half of them took less.", Chart: chart},
			{Key: key("p99:seconds"), Help: "99 % of them took less.", Chart: chart},
			{Key: key("p99.9:seconds"), Help: "99.9 % of them took less.", Chart: chart},
			{Key: key("max:seconds"), Help: "The longest.", Chart: chart},
			{Key: key("recorded:events"), Help: "How many were recorded.", Counter: true, Chart: chart + ": number"},
		},
		Read: func(v []float64) {
			n := w.Next(shares, to)
			for i, d := range to {
				v[i] = orNone(d.Seconds(), n > 0)
			}
			count += float64(n)
			v[4] = count
		},
	}
}

// Loop returns the figures of an event loop. The name tells loops of a program
// apart. For the latency of its tasks, hand Config.Latency to [Latency].
func Loop(name string, l *eventloop.Loop) Source {
	key := func(of string) string { return "/loop/" + name + "/" + of }
	return Source{
		Figures: []Figure{
			{Key: key("tasks:tasks"), Help: "Tasks started.", Counter: true, Chart: "Loop " + name},
			{Key: key("queued:tasks"), Help: "Tasks submitted and not started.", Chart: "Loop " + name + ": queue"},
			{Key: key("lag:seconds"), Help: "How late the last timer was run.", Chart: "Loop " + name + ": lag"},
			{Key: key("wakeups:events"), Help: "Wake-ups of the sleeping loop.", Counter: true, Chart: "Loop " + name + ": wake-ups"},
			{Key: key("panics:events"), Help: "Panics in tasks.", Counter: true, Chart: "Loop " + name + ": wake-ups"},
			{Key: key("turns:turns"), Help: "Turns of the loop, less up to 63 of the last.", Counter: true, Chart: "Loop " + name + ": turns"},
		},
		Read: func(v []float64) {
			s := l.Stats()
			v[0], v[1], v[2], v[3], v[4] = float64(s.Tasks), float64(s.Queued), s.Lag.Seconds(), float64(s.Wakeups), float64(s.Panics)
			v[5] = float64(s.Turns)
		},
	}
}

// Server returns the figures of an HTTP server. The name tells servers of a
// program apart.
func Server(name string, s *http11.Server) Source {
	key := func(of string) string { return "/http11/" + name + "/" + of }
	return Source{
		Figures: []Figure{
			{Key: key("accepted:connections"), Help: "Connections accepted.", Counter: true, Chart: "Server " + name},
			{Key: key("refused:requests"), Help: "Requests that were malformed or beyond a limit.", Counter: true, Chart: "Server " + name + ": trouble"},
			{Key: key("timeouts:requests"), Help: "Time-outs of reading a request or writing a response.", Counter: true, Chart: "Server " + name + ": trouble"},
			{Key: key("open:connections"), Help: "Connections that are open.", Chart: "Server " + name + ": connections"},
			{Key: key("in-use:bytes"), Help: "Request memory in use.", Chart: "Server " + name + ": request memory"},
			{Key: key("held:bytes"), Help: "Request memory in use and idle.", Chart: "Server " + name + ": request memory"},
			{Key: key("hits:blocks"), Help: "Blocks of request memory that were at hand.", Counter: true, Chart: "Server " + name + ": blocks"},
			{Key: key("misses:blocks"), Help: "Blocks for which memory had to be made.", Counter: true, Chart: "Server " + name + ": blocks"},
			{Key: key("in-use:blocks"), Help: "Blocks of request memory in use.", Chart: "Server " + name + ": blocks in use"},
			{Key: key("utilization:ratio"), Help: "Share of the held memory that is in use; the rest is idle or fragmentation.", Chart: "Server " + name + ": utilization"},
			{Key: key("made:chunks"), Help: "Chunks made, by slab and arena.", Counter: true, Chart: "Server " + name + ": chunks"},
			{Key: key("freed:chunks"), Help: "Chunks given back, by slab and arena.", Counter: true, Chart: "Server " + name + ": chunks"},
		},
		Read: func(v []float64) {
			stats := s.Stats()
			v[0], v[1], v[2] = float64(stats.Accepted), float64(stats.Refused), float64(stats.Timeouts)
			v[3], v[4], v[5] = float64(stats.Conns), float64(stats.Memory.InUseBytes), float64(stats.Memory.HeldBytes)
			m := &stats.Memory
			v[6], v[7], v[8], v[9] = float64(m.Hits), float64(m.Misses), float64(m.InUse), m.Utilization()
			v[10], v[11] = float64(m.ChunksMade), float64(m.ChunksFreed)
		},
	}
}
