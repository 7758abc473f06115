package workload

import "testing"

func TestDummy(t *testing.T) {
	if sum := build(t, "dummy", given{"step": "3"}, 1).(Closed).Loop(0, 5); sum != 15 {
		t.Errorf("5 steps of 3 are %d", sum)
	}
}
