package memtest

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/isobar-go/isobar/internal/base/atomicfile"
	"github.com/isobar-go/isobar/internal/base/invariant"
)

// BudgetFile holds the budgets of a package, in its directory. Each line gives
// the name of a test and the objects and bytes that a call may allocate.
const BudgetFile = "testdata/memtest.budget"

var update = flag.Bool("memtest.update", false, "write the measured costs to "+BudgetFile)

func updating() bool { return *update || os.Getenv("MEMTEST_UPDATE") == "1" }

// fileLock guards the budget file, which parallel tests also write.
var fileLock sync.Mutex

// slack is how many bytes a call may exceed its budget by: the sizes of maps
// and of growing buffers vary between calls.
func slack(bytes float64) float64 { return bytes*0.05 + 16 }

// Budget fails the test if a call of f allocates more than the test's budget:
// more objects, or more bytes than 5 % plus 16 above it. A test that needs
// several budgets runs subtests. With the update flag it writes the measured
// cost as the new budget, except under the race detector.
func Budget(t testing.TB, f func()) {
	t.Helper()
	fileLock.Lock()
	budgets, err := readBudgets(BudgetFile)
	fileLock.Unlock()
	if err != nil {
		t.Errorf("memtest: Budget: %v", err)
		return
	}
	want, known := budgets[t.Name()]
	within := func(c Cost) bool {
		return !updating() && known && c.Allocs < want.Allocs+0.5 && c.Bytes <= want.Bytes+slack(want.Bytes)
	}
	got := measure(f, within)
	switch {
	case invariant.Race:
		t.Logf("memtest: Budget: %.4g objects and %.4g bytes a call; not held to the budget under the race detector",
			got.Allocs, got.Bytes)
	case updating():
		if err := writeBudget(BudgetFile, t.Name(), got); err != nil {
			t.Errorf("memtest: Budget: %v", err)
		}
	case !known:
		t.Errorf("memtest: Budget: %s has no line for %s; run the test with -memtest.update and review the file", BudgetFile,
			t.Name())
	case !within(got):
		t.Errorf("memtest: Budget: a call allocates %.4g objects and %.4g bytes, budget %.4g and %.4g; find the line with "+
			"go test -memprofile, or write a new budget with -memtest.update", got.Allocs, got.Bytes, want.Allocs, want.Bytes)
	case got.Allocs <= want.Allocs-1:
		t.Logf("memtest: Budget: a call allocates %.4g objects, budget %.4g; -memtest.update keeps what was gained",
			got.Allocs, want.Allocs)
	}
}

// readBudgets reads the file; one that does not exist holds no budgets.
func readBudgets(name string) (map[string]Cost, error) {
	data, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read: %w", err)
	}
	all := map[string]Cost{}
	sc := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var test string
		var c Cost
		if _, err := fmt.Sscanf(line, "%s allocs=%g bytes=%g", &test, &c.Allocs, &c.Bytes); err != nil {
			return nil, fmt.Errorf("%s:%d: %w; want NAME allocs=N bytes=N, or write the file with -memtest.update", name, n, err)
		}
		if _, twice := all[test]; twice {
			return nil, fmt.Errorf("%s:%d: %s has a line already; delete one of them", name, n, test)
		}
		all[test] = c
	}
	return all, sc.Err()
}

// writeBudget puts one line into the file and leaves the others as they are.
func writeBudget(name, test string, c Cost) error {
	fileLock.Lock()
	defer fileLock.Unlock()
	all, err := readBudgets(name)
	if err != nil {
		return err
	}
	all[test] = Cost{math.Round(c.Allocs), math.Round(c.Bytes)}
	var b strings.Builder
	b.WriteString("# What a call may allocate, by test. Written by go test -memtest.update.\n")
	for _, test := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%s allocs=%.0f bytes=%.0f\n", test, all[test].Allocs, all[test].Bytes)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if err := atomicfile.Bytes(name, 0o644, []byte(b.String())); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}
