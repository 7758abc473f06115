package http11

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// busyVariable makes the test binary compute: see TestBusy.
const busyVariable = "ISOBAR_HTTP11_BUSY"

// burn keeps a CPU busy for d.
func burn(d time.Duration) {
	for begin := time.Now(); time.Since(begin) < d; {
	}
}

// crowd runs three computing processes per CPU.
func crowd(t *testing.T) {
	for range 3 * runtime.NumCPU() {
		cmd := exec.Command(os.Args[0], "-test.run=^TestBusy$")
		cmd.Env = append(os.Environ(), busyVariable+"=1")
		life, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			life.Close() // it ends
			cmd.Wait()
		})
	}
}

// TestBusy is run by the processes of crowd until their input ends.
func TestBusy(t *testing.T) {
	if os.Getenv(busyVariable) == "" {
		return
	}
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for {
		burn(time.Second)
	}
}

// heldUnder returns how many loops a server took from its handlers while
// clients sent requests for d, or until enough were taken.
func heldUnder(t *testing.T, h HandlerFunc, d time.Duration, enough uint64) uint64 {
	engine = Readiness
	defer func() { engine = Goroutines }()
	s := &Server{Handler: h}
	url := "http://" + serve(t, s)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for begin := time.Now(); time.Since(begin) < d && s.Stats().Held < enough; {
				resp, err := http.Get(url)
				if err != nil {
					t.Error(err)
					return
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	wg.Wait()
	return s.Stats().Held
}

// A thread that has waited for a CPU since the last look shows that CPUs are short, even if it has one now.
func TestWaitsForCPUCount(t *testing.T) {
	waited := waitedForCPU()
	if len(waited) == 0 {
		t.Skip("the kernel does not count them")
	}
	for id := range waited {
		waited[id] -= longWait
	}
	if !shortOfCPU(waited) { // there are other threads: those of loops, and the runtime's monitor
		t.Errorf("no wait is seen, of %v", waited)
	}
}

// A handler without CPU time does not hold its loop; one that sleeps does, even
// on a machine with too few CPUs.
func TestHeldLoopsOfABusyMachine(t *testing.T) {
	if invariant.Enabled {
		t.Skip("keeps all CPUs busy for seconds to see when the watch acts: not with checks compiled in")
	}
	quick := func(*Context) { burn(200 * time.Microsecond) }
	const rare = 3 // a thread may once get no CPU for longer than the watch has patience
	t.Run("within", func(t *testing.T) {
		stop := make(chan struct{})
		defer close(stop)
		for range 2 {
			go func() {
				for {
					select {
					case <-stop:
						return
					default:
						burn(time.Millisecond)
					}
				}
			}()
		}
		if n := heldUnder(t, quick, time.Second, rare); n >= rare {
			t.Errorf("%d loops held", n)
		}
	})
	t.Run("beside", func(t *testing.T) {
		crowd(t)
		if n := heldUnder(t, quick, 2*time.Second, rare); n >= rare {
			t.Errorf("%d loops held", n)
		}
		if heldUnder(t, func(*Context) { time.Sleep(100 * time.Millisecond) }, 20*time.Second, 1) == 0 {
			t.Error("no loop held by handlers that sleep")
		}
	})
}
