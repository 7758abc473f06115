package main

import (
	"context"
	"time"

	"github.com/isobar-go/isobar/internal/fleet"
)

// fleetAnswers is how long to wait for workers.
const fleetAnswers = 500 * time.Millisecond

// askFleet returns a function that queries a fleet for the pages of isobar ui; calls must
// not overlap. The first call that reaches the fleet connects.
func askFleet(o fleet.Options) (ask func(context.Context) (*fleet.Status, error), leave func()) {
	var f *fleet.Fleet
	ask = func(ctx context.Context) (*fleet.Status, error) {
		if f == nil {
			connected, err := fleet.Connect(ctx, o)
			if err != nil {
				return nil, err
			}
			f = connected
		}
		return f.Status(ctx, fleetAnswers)
	}
	return ask, func() {
		if f != nil {
			f.Close()
		}
	}
}
