// Package manifests gives the files of package deploy to the parsers of their
// fields, for every kind of answer. It is a module of its own, so that the
// parsers stay out of go.mod.
package manifests

import (
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/tune/deploy"
)

const mib = 1 << 20

// An answer is a setting and what every form of it must say.
type answer struct {
	name       string
	setting    deploy.Setting
	env        map[string]string
	requestMiB int64 // 0 for no word about memory
	limitMiB   int64
	milliCPU   int64 // 0 for no word about CPUs
	wholeCPUs  int   // of Nomad, which cannot say less
	container  string
}

var answers = []answer{
	{
		name: "GOGC alone", setting: deploy.Setting{Name: "./bin/Server_v2", Percent: 400, PeakBytes: 90 * mib},
		env: map[string]string{"GOGC": "400"}, requestMiB: 90, limitMiB: 120, container: "server-v2",
	}, {
		name: "GOGC alone, memory unknown", setting: deploy.Setting{Percent: 1600},
		env: map[string]string{"GOGC": "1600"}, container: "app",
	}, {
		name:    "GOGC alone where a limit is in force",
		setting: deploy.Setting{Name: "web", Percent: 50, Unlimit: true, PeakBytes: 10*mib + 1},
		env:     map[string]string{"GOGC": "50", "GOMEMLIMIT": "off"}, requestMiB: 11, limitMiB: 27, container: "web",
	}, {
		name:       "GOGC and a limit",
		setting:    deploy.Setting{Name: "api", Percent: 200, LimitBytes: 900 * mib, PeakBytes: 700 * mib},
		env:        map[string]string{"GOGC": "200", "GOMEMLIMIT": "900MiB"},
		requestMiB: 900, limitMiB: 1000, container: "api",
	}, {
		name:       "off and a limit",
		setting:    deploy.Setting{Name: "batch", Percent: -1, LimitBytes: 19*mib + 5, PeakBytes: 24 * mib},
		env:        map[string]string{"GOGC": "off", "GOMEMLIMIT": "19922949B"},
		requestMiB: 24, limitMiB: 40, container: "batch",
	}, {
		name: "half a CPU",
		setting: deploy.Setting{Name: "worker", Percent: -1, LimitBytes: 64 * mib, PeakBytes: 60 * mib, CPUs: 0.5,
			Procs: 1},
		env:        map[string]string{"GOGC": "off", "GOMEMLIMIT": "64MiB", "GOMAXPROCS": "1"},
		requestMiB: 64, limitMiB: 80, milliCPU: 500, container: "worker",
	}, {
		name: "measured in a pod",
		setting: deploy.Setting{Name: "worker", Percent: -1, LimitBytes: 58 * mib, PeakBytes: 57 * mib,
			PodBytes: 64 * mib, CPUs: 0.25},
		env:        map[string]string{"GOGC": "off", "GOMEMLIMIT": "58MiB"},
		requestMiB: 64, limitMiB: 64, milliCPU: 250, container: "worker",
	}, {
		name: "two CPUs", setting: deploy.Setting{Name: "worker", Percent: 800, CPUs: 2},
		env: map[string]string{"GOGC": "800"}, milliCPU: 2000, wholeCPUs: 2, container: "worker",
	}, {
		name: "nothing to change", setting: deploy.Setting{Name: "app", Percent: 100, PeakBytes: 30 * mib},
		env: map[string]string{"GOGC": "100"}, requestMiB: 30, limitMiB: 46, container: "app",
	},
}

// forAnswers runs a test on one form of every answer.
func forAnswers(t *testing.T, form string, test func(*testing.T, answer, string)) {
	for _, a := range answers {
		t.Run(a.name, func(t *testing.T) {
			files, err := deploy.Files(a.setting)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				if f.Form == form {
					test(t, a, f.Text)
					if t.Failed() {
						t.Logf("the file:\n%s", f.Text)
					}
					return
				}
			}
			t.Fatalf("no form %s", form)
		})
	}
}

// checkEnv compares variables with what the setting says.
func checkEnv(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %q, want %q", name, got[name], value)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok && strings.HasPrefix(name, "GO") {
			t.Errorf("%s=%q is not in the setting", name, got[name])
		}
	}
}

func checkInt(t *testing.T, what string, got, want int64) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %d, want %d", what, got, want)
	}
}
