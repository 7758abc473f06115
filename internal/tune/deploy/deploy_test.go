package deploy

import (
	"fmt"
	"strings"
	"testing"
)

func TestPod(t *testing.T) {
	for name, tc := range map[string]struct {
		s              Setting
		request, limit int64 // MiB
		why            string
	}{
		"unknown": {Setting{Percent: 400}, 0, 0, ""},
		"a peak": {Setting{Percent: 400, PeakBytes: 300 * mib}, 300, 400,
			"300 MiB (measured peak) and 100 MiB of headroom: live"},
		"a small peak": {Setting{Percent: 400, PeakBytes: 5*mib - 1}, 5, 21, "16 MiB of headroom"},
		"a limit": {Setting{Percent: -1, LimitBytes: 900 * mib}, 900, 1000,
			"900 MiB (GOMEMLIMIT) and 100 MiB of headroom: the limit"},
		"measured in a pod": {Setting{Percent: -1, LimitBytes: 58 * mib, PeakBytes: 60 * mib, PodBytes: 64 * mib}, 64, 64,
			"that it was measured in"},
		"four processes": {Setting{Percent: 800, LimitBytes: 90 * mib, PeakBytes: 300 * mib, Processes: 4}, 360, 400,
			"360 MiB (4 processes, each with GOMEMLIMIT) and 40 MiB"},
		"beside the heap": {Setting{Percent: 800, LimitBytes: 96 * mib, PeakBytes: 300 * mib, Beside: 264 * mib}, 360, 400,
			"360 MiB (GOMEMLIMIT, and 264 MiB that it does not bound) and 40 MiB"},
		"not in whole MiB": {Setting{Percent: 800, LimitBytes: 16 * mib, Beside: 19*mib - 1}, 35, 51,
			"35 MiB (GOMEMLIMIT, and 19 MiB that it does not bound) and 16 MiB"},
		"a peak over limit": {Setting{Percent: -1, LimitBytes: 180 * mib, PeakBytes: 270 * mib}, 270, 300,
			"270 MiB (measured peak) and 30 MiB"},
	} {
		request, limit := tc.s.Pod()
		if request != tc.request*mib || limit != tc.limit*mib || !strings.Contains(tc.s.Headroom(), tc.why) {
			t.Errorf("%s: %d and %d MiB, %q; want %d and %d, %q",
				name, request/mib, limit/mib, tc.s.Headroom(), tc.request, tc.limit, tc.why)
		}
	}
}

func TestFilesRefuse(t *testing.T) {
	for _, s := range []Setting{{}, {Percent: -2}, {Percent: 100, LimitBytes: -1}, {Percent: 100, PeakBytes: -1},
		{Percent: 100, CPUs: -1}, {Percent: 100, Procs: -1}, {Percent: 100, PodBytes: -1}} {
		if _, err := Files(s); err == nil {
			t.Errorf("%+v: no error", s)
		}
	}
	if _, err := Files(Setting{Percent: -1}); err == nil || !strings.Contains(err.Error(), "nothing bounds the heap") {
		t.Errorf("off without a limit: %v", err)
	}
}

func TestLabel(t *testing.T) {
	long := strings.Repeat("ab-", 30)
	for name, want := range map[string]string{
		"": "app", "./bin/Server_v2": "server-v2", `C:\bin\web.exe`: "web", "-x-": "x", "...": "app", "ü": "app",
		long: strings.TrimRight(long[:63], "-"),
	} {
		if got := label(name); got != want {
			t.Errorf("label(%q) = %q, want %q", name, got, want)
		}
	}
}

func ExampleFiles() {
	files, err := Files(Setting{Name: "api", Percent: -1, LimitBytes: 180 * mib, PeakBytes: 171 * mib, CPUs: 0.5})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(files[4].Text)
	// Output:
	// # kubectl patch deployment NAME --patch-file kubernetes.yaml
	// spec:
	//   template:
	//     spec:
	//       containers:
	//         - name: "api" # of your container
	//           env:
	//             - name: GOGC
	//               value: "off"
	//               valueFrom: null
	//             - name: GOMEMLIMIT
	//               value: "180MiB"
	//               valueFrom: null
	//           resources:
	//             # memory: 180 MiB (GOMEMLIMIT) and 20 MiB of headroom: the limit is soft and leaves out text, cgo, mmap
	//             limits:
	//               memory: 200Mi
	//               cpu: 500m
	//             requests:
	//               memory: 180Mi
	//               cpu: 500m
}
