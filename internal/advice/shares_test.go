package advice

import "testing"

// TestSharesSayWhatWasMeasured: CPU time is unknown without a CPU profile, bytes
// without a profile of allocations.
func TestSharesSayWhatWasMeasured(t *testing.T) {
	for want, s := range map[string]Shares{
		"10.0 % of bytes, 0.0 % of objects":                {Bytes: 0.1},
		"20.0 % of CPU":                                    {CPU: 0.2},
		"10.0 % of bytes, 5.0 % of objects, 20.0 % of CPU": {Bytes: 0.1, Objects: 0.05, CPU: 0.2},
		"no sample": {},
	} {
		if got := s.String(); got != want {
			t.Errorf("%+v: %q, want %q", s, got, want)
		}
	}
}
