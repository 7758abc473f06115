package gcctlhttp

import "golang.org/x/sys/windows"

// processCPU is the user and system time of this process in seconds.
func processCPU() float64 {
	var created, exited, system, user windows.Filetime
	if windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &system, &user) != nil {
		return 0
	}
	seconds := func(t windows.Filetime) float64 { // counts 100 ns
		return float64(uint64(t.HighDateTime)<<32|uint64(t.LowDateTime)) / 1e7
	}
	return seconds(system) + seconds(user)
}
