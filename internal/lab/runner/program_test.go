package runner

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// program is what exec cells run in these tests.
func program(args []string) int {
	switch args[0] {
	case "sleep":
		time.Sleep(time.Hour)
	case "pid": // writes its PID to a file, then sleeps
		os.WriteFile(args[1], []byte(strconv.Itoa(os.Getpid())), 0o644)
		time.Sleep(time.Hour)
	case "churn": // collects under load, writes to stderr, and reports how often
		churn(args[1])
	case "hold": // holds memory, in two processes if it has an argument
		held := bytes.Repeat([]byte{1}, 64<<20)
		if len(args) > 1 {
			cmd := exec.Command(os.Args[0], "program", "hold")
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			if cmd.Run() != nil {
				return 1
			}
		}
		time.Sleep(200 * time.Millisecond)
		runtime.KeepAlive(held)
	case "fake":
		for i := range 3 {
			fmt.Fprintf(os.Stderr, "gc %d @0.001s 1%%: 0.01+0.2+0.003 ms clock, 0.02+0.1/0.2/0+0.006 ms cpu, 4->4->1 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P\n", i+1)
		}
	case "fail":
		fmt.Fprintln(os.Stderr, "no luck today")
		return 3
	case "quota": // fails with its reason on standard output
		fmt.Print(strings.Repeat("a result\n", 10_000), "quota exceeded\n")
		if len(args) > 1 {
			fmt.Fprintln(os.Stderr, args[1])
		}
		return 4
	case "kill":
		p, _ := os.FindProcess(os.Getpid())
		p.Kill()
		select {}
	case "escape": // leaves a process behind in its own session
		exe, _ := os.Executable()
		cmd := exec.Command(exe, "program", "pid", args[1])
		cmd.SysProcAttr = sessionAttr()
		cmd.Start()
		time.Sleep(time.Hour)
	case "leave": // ends while a process in its own session, which has a child, goes on
		cmd := exec.Command("sh", "-c", `sleep 3600 & echo $! >"$0"; wait`, args[1])
		cmd.SysProcAttr = sessionAttr()
		if cmd.Start() != nil {
			return 1
		}
		for { // until the child runs
			if data, _ := os.ReadFile(args[1]); len(data) > 0 {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	return 0
}

// churn writes the number of collections, as counted by the runtime, to file.
func churn(file string) {
	var group sync.WaitGroup
	stop := make(chan struct{})
	for i := range 2 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					fmt.Fprintf(os.Stderr, "chatter %d of the program %s\n", i, strings.Repeat("x", 20*i))
					runtime.Gosched()
				}
			}
		})
	}
	for range 2000 {
		sink = make([]byte, 1<<19)
	}
	runtime.GC()
	close(stop)
	group.Wait()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	os.WriteFile(file, fmt.Appendf(nil, "%d %d", m.NumGC, m.NumForcedGC), 0o644)
}
