package runner

import (
	"errors"
	"fmt"

	"github.com/isobar-go/isobar/internal/base/cgroup"
	"github.com/isobar-go/isobar/internal/lab/cell"
)

// newPod creates the control group that the cell asks for, the zero Group for none. The runner does it,
// not the child, so that the group is removed however the child ends.
func (r *Runner) newPod(c cell.Cell) (*cgroup.Group, error) {
	switch {
	case c.Pod == cell.Pod{}:
		return new(cgroup.Group), nil
	case len(c.Command) == 0:
		return nil, fmt.Errorf("a pod of %s for %s: only programs run in pods: exec and serve", c.Pod, c.Workload)
	case r.config.Account != nil:
		return nil, errors.New("a pod: other accounts may not join control groups")
	}
	return cgroup.New("/", cgroup.Bounds(c.Pod))
}

// fewThrottled is the share of throttled periods above which a record warns.
const fewThrottled = 0.01

// recordPod adds the figures of the cell's pod. If the program was killed for its memory, that
// becomes its failure.
func recordPod(rec *cell.Record, u cgroup.Usage) {
	size := rec.Cell.Pod
	if size.CPUs > 0 {
		rec.Set(cell.PodThrottled, u.ThrottledTime.Seconds())
		share := float64(u.Throttled) / float64(max(u.Periods, 1))
		rec.Set(cell.PodThrottledShare, share)
		if share > fewThrottled {
			rec.Warn("throttled", "the quota of %g CPUs held the program back in %.0f %% of the periods of 100 ms, for "+
				"%.2f s of CPU time: wall time and latency are those of this pod", size.CPUs, 100*share,
				u.ThrottledTime.Seconds())
		}
	}
	if size.MemoryBytes > 0 {
		rec.Set(cell.PodMemoryPeak, float64(u.PeakBytes))
	}
	if u.OOMKills == 0 {
		return
	}
	text := fmt.Sprintf("the kernel killed the program: it needed more than the %s of its pod (OOM kills: %d): "+
		"allow more with --memory-max, or lower GOMEMLIMIT", cell.FormatBytes(size.MemoryBytes), u.OOMKills)
	if rec.Err != nil {
		rec.Err = &cell.Failure{Kind: cell.FailMemory, Message: text}
		return
	}
	rec.Warn("oom", "%s", text)
}
