package session

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/show/page"
	"github.com/isobar-go/isobar/internal/tune"
)

// recommended returns an answer with everything that a page can show.
func recommended() *tune.Answer {
	base := cell.Config{Workload: "exec", Command: []string{"./shop"}, GC: cell.DefaultGC}
	setting, pod := base, base
	setting.GC = cell.GC{Percent: 400}
	pod.GC, pod.Pod = setting.GC, cell.Pod{CPUs: 1, MemoryBytes: 256 << 20}
	three := func(v float64) tune.Interval { return tune.Interval{Mid: v, Lo: 0.9 * v, Hi: 1.1 * v} }
	known := tune.Prediction{GC: cell.GC{Percent: 200},
		Figures: tune.Figures{CPU: three(1.8), Wall: three(1), PeakBytes: three(60 << 20)}}
	refused := tune.Prediction{GC: cell.GC{Percent: 777}, Figures: tune.Figures{Wall: three(1), PeakBytes: three(70 << 20)},
		Withheld: []string{"CPU time"}}
	off := known
	off.GC = setting.GC
	off.Measured = &tune.Measured{GC: setting.GC, Runs: 5,
		Figures: tune.Figures{CPU: three(1.55), Wall: three(0.8), PeakBytes: three(91 << 20)}}
	return &tune.Answer{
		Headline: "set GOGC=400: 20 % less CPU time", Outcome: tune.Recommended, Objective: tune.CPU, Base: base,
		Setting: setting, Service: "shop", Predicted: []tune.Prediction{known, refused, off},
		Doubts: []string{"CPU time is not predicted at all"},
		Choices: []tune.Choice{{Name: tune.Fastest, Setting: setting, Outcome: tune.Recommended, PeakBytes: three(90 << 20),
			Warnings: []string{"its limit is near"},
			Gains: []tune.Gain{{Metric: cell.TotalCPU, Default: 2, Tuned: 1.6, Pairs: 4, Ratio: three(0.8)},
				{Metric: cell.RSSPeak, Default: 50 << 20, Tuned: 90 << 20, Pairs: 4, Ratio: three(1.8)}}}},
		Pods: []tune.PodTrial{{Setting: pod, Cost: three(1), PeakBytes: three(92 << 20), Rounds: 4, Outcome: tune.PodKeeps}},
	}
}

// stored returns a store with one run of two settings, and the answer.
func stored(t *testing.T, answer []byte) (*store.Store, int64) {
	t.Helper()
	s, err := store.Open(filepath.Join(t.TempDir(), "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	var cells []cell.Cell
	for i, c := range []cell.Config{recommended().Base, recommended().Setting} {
		cells = append(cells, cell.Cell{Config: c, Index: i})
	}
	id, err := s.CreateRun(store.Run{Name: "tune ./shop"}, cells)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cells {
		rec := &cell.Record{Cell: c}
		for metric, v := range map[string]float64{cell.WallTime: 1, cell.TotalCPU: 2, cell.RSSPeak: 50 << 20} {
			rec.Set(metric, v)
		}
		if err := s.Append(id, rec, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.KeepAnswer(id, answer); err != nil {
		t.Fatal(err)
	}
	return s, id
}

func pageOf(t *testing.T, answer []byte) string {
	t.Helper()
	s, id := stored(t, answer)
	run, analysis, err := Load(s, id)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := page.Write(&b, run.Run, analysis); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPageShowsTheAnswer holds that the page says what the terminal says, in that order,
// and shows only predictions that the runs do not contradict.
func TestPageShowsTheAnswer(t *testing.T) {
	data, err := json.Marshal(recommended())
	if err != nil {
		t.Fatal(err)
	}
	shown := pageOf(t, data)
	at := 0
	for _, want := range []string{
		"<li>set GOGC=400: 20 % less CPU time</li>", "<li>Doubt: CPU time is not predicted at all</li>",
		"<li>Doubt about GOGC=400: its limit is near</li>",
		`<h2 id="answer">`, "today: GOGC=100", "fastest: GOGC=400, proven",
		`<th scope="row">400</th><td class="text">measured</td>`, "<td>1.55 s</td>",
		"shell: run.sh", "systemd: systemd.conf", "Dockerfile: Dockerfile", "Compose: compose.yaml",
		"Kubernetes: kubernetes.yaml", "Helm: helm-values.yaml", "Nomad: nomad.hcl",
		`<th scope="row">1 CPU, 256MiB</th>`, "keeps", `<section class="workload"`,
	} {
		i := strings.Index(shown[at:], want)
		if i < 0 {
			t.Fatalf("no %q behind what precedes it", want)
		}
		at += i
	}
	if strings.Contains(shown, "777") {
		t.Error("a prediction that the runs contradict is shown")
	}
}

func TestPageOfAnOldAnswer(t *testing.T) {
	shown := pageOf(t, []byte("leave GOGC=100: it is as good\nDoubt: a busy machine"))
	if !strings.Contains(shown, "<li>leave GOGC=100: it is as good</li>") || strings.Contains(shown, `id="answer"`) {
		t.Error("sentences of version 0.1.0 are not shown as they are")
	}
	s, id := stored(t, []byte("{broken"))
	if _, _, err := Load(s, id); err == nil || !strings.Contains(err.Error(), "answer of run") {
		t.Errorf("a broken answer: %v", err)
	}
}
