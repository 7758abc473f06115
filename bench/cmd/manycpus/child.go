//go:build linux && amd64

package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// arrived counts the CPUs of a child that wait for begun, which the parent sets.
var (
	arrived atomic.Int64
	begun   atomic.Bool
)

// The parent sees calls of these: when operations are finished, with their number, and after each try.
//
//go:noinline
func marked(int) {}

//go:noinline
func tried() {}

// work is one CPU: it marks each operation that it finishes.
//
//go:noinline
func work(op func() int) {
	arrived.Add(1)
	for !begun.Load() {
	}
	for {
		if n := op(); n > 0 {
			marked(n)
		}
		tried()
	}
}

// childEnv has what a child runs: a subject's name, and on how many CPUs.
const childEnv = "ISOBAR_MANYCPUS"

// child runs a subject until it is killed, for a parent that steps through it.
func child(what string) error {
	name, cpus, _ := strings.Cut(what, "/")
	n, err := strconv.Atoi(cpus)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(subjects, func(s subject) bool { return s.name == name })
	if i < 0 {
		return fmt.Errorf("no subject %q", name)
	}
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(n + 1)
	for _, op := range subjects[i].start(n) {
		go work(op)
	}
	for int(arrived.Load()) < n { // then each has a thread
		time.Sleep(time.Millisecond)
	}
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadByte()
	return nil
}

// native returns what an operation takes when n CPUs of this machine run it: the
// median of some windows.
func native(s subject, n int) float64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var stop atomic.Bool
	var wg sync.WaitGroup
	counts := make([]struct {
		atomic.Int64
		_ [14]uint64 // no line is shared
	}, n)
	for i, op := range s.start(n) {
		wg.Go(func() {
			for !stop.Load() {
				finished := 0
				for range 256 {
					finished += op()
				}
				counts[i].Add(int64(finished))
			}
		})
	}
	sum := func() (sum int64) {
		for i := range counts {
			sum += counts[i].Load()
		}
		return sum
	}
	var took []float64
	for range windows {
		from, began := sum(), time.Now()
		time.Sleep(window)
		took = append(took, float64(time.Since(began).Nanoseconds())/float64(sum()-from))
	}
	stop.Store(true)
	wg.Wait()
	slices.Sort(took)
	return took[windows/2]
}

const (
	windows = 20
	window  = 15 * time.Millisecond
)

// pingPong returns how long a line takes from one CPU of this machine to another:
// in the fastest of some bursts, as other programs may have a CPU in the others.
func pingPong() float64 {
	const bursts, moves = 300, 2000
	least := math.Inf(1)
	for range bursts {
		var at atomic.Int64
		var wg sync.WaitGroup
		var took [2]time.Duration
		for side := range int64(2) {
			wg.Go(func() {
				for at.Load() != side { // both have begun
				}
				began := time.Now()
				at.Store(side + 1)
				for i := side + 2; i < moves; i += 2 {
					for at.Load() != i {
					}
					at.Store(i + 1)
				}
				took[side] = time.Since(began)
			})
		}
		wg.Wait()
		least = min(least, float64(took[0].Nanoseconds())/moves)
	}
	return least
}
