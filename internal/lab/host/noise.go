package host

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/base/rusage"
	"github.com/isobar-go/isobar/internal/lab/cell"
)

// Start begins to measure what else happens on the machine; stop returns the result. Figures that
// the platform does not provide are -1. Run one cell in between, and wait for its process before
// stop: the CPU time of all children waited for counts as the cell's.
func Start() (stop func() cell.Noise) {
	began, before := time.Now(), read()
	return func() cell.Noise { return before.until(read(), time.Since(began)) }
}

// userHz is the unit of the times in /proc/stat: USER_HZ is 100 on every
// architecture that Go supports.
const userHz = 100

// A reading holds the counters at one moment; -1 marks missing ones.
type reading struct {
	busy, idle, steal float64 // CPU seconds of the whole machine
	children          float64 // CPU seconds of children waited for
	cpuStall          float64 // seconds in which some task waited for a CPU
	memoryStall       float64
}

func read() reading {
	r := reading{busy: -1, idle: -1, steal: -1, children: rusage.Children().CPU()}
	r.cpuStall, r.memoryStall = stall("proc/pressure/cpu"), stall("proc/pressure/memory")
	// cpu user nice system idle iowait irq softirq steal guest guest_nice; user
	// and nice include the times of guests.
	fields := strings.Fields(readLine("proc/stat"))
	if len(fields) < 9 || fields[0] != "cpu" {
		return r
	}
	var v [8]float64
	for i := range v {
		n, err := strconv.ParseUint(fields[i+1], 10, 64)
		if err != nil {
			return r
		}
		v[i] = float64(n) / userHz
	}
	r.busy = v[0] + v[1] + v[2] + v[5] + v[6]
	r.idle = v[3] + v[4]
	r.steal = v[7]
	return r
}

// stall reads the total of the "some" line of a pressure file, in seconds.
func stall(name string) float64 {
	fields := strings.Fields(readLine(name))
	if len(fields) != 5 || fields[0] != "some" {
		return -1
	}
	micros, err := strconv.ParseUint(strings.TrimPrefix(fields[4], "total="), 10, 64)
	if err != nil {
		return -1
	}
	return float64(micros) / 1e6
}

func (r reading) until(now reading, wall time.Duration) cell.Noise {
	noise := cell.Noise{Steal: -1, CPUPressure: -1, MemoryPressure: -1, OtherCPU: -1}
	seconds := wall.Seconds()
	if seconds <= 0 {
		return noise
	}
	if r.busy >= 0 && now.busy >= 0 {
		busy, steal := now.busy-r.busy, now.steal-r.steal
		if total := busy + steal + now.idle - r.idle; total > 0 {
			noise.Steal = share(steal / total)
		}
		if r.children >= 0 && now.children >= 0 {
			noise.OtherCPU = max(busy-(now.children-r.children), 0) / seconds
		}
	}
	if r.cpuStall >= 0 && now.cpuStall >= 0 {
		noise.CPUPressure = share((now.cpuStall - r.cpuStall) / seconds)
	}
	if r.memoryStall >= 0 && now.memoryStall >= 0 {
		noise.MemoryPressure = share((now.memoryStall - r.memoryStall) / seconds)
	}
	return noise
}

// MeanNoise averages the noise over runs.
func MeanNoise(all []cell.Noise) (n cell.Noise) {
	for _, x := range all {
		n.Steal += x.Steal / float64(len(all))
		n.CPUPressure += x.CPUPressure / float64(len(all))
		n.MemoryPressure += x.MemoryPressure / float64(len(all))
		n.OtherCPU += x.OtherCPU / float64(len(all))
	}
	return n
}

// Disturbances names the noise that makes measurements unreliable, and its remedies.
func Disturbances(n cell.Noise) (out []cell.Warning) {
	for _, d := range []struct {
		is   bool
		code string
		text string
	}{
		{n.Steal > 0.02, "steal", fmt.Sprintf("the hypervisor gave %.1f %% of the CPU time to other guests: compare CPU "+
			"time, not wall time", 100*n.Steal)},
		{n.CPUPressure > 0.10, "cpu-pressure", fmt.Sprintf("tasks waited for a CPU %.0f %% of the time: stop other programs",
			100*n.CPUPressure)},
		{n.MemoryPressure > 0.10, "memory-pressure", fmt.Sprintf("tasks waited for memory %.0f %% of the time: free some",
			100*n.MemoryPressure)},
		{n.OtherCPU > 0.10, "other-cpu", fmt.Sprintf("other processes used %.2f CPUs: stop them", n.OtherCPU)},
	} {
		if d.is {
			out = append(out, cell.Warning{Code: d.code, Text: d.text})
		}
	}
	return out
}

func share(x float64) float64 { return min(max(x, 0), 1) }
