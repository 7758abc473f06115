package heap

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// A reading is the result of one tool on one target.
type reading struct {
	Tool    string
	Objects int     // in the target
	Live    uint64  // bytes, according to the runtime
	Seconds float64 // of the tool
	Peak    uint64  // bytes of the tool's memory
	Found   uint64  // bytes that the tool reports as live
	Named   uint64  // of Found, bytes with a type
	Stop    time.Duration
	Error   string
}

// peers run the tools in ISOBAR_PEERS on a target; the first word of the name is the program.
var peers = []struct {
	name string
	args func(dir string, pid int) []string
	read func(r *reading, dir string, out []byte) error
}{
	{"isobar", func(_ string, pid int) []string { return []string{"heap", fmt.Sprint(pid), "--json"} }, readOurs},
	{"isobar without fork", func(_ string, pid int) []string {
		return []string{"heap", fmt.Sprint(pid), "--json", "--fork-above", "0"}
	}, readOurs},
	{"grf", func(dir string, pid int) []string {
		return []string{"attach", fmt.Sprint(pid), "-o", filepath.Join(dir, "grf.out")}
	}, readGrf},
	{"viewcore", func(dir string, pid int) []string {
		return []string{filepath.Join(dir, fmt.Sprint("core.", pid)), "--exe", filepath.Join(dir, "objects"), "histogram"}
	}, readViewcore},
}

// TestPeers reads targets of several sizes with isobar and its peers, and writes
// docs/results/heap-peers.md. scripts/heap-peers.sh runs it.
func TestPeers(t *testing.T) {
	dir := os.Getenv("ISOBAR_PEERS")
	if dir == "" {
		t.Skip("scripts/heap-peers.sh runs it")
	}
	var all []reading
	for _, records := range []int{20_000, 200_000, 840_000, 4_000_000} {
		for _, p := range peers {
			kept := filepath.Join(dir, "results", fmt.Sprint(p.name, records))
			var r reading
			if data, err := os.ReadFile(kept); err == nil && json.Unmarshal(data, &r) == nil {
				all = append(all, r)
				continue
			}
			if !strings.HasPrefix(p.name, "isobar") && (records > 1_000_000 || os.Getenv("ISOBAR_PEERS_OURS") != "") {
				continue
			}
			r = reading{Tool: p.name}
			pid, live, exact := started(t, filepath.Join(dir, "objects"), fmt.Sprint(records))
			r.Live, r.Objects = live, int(exact)
			core := filepath.Join(dir, "core")
			if p.name == "viewcore" {
				if out, err := exec.Command("gcore", "-o", core, fmt.Sprint(pid)).CombinedOutput(); err != nil {
					t.Fatalf("gcore: %v\n%s", err, out)
				}
			}
			cmd := exec.Command(filepath.Join(dir, strings.Fields(p.name)[0]), p.args(dir, pid)...)
			start := time.Now()
			out, err := cmd.Output()
			r.Seconds = time.Since(start).Seconds()
			r.Peak = uint64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) << 10
			if err == nil {
				err = p.read(&r, dir, out)
			}
			if err != nil {
				r.Error = err.Error()
			}
			os.Remove(fmt.Sprint(core, ".", pid))
			t.Logf("%+v", r)
			data, _ := json.Marshal(r)
			if err := os.WriteFile(kept, data, 0o644); err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
	}
	writePeers(t, all)
}

func readOurs(r *reading, _ string, out []byte) error {
	var d Report
	err := json.Unmarshal(out, &d)
	r.Found, r.Named, r.Stop = d.Live, d.Live-d.Untyped, d.Stop
	return err
}

// readGrf sums the profile that goref writes; its sub-objects have no name.
func readGrf(r *reading, dir string, _ []byte) error {
	f, err := os.Open(filepath.Join(dir, "grf.out"))
	if err != nil {
		return err
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		return err
	}
	for _, s := range p.Sample {
		bytes := uint64(s.Value[1])
		r.Found += bytes
		if len(s.Location) > 0 && !strings.Contains(s.Location[0].Line[0].Function.Name, "$sub_objects$") {
			r.Named += bytes
		}
	}
	return nil
}

// readViewcore sums lines of count, size, bytes and type.
func readViewcore(r *reading, _ string, out []byte) error {
	for line := range strings.Lines(string(out)) {
		var count, each, bytes uint64
		var name string
		if n, _ := fmt.Sscan(line, &count, &each, &bytes, &name); n < 4 {
			continue
		}
		r.Found += bytes
		if !strings.HasPrefix(name, "unk") {
			r.Named += bytes
		}
	}
	if r.Found == 0 {
		return fmt.Errorf("no histogram in %d bytes", len(out))
	}
	return nil
}

func writePeers(t *testing.T, all []reading) {
	var b strings.Builder
	b.WriteString(`# Reading a heap, beside other tools

Written by ` + "`scripts/heap-peers.sh`" + `. Programs with records in a map and a list, strings and interfaces are read
by isobar heap, by goref (grf), and by viewcore from a core that gcore wrote beforehand.

- *found*, *named*: shares of what the runtime says is live. A byte is named if the tool tells the type of its object.
- *stopped*: how long the program stood still, for the fork or, without one, for the copy. Only isobar reports it; goref
  stops the program all the time.

Only isobar says what a holder retains.

| objects | live | tool | time | peak memory | found | named | stopped |
| --- | --- | --- | --- | --- | --- | --- | --- |
`)
	for _, r := range all {
		fmt.Fprintf(&b, "| %s | %s | %s | ", count(uint64(r.Objects)), size(r.Live), r.Tool)
		stop := "–"
		if r.Stop > 0 {
			stop = fmt.Sprintf("%d ms, %.0f ms a GB", r.Stop.Milliseconds(), r.Stop.Seconds()*1e3/(float64(r.Live)/1e9))
		}
		if r.Error != "" {
			fmt.Fprintf(&b, "%.1f s | %s | failed: %s | | |\n", r.Seconds, size(r.Peak), r.Error)
			continue
		}
		fmt.Fprintf(&b, "%.1f s | %s | %.1f %% | %.1f %% | %s |\n", r.Seconds, size(r.Peak),
			100*share(r.Found, r.Live), 100*share(r.Named, r.Live), stop)
	}
	if err := os.WriteFile("../../docs/results/heap-peers.md", []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
