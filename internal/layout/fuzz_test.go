package layout

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestFuzzScript holds which outcomes scripts/fuzz.sh tries again. A shell script
// stands in for the go command and builds another, which says what a target would.
func TestFuzzScript(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the script needs bash")
	}
	const (
		crash   = "--- FAIL: FuzzOne (1.00s)\n    --- FAIL: FuzzOne (0.00s)\n        a_test.go:9: "
		elapsed = "fuzz: elapsed: 0s, gathering baseline coverage: 2/2 completed\n"
		pass    = elapsed + "PASS\n"
		end     = "FAIL\n"
		late    = elapsed + "--- FAIL: FuzzOne (5.10s)\n    context deadline exceeded\n" + end
		input   = "    \n    Failing input written to testdata/fuzz/FuzzOne/0123\n    To re-run:\n"
	)
	for _, tc := range []struct {
		name    string
		outputs []string // of each run, in order
		ok      bool
	}{
		{"pass", []string{pass}, true},
		{"late once", []string{late, pass}, true},
		{"late twice", []string{late, late}, false},
		{"late, then a failure", []string{late, crash + "1, want 2\n" + input + end}, false},
		{"failing input", []string{elapsed + crash + "1, want 2\n" + input + end}, false},
		{"the target says so", []string{elapsed + crash + "read: context deadline exceeded\n" + input + end}, false},
		{"input of a late run", []string{strings.TrimSuffix(late, end) + input + end}, false},
		{"minimizing when late", []string{"fuzz: minimizing 9-byte failing input file\n" + late}, false},
		{"another target", []string{strings.ReplaceAll(late, "FuzzOne", "FuzzOther")}, false},
		{"a panic before", []string{"panic: a\n\ngoroutine 1 [running]:\n" + late}, false},
		{"no build", nil, false},
		{"no instrumentation", []string{"warning: the test binary was not built with coverage instrumentation, ...\n" + pass},
			false},
		{"no output", []string{""}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			write := func(name, text string, mode os.FileMode) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
					t.Fatal(err)
				}
			}
			for i, output := range tc.outputs {
				write(fmt.Sprint("output", i), output, 0o600)
			}
			write("one_test.go", "package one\n\nfunc FuzzOne(f *testing.F) {\n", 0o600)
			// Run n prints output n. Without one the script ran too often.
			write("target", fmt.Sprintf(`#!/bin/sh
cd %q
n=$(ls | grep -c '^ran')
touch "ran$n"
cat "output$n"
grep -q '^PASS' "output$n"
`, dir), 0o700)
			write("go", fmt.Sprintf(`#!/bin/sh
cd %q
while [ $# -gt 1 ] && [ "$1" != -o ]; do shift; done
case "$1" in
-o) test -e output0 && cp target "$2" ;;
*) pwd ;;
esac
`, dir), 0o700)
			cmd := exec.Command("bash", filepath.Join("..", "..", "scripts", "fuzz.sh"), dir)
			cmd.Env = append(os.Environ(), "GO="+filepath.Join(dir, "go"))
			out, err := cmd.CombinedOutput()
			if (err == nil) != tc.ok {
				t.Errorf("%v, want ok = %v\n%s", err, tc.ok, out)
			}
			runs, _ := filepath.Glob(filepath.Join(dir, "ran*"))
			if len(runs) != len(tc.outputs) {
				t.Errorf("%d runs, want %d\n%s", len(runs), len(tc.outputs), out)
			}
		})
	}
}

// TestFuzzScriptWantsTargets fails where a search for targets finds none.
func TestFuzzScriptWantsTargets(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the script needs bash")
	}
	out, err := exec.Command("bash", filepath.Join("..", "..", "scripts", "fuzz.sh"), t.TempDir()).CombinedOutput()
	if err == nil {
		t.Errorf("passed without a target:\n%s", out)
	}
}
