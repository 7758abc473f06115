package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/fleet"
	"github.com/isobar-go/isobar/internal/web"
)

// fleetView queries a fleet for the pages of isobar ui.
type fleetView struct {
	options fleet.Options
	fleet   *fleet.Fleet // nil until connected; owned by the current caller, one at a time
}

// fleetAnswers is how long to wait for workers.
const fleetAnswers = 500 * time.Millisecond

// ask returns the data of 'isobar fleet status'.
func (v *fleetView) ask(ctx context.Context) (*web.Fleet, error) {
	if v.fleet == nil {
		f, err := fleet.Connect(ctx, v.options)
		if err != nil {
			return nil, err
		}
		v.fleet = f
	}
	status, err := v.fleet.Status(ctx, fleetAnswers)
	if err != nil {
		return nil, err
	}
	return fleetPage(status), nil
}

func (v *fleetView) close() {
	if v.fleet != nil {
		v.fleet.Close()
	}
}

func fleetPage(s *fleet.Status) *web.Fleet {
	out := &web.Fleet{Server: s.Server, Cluster: s.Cluster, Dead: s.Dead}
	for _, m := range s.Workers {
		w := web.FleetWorker{
			Name: m.Name, Machine: m.Machine, Allow: m.Allow, State: m.State, Cell: m.Cell, Done: m.Done, Cells: m.Cells,
			CellsDone: m.CellsDone, CellsFailed: m.CellsFailed, Retries: m.Retries, LostHeartbeats: m.LostHeartbeats,
			Floor: m.Floor,
		}
		if m.Sweep != "" {
			w.Doing = fmt.Sprintf("%s block %d", m.Sweep, m.Block)
		}
		var labels []string
		for _, key := range slices.Sorted(maps.Keys(m.Labels)) {
			labels = append(labels, key+"="+m.Labels[key])
		}
		w.Labels = strings.Join(labels, " ")
		out.Workers = append(out.Workers, w)
	}
	for _, sweep := range s.Sweeps {
		out.Sweeps = append(out.Sweeps, web.FleetSweep{
			ID: sweep.ID, Needs: strings.Join(sweepNeeds(sweep), " "), Unmet: sweep.Unmet,
			Queued: int(sweep.Queued), Running: sweep.Running, Retried: sweep.Retried, Unstored: int(sweep.Results),
		})
	}
	return out
}

// sweepNeeds lists a sweep's requirements on workers.
func sweepNeeds(s fleet.SweepStatus) []string {
	return append([]string{s.Requires.Kind}, append(slices.Clone(s.Requires.Platforms), s.Requires.Labels...)...)
}
