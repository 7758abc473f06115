package queue

import (
	"math/bits"
	"strconv"
)

// maxCapacity is the largest capacity of a ring, 2^30, so that its slots are a
// power of two on every platform.
const maxCapacity = 1 << 30

// slotsFor returns how many slots hold capacity values: the next power of two.
func slotsFor(constructor string, capacity int) int {
	if capacity < 1 || capacity > maxCapacity {
		panic("queue: " + constructor + ": capacity " + strconv.Itoa(capacity) + "; want 1 to " + strconv.Itoa(maxCapacity))
	}
	return 1 << bits.Len(uint(capacity-1))
}

// notMade panics for the zero value of a type.
func notMade(operation, queue string) {
	panic("queue: " + operation + ": zero " + queue + "; make it with New" + queue)
}
