package gcctl

import (
	"math"
	"os"
	"runtime"

	"github.com/isobar-go/isobar/internal/base/cgroup"
)

// detectLimit returns the budget set by the environment, 0 for none.
func detectLimit(fromRuntime int64) int64 {
	var group int64
	if runtime.GOOS == "linux" {
		group = cgroup.Read(os.DirFS("/")).MemoryBytes
	}
	return leastLimit(fromRuntime, group)
}

func leastLimit(fromRuntime, group int64) int64 {
	limit := int64(math.MaxInt64)
	if group > 0 {
		limit = int64(float64(group) * (1 - policy.groupMargin))
	}
	limit = min(limit, fromRuntime)
	if limit == math.MaxInt64 {
		return 0
	}
	return limit
}
