package http11

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// scarceEnv turns the process into a server with few descriptors.
const scarceEnv = "ISOBAR_TEST_DESCRIPTORS"

// scarceServer prints its address, then its statistics for each line that it
// reads, until its input ends.
func scarceServer() error {
	limit := syscall.Rlimit{Cur: 64, Max: 64}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &Server{Handler: HandlerFunc(echo)}
	go s.Serve(l) // until the process ends
	fmt.Println(l.Addr())
	out := json.NewEncoder(os.Stdout)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if err := out.Encode(s.Stats()); err != nil {
			return err
		}
	}
	os.Exit(0)
	return nil
}

// TestDescriptorsRunOut opens more connections than a server has descriptors.
// When some of them close, all others are served.
func TestDescriptorsRunOut(t *testing.T) {
	if os.Getenv(scarceEnv) != "" {
		t.Fatal(scarceServer())
	}
	child := exec.Command(os.Args[0], "-test.run", "^TestDescriptorsRunOut$")
	child.Env = append(os.Environ(), scarceEnv+"=1")
	child.Stderr = os.Stderr
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		stdin.Close()
		if err := child.Wait(); err != nil {
			t.Error(err)
		}
	}()
	answers := bufio.NewReader(stdout)
	line, err := answers.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	addr := line[:len(line)-1]
	stats := func() (s Stats) {
		io.WriteString(stdin, "\n")
		line, err := answers.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &s)
		}
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const idle, waiting = 64, 100
	conns := make([]net.Conn, idle+waiting)
	for i := range conns {
		if conns[i], err = net.Dial("tcp", addr); err != nil {
			t.Fatal(err)
		}
		defer conns[i].Close()
		if i >= idle {
			io.WriteString(conns[i], "GET / HTTP/1.0\r\n\r\n")
		}
	}
	waitFor(t, "the server to run out of descriptors", func() bool { return stats().AcceptErrors >= 2 })
	if s := stats(); s.Conns >= idle {
		t.Errorf("%d connections with 64 descriptors", s.Conns)
	}
	for _, nc := range conns[:idle] {
		nc.Close()
	}
	for i, nc := range conns[idle:] {
		nc.SetReadDeadline(time.Now().Add(20 * time.Second))
		resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("waiting connection %d: %v, %v", i, resp, err)
		}
	}
	waitFor(t, "all to be closed", func() bool { s := stats(); return s.Conns == 0 && s.Accepted == idle+waiting })
}
