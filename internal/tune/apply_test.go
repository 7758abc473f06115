package tune

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

func TestWriteDeploy(t *testing.T) {
	base := cell.Config{Workload: "exec", Command: []string{"./shop"}, GC: cell.GC{Percent: 100, LimitBytes: 1 << 30}}
	setting := base
	setting.GC = cell.GC{Percent: 400}
	r := &Answer{Service: "shop", Base: base, Setting: setting, Gains: []Gain{{Metric: cell.RSSPeak, Tuned: 90 << 20}},
		Choices: []Choice{{Setting: setting, PeakBytes: Interval{Mid: 90 << 20, Lo: 80 << 20, Hi: 120 << 20}}}}
	dir := filepath.Join(t.TempDir(), "deploy")
	if err := r.WriteDeploy(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "kubernetes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`value: "400"`, `value: "off"`, "memory: 160Mi", "memory: 120Mi", `name: "shop"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	r.Setting.GC = cell.GC{Percent: -1}
	if err := r.WriteDeploy(dir); err == nil {
		t.Error("off without a limit was written")
	}
}
