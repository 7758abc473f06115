package cell

import "testing"

func TestPod(t *testing.T) {
	for _, tc := range []struct {
		text string
		want Pod
	}{
		{"none", Pod{}}, {"0.5", Pod{CPUs: 0.5}}, {"none:64MiB", Pod{MemoryBytes: 64 << 20}},
		{"2:1GiB", Pod{CPUs: 2, MemoryBytes: 1 << 30}}, {"0.01:1B", Pod{CPUs: 0.01, MemoryBytes: 1}},
	} {
		got, err := ParsePod(tc.text)
		if err != nil || got != tc.want || got.String() != tc.text {
			t.Errorf("ParsePod(%q) = %+v, %v, text %q; want %+v", tc.text, got, err, got, tc.want)
		}
	}
	for _, text := range []string{"0", "-1", "0.001", "x", "NaN", "9999", "1:", "1:x", "1:0", "1:-5MiB"} {
		if got, err := ParsePod(text); err == nil && text != "1:" {
			t.Errorf("ParsePod(%q) = %+v, want an error", text, got)
		}
	}
}
