package tune

import (
	"os"
	"path/filepath"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/tune/deploy"
)

// Deploys reports whether there is a setting to deploy.
func (r *Answer) Deploys() bool {
	pod := r.SmallestPod()
	return r.Outcome == Recommended || pod != nil && (pod.Setting.GC.Percent > 0 || pod.Setting.GC.LimitBytes > 0)
}

// Deploy renders the recommended setting as files: that of the smallest pod that
// keeps the objective, if pods were tried. The container's memory follows from the
// largest peak of the fresh runs.
func (r *Answer) Deploy() ([]deploy.File, error) {
	c, pod := r.Applied(), r.SmallestPod()
	if pod != nil {
		c = pod.Setting
	}
	s := deploy.Setting{
		Name: r.Service, Percent: c.GC.Percent, LimitBytes: c.GC.LimitBytes, Procs: c.GOMAXPROCS,
		Unlimit: c.GC.LimitBytes == 0 && r.Base.GC.LimitBytes > 0, CPUs: c.Pod.CPUs, PodBytes: c.Pod.MemoryBytes,
		Processes: r.Processes, Beside: r.BesideBytes,
	}
	if pod != nil {
		s.PeakBytes = int64(pod.PeakBytes.Hi)
		return deploy.Files(s)
	}
	s.PeakBytes = int64(gainIn(r.Gains, cell.RSSPeak).Tuned)
	for _, choice := range r.Choices {
		if choice.Setting.Key() == r.Setting.Key() {
			s.PeakBytes = max(s.PeakBytes, int64(choice.PeakBytes.Hi))
		}
	}
	return deploy.Files(s)
}

// WriteDeploy writes the files of Deploy into dir, which it creates.
func (r *Answer) WriteDeploy(dir string) error {
	files, err := r.Deploy()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), []byte(f.Text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
