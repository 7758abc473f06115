//go:build !unix

package workload

import "os"

func usageOf(*os.ProcessState) (usage, bool) { return usage{}, false }
