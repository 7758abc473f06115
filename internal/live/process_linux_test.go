package live

import (
	"expvar"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// This process listens, so its feed shows the figures of its port and of the
// kernel.
func TestProcessThatListens(t *testing.T) {
	serve(t, prefix("/debug/vars", expvar.Handler()))
	f := openTest(t, strconv.Itoa(os.Getpid()), Config{})
	s := next(t, f)
	if !strings.Contains(f.Source(), "/debug/vars") {
		t.Errorf("source %q", f.Source())
	}
	if v := s.value(t, "/heap/objects:bytes"); !(v > 1e5) {
		t.Errorf("heap %v", v)
	}
	if v := s.value(t, "/memory/resident:bytes"); !(v > 1e6) {
		t.Errorf("resident %v", v)
	}
	if v := s.value(t, "/process/threads:threads"); !(v >= 2) {
		t.Errorf("%v threads", v)
	}
	if s.Process.PID != os.Getpid() || !strings.HasPrefix(s.Process.Go, "go1") {
		t.Errorf("process %+v", s.Process)
	}
}

// All ports are asked at once: each of these answers only when both were asked. What names another
// process, as behind the port of a proxy, is not taken for this one's.
func TestPortsOfProcess(t *testing.T) {
	both := make(chan bool)
	handler := func(w http.ResponseWriter, r *http.Request) {
		select {
		case both <- true:
		case <-both:
		case <-r.Context().Done():
			return
		}
		expvar.Handler().ServeHTTP(w, r)
	}
	var ports []string
	for range 2 {
		srv := serve(t, prefix("/debug/vars", http.HandlerFunc(handler)))
		ports = append(ports, srv.Listener.Addr().String())
	}
	c := Config{Interval: short}
	f, _ := firstWithFigures(os.Getpid(), ports, c)
	if f == nil {
		t.Fatal("no figures")
	}
	defer f.Close()
	if got, want := f.Source(), "http://"+ports[0]+"/debug/vars"; got != want {
		t.Errorf("figures from %s, want %s", got, want)
	}
	for name, h := range map[string]http.Handler{
		"expvar": prefix("/debug/vars", expvar.Handler()), "page": prefix("/debug/isobar/", newMonitor(t)),
	} {
		srv := serve(t, h)
		f, others := firstWithFigures(os.Getppid(), []string{srv.Listener.Addr().String()}, c)
		if f != nil {
			t.Errorf("%s: the figures of this process are taken for those of its parent", name)
			f.Close()
		}
		if len(others) != 1 || others[0] != srv.URL {
			t.Errorf("%s: %q has another's, want %s", name, others, srv.URL)
		}
	}
}

func TestProcessThatDoesNot(t *testing.T) {
	shell := exec.Command("sleep", "60")
	if err := shell.Start(); err != nil {
		t.Skip(err)
	}
	defer shell.Wait()
	defer shell.Process.Kill()
	if _, err := Open(strconv.Itoa(shell.Process.Pid), Config{Interval: short}); err == nil || !strings.Contains(err.Error(), "not a Go program") {
		t.Errorf("sleep: %v", err)
	}
}

// A stopped process is not told to import what it may have.
func TestProcessThatIsStopped(t *testing.T) {
	if os.Getenv("ISOBAR_TEST_STOPPED") != "" {
		select {}
	}
	child := exec.Command(os.Args[0], "-test.run=^TestProcessThatIsStopped$")
	child.Env = append(os.Environ(), "ISOBAR_TEST_STOPPED=1")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer child.Process.Kill()
	if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(child.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatal(err, status)
	}
	f := openTest(t, strconv.Itoa(child.Process.Pid), Config{Interval: short})
	next(t, f)
	if notes := f.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "has stopped the process") {
		t.Errorf("notes are %q", notes)
	}
}

// A followed file is closed with its feed: isobar ui opens files repeatedly.
func TestFileIsClosed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "gc.log")
	if err := os.WriteFile(name, []byte(traceLine(1, "1", 4, 6, 2)), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() (n int) {
		links, err := filepath.Glob("/proc/self/fd/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range links {
			if target, err := os.Readlink(link); err == nil && target == name {
				n++
			}
		}
		return n
	}
	f := openTest(t, name, Config{})
	next(t, f)
	if n := open(); n != 1 {
		t.Fatalf("the file is open %d times while it is followed", n)
	}
	f.Close()
	for deadline := time.Now().Add(10 * time.Second); open() > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the file is open after Close")
		}
	}
}
