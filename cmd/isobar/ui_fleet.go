package main

import (
	"context"
	"time"

	"github.com/isobar-go/isobar/internal/fleet"
)

// fleetView queries a fleet for the pages of isobar ui.
type fleetView struct {
	options fleet.Options
	fleet   *fleet.Fleet // nil until connected; owned by the current caller, one at a time
}

// fleetAnswers is how long to wait for workers.
const fleetAnswers = 500 * time.Millisecond

// ask returns the data of 'isobar fleet status'.
func (v *fleetView) ask(ctx context.Context) (*fleet.Status, error) {
	if v.fleet == nil {
		f, err := fleet.Connect(ctx, v.options)
		if err != nil {
			return nil, err
		}
		v.fleet = f
	}
	return v.fleet.Status(ctx, fleetAnswers)
}

func (v *fleetView) close() {
	if v.fleet != nil {
		v.fleet.Close()
	}
}
