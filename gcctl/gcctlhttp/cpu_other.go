//go:build !unix && !windows

package gcctlhttp

func processCPU() float64 { return 0 }
