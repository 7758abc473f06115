package claim

import "github.com/isobar-go/isobar/internal/lab/cell"

func init() {
	Register(&Document{ID: "777", Title: "Dummies", Claims: []Claim{{
		ID: "777/dummy",
		Experiment: Experiment{
			Run:   "prealloc --hint on,off --latency off",
			Quick: "--iterations 300 --reps 4", Full: "--iterations 100_000 --reps 6",
		},
		Test: Effect{Of: Side{cell.OpAllocs, "hint=on"}, Over: Side{cell.OpAllocs, "hint=off"}, Says: 0.1},
	}}})
}
