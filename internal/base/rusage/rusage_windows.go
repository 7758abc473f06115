package rusage

import "golang.org/x/sys/windows"

// Self returns the usage of this process.
func Self() Usage {
	var created, exited, system, user windows.Filetime
	if windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &system, &user) != nil {
		return unknown
	}
	seconds := func(t windows.Filetime) float64 { // counts 100 ns
		return float64(uint64(t.HighDateTime)<<32|uint64(t.LowDateTime)) / 1e7
	}
	return Usage{User: seconds(user), System: seconds(system), MinorFaults: -1, MajorFaults: -1}
}

// Children is unknown on this system.
func Children() Usage { return unknown }
