package report

// Format writes a value with three significant digits and a unit that suits its
// size; metric names the unit behind a colon, as in /heap/goal:bytes.
func Format(metric string, v float64) string { return format(metric, v) }
