package http11

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// BenchmarkWatchCost measures what the watch costs a server process. A process
// gets the same load with and without its watch in turns; it compares their CPU
// time, and their activity in a second without requests. One process serves
// both, as two differ by more than a watch costs, and turns are short and many.
// The watch has no CPU time of its own to be read: a leader that puts its alarm
// off costs on the leader's goroutine, and a look that wakes a thread costs the
// caches of the others.
//
//	go test -run '^$' -bench WatchCost -benchtime 1x ./http11
func BenchmarkWatchCost(b *testing.B) {
	const pairs = 101
	for _, engine := range engines {
		p := newProcess(b, engine)
		for _, load := range []struct {
			name string
			run  func(b *testing.B, addr string)
		}{
			{"closed", func(b *testing.B, addr string) { ask64(b, addr, 10_000/64, 1, 0) }},
			{"pipelined", func(b *testing.B, addr string) { ask64(b, addr, 30_000/64/16, 16, 0) }},
			{"paced", func(b *testing.B, addr string) { ask64(b, addr, 12, 1, 25*time.Millisecond) }},
		} {
			b.Run("engine="+engine.String()+"/load="+load.name, func(b *testing.B) {
				var logs, shares []float64
				for i := range pairs + 1 {
					of := map[string]float64{}
					begin := time.Now()
					for k := range 2 { // by turns, the first one in turn too
						path := []string{"/watched", "/bare"}[(i+k)%2]
						p.ask(b, path)
						of[path] = p.during(b, load.run)
					}
					if i > 0 { // the first one warms up
						logs = append(logs, math.Log(of["/watched"]/of["/bare"]))
						shares = append(shares, (of["/watched"]-of["/bare"])/(time.Since(begin).Seconds()/2))
					}
				}
				slices.Sort(logs)
				slices.Sort(shares)
				// The 95 % interval of a median, by order statistics.
				half := int(math.Ceil(1.96 * math.Sqrt(pairs) / 2))
				for name, i := range map[string]int{"": pairs / 2, "-low": pairs/2 - half, "-high": pairs/2 + half} {
					b.ReportMetric(math.Exp(logs[i]), "ratio"+name)
					b.ReportMetric(100*shares[i], "%-of-a-CPU"+name)
				}
				b.ReportMetric(0, "ns/op")
			})
		}
		for _, conns := range []int{0, 1000} {
			b.Run(fmt.Sprintf("engine=%v/idle=%d", engine, conns), func(b *testing.B) {
				for _, path := range []string{"/watched", "/bare"} {
					p.ask(b, path)
					p.idle(b, conns, strings.Replace(path, "/", "-", 1))
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// A process is a server in its own process.
type process struct {
	addr    string
	control net.Conn
	r       *bufio.Reader
}

func newProcess(b *testing.B, engine Engine) *process {
	p := &process{}
	child := exec.Command(os.Args[0], "-test.run", "^TestWatchServer$")
	child.Env = append(os.Environ(), "HTTP11_WATCH_SERVER="+engine.String())
	child.Stderr = os.Stderr
	in, err := child.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := child.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close() // it ends then
		child.Wait()
	})
	if _, err := fmt.Fscan(out, &p.addr); err != nil {
		b.Fatal(err)
	}
	if p.control, err = net.Dial("tcp", p.addr); err != nil {
		b.Fatal(err)
	}
	p.r = bufio.NewReader(p.control)
	return p
}

// TestWatchServer is the body of a server process.
func TestWatchServer(t *testing.T) {
	name := os.Getenv("HTTP11_WATCH_SERVER")
	if name == "" {
		return
	}
	s := &Server{}
	s.Handler = HandlerFunc(func(c *Context) {
		switch {
		case c.Path().Equal("/watched"):
			s.unwatched.Store(false)
		case c.Path().Equal("/bare"):
			s.unwatched.Store(true)
		case !c.Path().Equal("/usage"):
			c.WriteString("Hello, World!")
			return
		}
		var u syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it cannot fail for this process
		fmt.Fprintln(c, u.Utime.Nano()+u.Stime.Nano(), u.Nvcsw)
	})
	if name == Readiness.String() {
		s.Engine = Readiness
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l) // it ends with the process
	fmt.Println(l.Addr())
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// ask turns the watch on or off, or asks for usage only, and returns the CPU
// time in seconds and how often threads have waited.
func (p *process) ask(b *testing.B, path string) (cpu float64, waits int) {
	io.WriteString(p.control, "GET "+path+" HTTP/1.1\r\nHost: h\r\n\r\n")
	for line := "\n"; line != "\r\n"; {
		var err error
		if line, err = p.r.ReadString('\n'); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := fmt.Fscanln(p.r, &cpu, &waits); err != nil {
		b.Fatal(err)
	}
	return cpu / 1e9, waits
}

// during returns the CPU time of a load.
func (p *process) during(b *testing.B, load func(*testing.B, string)) (cpu float64) {
	before, _ := p.ask(b, "/usage")
	load(b, p.addr)
	after, _ := p.ask(b, "/usage")
	return after - before
}

// idle reports what the process does in a second with that many connections
// that have each had a request.
func (p *process) idle(b *testing.B, conns int, suffix string) {
	for range conns {
		nc, err := net.Dial("tcp", p.addr)
		if err != nil {
			b.Fatal(err)
		}
		defer nc.Close()
		io.WriteString(nc, helloRequest)
		if _, err := io.ReadFull(nc, make([]byte, helloBytes)); err != nil {
			b.Fatal(err)
		}
	}
	time.Sleep(2 * time.Second) // let the aftermath of a load pass
	cpu, waits := p.ask(b, "/usage")
	time.Sleep(5 * time.Second)
	cpu2, waits2 := p.ask(b, "/usage")
	b.ReportMetric(float64(waits2-waits)/5, "waits/s"+suffix)
	b.ReportMetric((cpu2-cpu)/5*1e6, "cpu-µs/s"+suffix)
}

const helloRequest = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

// helloBytes is the length of a response: the length of its date is constant.
const helloBytes = len("HTTP/1.1 200 OK\r\nDate: Mon, 02 Jan 2006 15:04:05 GMT\r\nContent-Length: 13\r\n\r\nHello, World!")

// ask64 sends rounds of pipelined requests on each of 64 connections, one round
// per interval, or without pauses.
func ask64(b *testing.B, addr string, rounds, pipelined int, every time.Duration) {
	var wg sync.WaitGroup
	requests := []byte(strings.Repeat(helloRequest, pipelined))
	for i := range 64 {
		wg.Go(func() {
			nc, err := net.Dial("tcp", addr)
			if err != nil {
				b.Error(err)
				return
			}
			defer nc.Close()
			begin := time.Now().Add(time.Duration(i) * every / 64)
			buf := make([]byte, helloBytes*pipelined)
			for round := range rounds {
				if every > 0 {
					time.Sleep(time.Until(begin.Add(time.Duration(round) * every)))
				}
				nc.Write(requests) // an error shows in the read
				if _, err := io.ReadFull(nc, buf); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}
