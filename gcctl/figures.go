package gcctl

import "math"

// Figures calls add for each figure that a page of package monitor shows, in a
// fixed order. The key ends with the unit, as in runtime/metrics; figures of a
// chart share one; a counter only grows, and
// NaN is a value that there is not.
func (s Stats) Figures(add func(key, chart, help string, counter bool, value float64)) {
	const budget, actions = "GC controller: memory budget", "GC controller"
	gauge := func(key, chart, help string, value float64, exists bool) {
		if !exists {
			value = math.NaN()
		}
		add(key, chart, help, false, value)
	}
	count := func(key, help string, n uint64) { add(key, actions, help, true, float64(n)) }
	gauge("/gcctl/budget:bytes", budget, "Memory budget.", float64(s.BudgetBytes), s.BudgetBytes > 0)
	gauge("/gcctl/memory:bytes", budget, "What the budget is compared with.", float64(s.MemoryBytes), true)
	gauge("/gcctl/gogc:percent", "GOGC", "GOGC in force; nothing if it is off.", float64(s.Percent), s.Percent >= 0)
	gauge("/gcctl/time-to-limit:seconds", "Time to limit",
		"Until memory reaches the budget at the present rate; nothing for never.",
		s.TimeToLimit.Seconds(), s.TimeToLimit >= 0)
	count("/gcctl/collections:events", "Collections that the controller started.",
		s.Scheduled+s.Idle+s.Forced+s.Watchdog)
	count("/gcctl/mode-changes:events", "Changes of mode.", s.ModeChanges)
	count("/gcctl/cuts:events", "Critical sections that were cut.", s.Cut)
	count("/gcctl/alarms:events", "Alarms: the budget left the collector no room.", s.Alarms)
	count("/gcctl/sheds:events", "Calls that asked the program to shed load.", s.Sheds)
	count("/gcctl/foreign-changes:events", "Changes of GOGC or the limit by somebody else.", s.ForeignChanges)
}
