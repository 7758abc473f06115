package gcctl

import "math"

// Figures calls add for each figure on a page of package monitor, in a fixed order. The key
// ends with the unit, as in runtime/metrics; figures of one chart share a unit; counters
// only grow; NaN means no value. The names that monitorprom derives from the keys differ
// from those of gcctlprom, so that both fit in one registry.
func (s Stats) Figures(add func(key, chart, help string, counter bool, value float64)) {
	const budget, actions = "GC controller: memory budget", "GC controller"
	gauge := func(key, chart, help string, value float64, exists bool) {
		if !exists {
			value = math.NaN()
		}
		add(key, chart, help, false, value)
	}
	count := func(key, help string, n uint64) { add(key, actions, help, true, float64(n)) }
	gauge("/controller/budget:bytes", budget, "Memory budget.", float64(s.BudgetBytes), s.BudgetBytes > 0)
	gauge("/controller/memory:bytes", budget, "Memory that counts against the budget.", float64(s.MemoryBytes), true)
	gauge("/controller/gogc:percent", "GOGC", "GOGC in force; no value if off.", float64(s.Percent), s.Percent >= 0)
	gauge("/controller/time-to-limit:seconds", "Time to limit",
		"Time until memory reaches the budget at the present rate; no value for never.",
		s.TimeToLimit.Seconds(), s.TimeToLimit >= 0)
	count("/controller/collections:events", "Collections started by the controller.",
		s.Scheduled+s.Idle+s.Forced+s.Watchdog)
	count("/controller/mode-changes:events", "Mode changes.", s.ModeChanges)
	count("/controller/cuts:events", "Critical sections cut by the watchdog.", s.Cut)
	count("/controller/alarms:events", "Times the budget left the collector no room.", s.Alarms)
	count("/controller/sheds:events", "Requests to the program to shed load.", s.Sheds)
	count("/controller/foreign-changes:events", "Changes of GOGC or the limit by someone else.", s.ForeignChanges)
}
