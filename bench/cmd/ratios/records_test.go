package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// measure runs three blocks of ./recorder and ./queue with what execute says.
func measure(t *testing.T, file string, change func(*measurement)) (m measurement, err error) {
	t.Helper()
	var jobs []job
	for _, pkg := range []string{"recorder", "queue"} {
		jobs = append(jobs, job{Blocks: 3, Ours: prefix, Packages: "./" + pkg})
	}
	m = measurement{jobs: jobs, interrupted: t.Context(), build: func(j job, _ string) ([]binary, error) {
		return []binary{{pkg: strings.TrimPrefix(j.Packages, "./")}}, nil
	}}
	if err := m.open(file); err != nil {
		t.Fatal(err)
	}
	m.execute = func(j job, b binary) ([]byte, error) { return output(b.pkg, 100), nil }
	if change != nil {
		change(&m)
	}
	return m, m.run()
}

func output(pkg string, ns int) []byte {
	return fmt.Appendf(nil, "BenchmarkX/impl=isobar-2 \t 10 \t %d ns/op\nBenchmarkX/impl=%s-peer-2 \t 10 \t %d ns/op\n",
		ns, pkg, 2*ns)
}

// An interrupted measurement loses nothing that had ended, and the next one
// measures the rest only.
func TestResume(t *testing.T) {
	file := filepath.Join(t.TempDir(), "records")
	runs := 0
	count := func(m *measurement) {
		ctx, cancel := context.WithCancel(t.Context())
		m.interrupted = ctx
		was := m.execute
		m.execute = func(j job, b binary) ([]byte, error) {
			if runs++; runs == 4 { // the child has the signal too
				cancel()
				return nil, errors.New("signal: interrupt")
			}
			return was(j, b)
		}
	}
	if _, err := measure(t, file, count); !errors.Is(err, errInterrupted) {
		t.Fatal(err)
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, `{"Commit":"cut sho`)
	f.Close()
	for _, want := range []int{7, 7} { // 3, the interrupted one, 3; and nothing more
		m, err := measure(t, file, count)
		if err != nil || len(m.all) != 6 || runs != want {
			t.Fatalf("%d records after %d runs, want 6 after %d (%v)", len(m.all), runs, want, err)
		}
	}
	if all, err := readRecords(file); err != nil || len(all) != 6 {
		t.Errorf("%d records in the file (%v)", len(all), err)
	}
	_, err = measure(t, file, func(m *measurement) { m.commit = "another"; count(m) })
	if err != nil || runs != 13 {
		t.Errorf("%d runs (%v): another commit is to be measured again", runs, err)
	}
}

// A package that fails, or whose benchmarks all skip themselves, does not keep the
// others from being measured, and is not recorded.
func TestFailure(t *testing.T) {
	for name, fail := range map[string]func() ([]byte, error){
		"broken":           func() ([]byte, error) { return nil, errors.New("broken") },
		"no benchmark ran": func() ([]byte, error) { return []byte("PASS\n"), nil },
	} {
		m, err := measure(t, "", func(m *measurement) {
			was := m.execute
			m.execute = func(j job, b binary) ([]byte, error) {
				if b.pkg == "recorder" {
					return fail()
				}
				return was(j, b)
			}
		})
		if err == nil || strings.Count(err.Error(), name) != 1 || len(m.all) != 3 {
			t.Errorf("%v and %d records, want one error, %s, and three records", err, len(m.all), name)
		}
	}
}

// What would end after the deadline is left for the next time.
func TestDeadline(t *testing.T) {
	file := filepath.Join(t.TempDir(), "records")
	m, err := measure(t, file, func(m *measurement) {
		m.deadline = time.Now().Add(time.Hour)
		m.all = append(m.all, record{unit: unit{Job: m.jobs[1], Pkg: "queue"}, Seconds: 7200})
	})
	if err != nil || m.left != 3 {
		t.Errorf("%d units left (%v), want the three that take two hours each", m.left, err)
	}
}

// Results files of several machines become a page each and one table. What was
// not measured again stays.
func TestPublish(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("README.md", "# Results\n"+frontBegin+frontEnd+"end\n")
	var all []record
	for i, cpu := range []string{"AMD EPYC", "Intel(R) Xeon(R) Processor @ 2.7GHz"} {
		m, err := measure(t, "", func(m *measurement) {
			m.machine = Machine{cpu, 2 + 62*i, "go1.0"}
			if i == 1 { // a peer that is better there
				m.execute = func(j job, b binary) ([]byte, error) {
					return []byte(strings.ReplaceAll(string(output(b.pkg, 100)), "200 ns", "50 ns")), nil
				}
				for k := range m.jobs {
					m.jobs[k].Blocks = 7
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m.all...)
	}
	begun := all[0] // a measurement that was interrupted at once: too few blocks for a table
	begun.Commit, begun.Output = "begun", strings.ReplaceAll(begun.Output, "200 ns", "900 ns")
	all = append(all, begun)
	write("benchmarks-amd-epyc-2.md", "# Old\n\n## queue\n\nold queue\n\n## slab\n\nold slab\n")
	if err := publish(all, dir, nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"benchmarks-amd-epyc-2.md":    {"on AMD EPYC, 2 CPUs.", "old slab", "| recorder-peer | 200 ns |  |  | 0.5 (wall)"},
		"benchmarks-intel-xeon-64.md": {"Processor @ 2.7GHz, 64 CPUs.", "| 2 (wall) | [2, 2] | worse |", "go1.0 at commit"},
		"README.md": {"| queue | queue-peer | 0.5 | 0 of 1 | 2 | 1 of 1; 2 of queue-peer in X-2 |",
			"[AMD EPYC, 2 CPUs](benchmarks-amd-epyc-2.md)", "\nend\n"},
	} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range want {
			if !strings.Contains(string(data), s) {
				t.Errorf("%s has no %q:\n%s", name, s, data)
			}
		}
		if strings.Contains(string(data), "old queue") {
			t.Errorf("%s keeps what was measured again", name)
		}
	}
}
