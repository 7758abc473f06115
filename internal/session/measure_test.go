package session

import (
	"testing"
	"time"
)

func TestBlockBudget(t *testing.T) {
	start := time.Now()
	// Blocks of three cells, 10 s each: a budget of 25 s allows two.
	for budget, want := range map[time.Duration]int{0: 5, 25 * time.Second: 2, time.Second: 1, time.Minute: 5} {
		b := blockBudget{budget: budget, began: start, block: 2}
		now, cells := start, 0
		for i := range 15 {
			if !b.allows(2+i/3, now) { // a resumed run begins with a later block
				break
			}
			cells++
			now = now.Add(10 * time.Second / 3)
		}
		if cells != 3*want {
			t.Errorf("budget %v: %d cells, want %d blocks of 3", budget, cells, want)
		}
	}
}
