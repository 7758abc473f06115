// Package server compares servers side by side over loopback: a server runs in a process of its own,
// the generator on one thread of this one, with a fixed number of keep-alive connections.
//
// The figures are about the server's process: user-ns/req and cpu-ns/req (user
// and kernel) by getrusage, allocs/op and B/op by its runtime. ns/op and req/s
// are about both, which share the machine: client-ns/req is the CPU time that
// the generator takes of it. A request counts when its answer has
// arrived whole, with status 200.
package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	serverEnv   = "ISOBAR_BENCH_SERVER"
	connections = 64
)

func TestMain(m *testing.M) {
	if name := os.Getenv(serverEnv); name != "" {
		if err := serveChild(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	for _, c := range children {
		c.stop()
	}
	os.Exit(code)
}

// A usage is what a server's process has used so far.
type usage struct {
	User, System   time.Duration
	Allocs, Bytes  uint64
	ResidentBytes  int64
	HeapStackBytes uint64
}

// serveChild is the server's process: it prints its address, then a usage for
// each line that it reads, until its input ends.
func serveChild(name string) error {
	serve, ok := servers[name]
	if !ok {
		return fmt.Errorf("no server %q", name)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	stdout := os.Stdout
	os.Stdout = os.Stderr // for whoever announces himself there
	go func() { fmt.Fprintln(os.Stderr, name, serve(l)); os.Exit(1) }()
	if name == "gnet" {
		<-booted
	}
	fmt.Fprintln(stdout, l.Addr())
	in := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(stdout)
	for in.Scan() {
		if in.Text() == "gc" { // twice: pools keep a generation, stacks shrink by half
			for range 4 {
				runtime.GC()
			}
		}
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			return err
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if err := out.Encode(usage{
			User: time.Duration(u.Utime.Nano()), System: time.Duration(u.Stime.Nano()),
			Allocs: m.Mallocs, Bytes: m.TotalAlloc, ResidentBytes: resident(),
			HeapStackBytes: m.HeapAlloc + m.StackInuse,
		}); err != nil {
			return err
		}
	}
	os.Exit(0)
	return nil
}

func resident() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, _ := strconv.ParseInt(strings.Fields(string(data))[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// A child is a server's process as the generator sees it.
type child struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	addr string
}

var children = map[string]*child{} // one for each server, started when first needed

func start(tb testing.TB, name string) *child {
	if c := children[name]; c != nil {
		return c
	}
	c := &child{cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(os.Environ(), serverEnv+"="+name)
	c.cmd.Stderr = os.Stderr
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		tb.Fatal(err)
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	c.out = bufio.NewReader(stdout)
	if err := c.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	line, err := c.out.ReadString('\n')
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	c.addr = strings.TrimSpace(line)
	children[name] = c
	return c
}

func (c *child) usage(tb testing.TB, command string) usage {
	if _, err := io.WriteString(c.in, command+"\n"); err != nil {
		tb.Fatal(err)
	}
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		tb.Fatal(err)
	}
	var u usage
	if err := json.Unmarshal(line, &u); err != nil {
		tb.Fatal(err)
	}
	return u
}

func (c *child) stop() {
	c.in.Close()
	c.cmd.Wait()
}

// The requests. Their sizes are what the servers without a parser count by.
var (
	getRequest = "GET /plaintext HTTP/1.1\r\nHost: bench.local\r\nUser-Agent: bench/1.0\r\nAccept: text/plain\r\nAccept-Encoding: identity\r\n\r\n"
	postBody   = strings.Repeat("0123456789abcdef", 32)
	// 8 headers and 512 bytes of body.
	postRequest = "POST /api/orders?dry=1 HTTP/1.1\r\nHost: bench.local\r\nUser-Agent: bench/1.0\r\nAccept: application/json\r\nAccept-Encoding: gzip, br\r\n" +
		"Authorization: Bearer 0123456789abcdef0123456789abcdef\r\nX-Request-Id: 6f1c2a34-8d1e-4bb1-9d7c-0b6f3f2a9c11\r\nContent-Type: application/json\r\nContent-Length: 512\r\n\r\n" + postBody
)

const answer = "Hello, World!"

var loads = []struct {
	name    string
	request string
	depth   int // requests in flight on a connection
}{
	{"get", getRequest, 1},
	{"post", postRequest, 1},
	{"pipelined", getRequest, 16},
	{varied, postRequest, 1},
}

// varied is the load whose header section differs from one request of a
// connection to the next, by the value of X-Request-Id.
const varied = "varied"

// dial opens a connection, and returns the size of an answer to the request,
// which it has made once.
func dial(addr, request string) (conn net.Conn, size int, err error) {
	conn, err = net.Dial("tcp", addr)
	if err != nil {
		return nil, 0, err
	}
	size, err = measure(conn, request)
	if err != nil {
		conn.Close()
	}
	return conn, size, err
}

func measure(conn net.Conn, request string) (int, error) {
	if _, err := io.WriteString(conn, request); err != nil {
		return 0, err
	}
	buf := make([]byte, 4<<10)
	n := 0
	for {
		m, err := conn.Read(buf[n:])
		if err != nil {
			return 0, err
		}
		n += m
		head, body, ok := bytes.Cut(buf[:n], []byte("\r\n\r\n"))
		if !ok {
			continue
		}
		if string(body) == answer && bytes.HasPrefix(head, []byte("HTTP/1.1 200 OK\r\n")) {
			return n, nil
		}
		if len(body) >= len(answer) {
			return 0, fmt.Errorf("unexpected answer %q", buf[:n])
		}
	}
}

// BenchmarkWrk: the same with wrk as the generator, on one thread, which takes
// less of the machine that both share. An operation is one request; it is meant
// for -benchtime 1x, which is two seconds of load.
func BenchmarkWrk(b *testing.B) {
	wrk, err := exec.LookPath("wrk")
	if err != nil {
		b.Skip("wrk is not installed: test/http/run.sh installs it")
	}
	for _, load := range loads[:2] {
		script := filepath.Join(b.TempDir(), load.name+".lua")
		if err := os.WriteFile(script, fmt.Appendf(nil, "local r = %s\nrequest = function() return r end\n", luaQuote(load.request)), 0o644); err != nil {
			b.Fatal(err)
		}
		for _, name := range names {
			b.Run(fmt.Sprintf("load=%s/impl=%s", load.name, name), func(b *testing.B) {
				server := start(b, name)
				before := server.usage(b, "usage")
				requests := 0
				var client time.Duration
				b.ResetTimer()
				for range b.N {
					cmd := exec.Command(wrk, "-t1", "-c"+strconv.Itoa(connections), "-d2s", "-s", script, "http://"+server.addr+"/")
					out, err := cmd.CombinedOutput()
					m := wrkRequests.FindSubmatch(out)
					if err != nil || m == nil || bytes.Contains(out, []byte("Non-2xx")) || bytes.Contains(out, []byte("Socket errors")) {
						b.Fatalf("%s: %v\n%s", name, err, out)
					}
					n, _ := strconv.Atoi(string(m[1]))
					requests += n
					client += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
				}
				elapsed := b.Elapsed()
				after := server.usage(b, "usage")
				if requests == 0 {
					b.Fatalf("%s: wrk made no request", name)
				}
				report(b, float64(requests), elapsed, before, after, client)
			})
		}
	}
}

func report(b *testing.B, requests float64, elapsed time.Duration, before, after usage, client time.Duration) {
	each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / requests }
	b.ReportMetric(each(elapsed), "ns/op")
	b.ReportMetric(requests/elapsed.Seconds(), "req/s")
	b.ReportMetric(each(after.User-before.User), "user-ns/req")
	b.ReportMetric(each(after.User+after.System-before.User-before.System), "cpu-ns/req")
	b.ReportMetric(each(client), "client-ns/req")
	b.ReportMetric(float64(after.Allocs-before.Allocs)/requests, "allocs/op")
	b.ReportMetric(float64(after.Bytes-before.Bytes)/requests, "B/op")
}

var wrkRequests = regexp.MustCompile(`(\d+) requests in`)

// luaQuote quotes ASCII text for Lua.
func luaQuote(s string) string {
	return `"` + strings.NewReplacer("\r", `\r`, "\n", `\n`, `"`, `\"`).Replace(s) + `"`
}

// BenchmarkIdle opens connections that have had one request, and reports what
// the server's process holds for each: resident memory, and heap and stacks.
// It is meant for -benchtime 1x: an operation opens all connections.
func BenchmarkIdle(b *testing.B) {
	const count = 2000
	// What goes back to the Go heap stays resident for longer than what is
	// unmapped.
	for _, name := range append(slices.Clone(names), "isobar-slab-offheap") {
		b.Run("impl="+name, func(b *testing.B) {
			for b.Loop() {
				server := start(b, name)
				before := server.usage(b, "gc")
				conns := make([]net.Conn, 0, count)
				for range count {
					conn, _, err := dial(server.addr, postRequest)
					if err != nil {
						b.Fatal(err)
					}
					conns = append(conns, conn)
				}
				time.Sleep(5 * time.Second) // what a server drops when idle
				after := server.usage(b, "gc")
				b.ReportMetric(float64(after.ResidentBytes-before.ResidentBytes)/count, "resident-B/conn")
				b.ReportMetric(float64(after.HeapStackBytes-before.HeapStackBytes)/count, "heap+stack-B/conn")
				for _, c := range conns {
					c.Close()
				}
				server.stop() // its memory would hide the next one's
				delete(children, name)
			}
		})
	}
}

// checkResponse fails unless the server sends the header fields that all of
// them send, and no other.
func checkResponse(t *testing.T, name, addr string) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, getRequest); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	defer resp.Body.Close()
	if date := resp.Header.Get("Date"); len(date) != len(http.TimeFormat) {
		t.Errorf("%s: date %q", name, date)
	}
	resp.Header.Del("Date")
	want := http.Header{"Content-Length": {"13"}, "Content-Type": {"text/plain; charset=utf-8"}}
	if !maps.EqualFunc(resp.Header, want, slices.Equal) {
		t.Errorf("%s: header fields %v, want %v and a date", name, resp.Header, want)
	}
}
