package http11

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// soakHandler answers by path, in every way that a handler can end.
func soakHandler(c *Context) {
	switch path := c.Path(); {
	case path.Equal("/panic"):
		c.WriteString("never seen")
		panic("soak")
	case path.Equal("/long"):
		for range 100 {
			if _, err := c.Write(make([]byte, 10_000)); err != nil {
				return
			}
		}
	case path.Equal("/retain"):
		kept := c.Retain()
		go func() {
			runtime.Gosched()
			kept.Release()
		}()
		c.WriteString("ok")
	case path.Equal("/stream"):
		io.Copy(c, c.BodyReader()) // an error shows at the client
	default:
		body, err := c.Body()
		if err != nil {
			return
		}
		copy(c.UnsafeAlloc(body.Len()+100), "memory of the request")
		fmt.Fprintf(c, "%d", body.Len())
	}
}

// A soaker is a client that behaves in every way, well or badly.
type soaker struct {
	t        *testing.T
	addr     string
	rng      *rand.Rand
	answered int
}

// round is one connection.
func (k *soaker) round() {
	nc, err := net.Dial("tcp", k.addr)
	if err != nil {
		k.t.Error(err)
		return
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(time.Minute))
	r := bufio.NewReader(nc)
	switch k.rng.IntN(8) {
	case 0: // a body that ends early
		io.WriteString(nc, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\nabc")
		nc.(*net.TCPConn).SetLinger(k.rng.IntN(2) - 1) // a reset or an end
	case 1: // a response not read to its end
		io.WriteString(nc, "GET /long HTTP/1.1\r\nHost: h\r\n\r\n")
		io.ReadFull(r, make([]byte, 1000))
		nc.(*net.TCPConn).SetLinger(0)
	case 2:
		k.ask(nc, r, "GET /panic HTTP/1.1\r\nHost: h\r\n\r\n", 500, 1)
	case 3:
		k.ask(nc, r, "GET / HTTP/1.1\r\nHost: h\r\nBad Name: x\r\n\r\n", 400, 1)
	case 4: // half a head
		io.WriteString(nc, "GET / HTTP/1.1\r\nHo")
	case 5: // many at once
		k.ask(nc, r, strings.Repeat("GET /retain HTTP/1.1\r\nHost: h\r\n\r\n", 20), 200, 20)
	default: // well behaved
		for range 20 {
			n := k.rng.IntN(3000)
			if k.rng.IntN(20) == 0 {
				n = k.rng.IntN(500_000)
			}
			body := strings.Repeat("x", n)
			k.ask(nc, r, fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", n, body), 200, 1)
			k.ask(nc, r, fmt.Sprintf("POST /stream HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", n+1, body+"y"), 200, 1)
		}
	}
}

// ask sends requests and reads n responses.
func (k *soaker) ask(nc net.Conn, r *bufio.Reader, requests string, status, n int) {
	go io.WriteString(nc, requests) // an error shows in the answers
	for range n {
		resp, err := http.ReadResponse(r, nil)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
		}
		if err != nil || resp.StatusCode != status {
			k.t.Errorf("%.40q: %v, %v; want status %d", requests, resp, err, status)
			return
		}
		k.answered++
	}
}

// soakTime is ISOBAR_SOAK_TIME, an hour by default, shared by the modes; 0 if
// ISOBAR_SOAK is not set.
func soakTime(t *testing.T) time.Duration {
	if os.Getenv("ISOBAR_SOAK") == "" {
		return 0
	}
	d, err := time.ParseDuration(os.Getenv("ISOBAR_SOAK_TIME"))
	if os.Getenv("ISOBAR_SOAK_TIME") == "" {
		d, err = time.Hour, nil
	}
	if err != nil || d <= 0 {
		t.Fatalf("ISOBAR_SOAK_TIME=%s: want a duration such as 10m", os.Getenv("ISOBAR_SOAK_TIME"))
	}
	return d / time.Duration(len(modes())*len(engines))
}

// residentBytes is the resident memory of this process; 0 where it is unknown.
func residentBytes() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, err := strconv.ParseInt(string(bytes.Fields(data)[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// TestSoak runs a long mix of well-behaved and misbehaving clients. Memory and
// goroutines do not grow, and nothing is in use at the end. Without ISOBAR_SOAK
// it runs a few rounds and checks only the end.
func TestSoak(t *testing.T) {
	long := soakTime(t)
	each(t, func(t *testing.T, m Memory) {
		before := goroutines()
		s := &Server{Memory: m, Handler: HandlerFunc(soakHandler), OnPanic: func(Request, any, []byte) {}, ReadHeaderTimeout: time.Second}
		addr := serve(t, s)
		rounds, stages := 3, 2
		if long > 0 {
			rounds, stages = 50, 1<<30
		}
		var resident []int64
		answered := 0
		for began, stage := time.Now(), 0; stage < stages && (long == 0 || time.Since(began) < long); stage++ {
			var wg sync.WaitGroup
			var counts [8]int
			for i := range counts {
				wg.Go(func() {
					k := &soaker{t: t, addr: addr, rng: rand.New(rand.NewPCG(uint64(stage), uint64(i)))}
					for range rounds {
						k.round()
					}
					counts[i] = k.answered // read after Wait
				})
			}
			wg.Wait()
			for _, n := range counts {
				answered += n
			}
			waitFor(t, "the connections' end", func() bool { return s.Stats().Conns == 0 })
			debug.FreeOSMemory()
			resident = append(resident, residentBytes())
			if t.Failed() {
				return
			}
		}
		st := s.Stats()
		if st.Memory.InUse != 0 || st.Memory.Requests != 0 || st.Conns != 0 || answered == 0 || st.Panics == 0 && long > 0 {
			t.Errorf("%d requests were answered; left over: %+v", answered, st)
		}
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("goroutines, %d at first:\n%s", before, allStacks())
			}
		})
		waitFor(t, "the goroutines' end", func() bool { return goroutines() <= before+kept(s) })
		if long > 0 {
			if err := flat(resident); err != nil {
				t.Error(err)
			}
			t.Logf("%d stages, %d requests answered, %d connections, %d panics, %d time-outs; resident memory by quarter: %d MB",
				len(resident), answered, st.Accepted, st.Panics, st.Timeouts, quarters(resident))
		}
	})
}

// kept is how many goroutines a server without connections has: Serve, its clock, its
// loops and their watches, and the alarm once there was a debt.
func kept(s *Server) int {
	s.debts.mu.Lock()
	defer s.debts.mu.Unlock()
	n := 2 + 2*int(engine)*runtime.GOMAXPROCS(0)
	if s.debts.alarm != nil {
		n++
	}
	return n
}

func allStacks() []byte {
	stacks := make([]byte, 1<<20)
	return stacks[:runtime.Stack(stacks, true)]
}

// quarters are the medians of the four parts of a series, in MB.
func quarters(series []int64) (medians [4]int64) {
	for i := range medians {
		part := slices.Sorted(slices.Values(series[i*len(series)/4 : (i+1)*len(series)/4]))
		if len(part) > 0 {
			medians[i] = part[len(part)/2] >> 20
		}
	}
	return medians
}

// flat reports whether a series of sizes stopped growing: it compares the last
// quarter with the second, since the first fills what is kept.
func flat(series []int64) error {
	if len(series) < 8 {
		return fmt.Errorf("only %d samples: let it run for longer", len(series))
	}
	q := quarters(series)
	if q[3] > q[1]+q[1]/10+4 {
		return fmt.Errorf("resident memory grows: %d MB by quarter", q)
	}
	return nil
}

func TestFlat(t *testing.T) {
	var level, rising []int64
	for i := range int64(40) {
		level = append(level, 100<<20+i%7<<20)
		rising = append(rising, 100<<20+i<<20)
	}
	if err := flat(level); err != nil {
		t.Error(err)
	}
	if flat(rising) == nil || flat(level[:3]) == nil {
		t.Error("growth, or too few samples, passed as flat")
	}
}
