package steps

import "testing"

// PerOperation traces the parts of a program, of which each does that many
// operations, logs the instructions of one, and returns them.
func PerOperation(t *testing.T, program string, parts, operations int) []float64 {
	t.Helper()
	counts, err := Trace(program, parts)
	if err != nil {
		t.Skip("cannot trace a process here: ", err)
	}
	each := make([]float64, parts)
	for i, c := range counts {
		each[i] = float64(c.All) / float64(operations)
	}
	t.Logf("%s: %.1f instructions an operation", program, each)
	return each
}
