package workload

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// TestBuildsStayClean builds a package as the program of exec: a later build, which finds it in
// the cache, prints no gctrace lines.
func TestBuildsStayClean(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no env")
	}
	t.Setenv("GOFLAGS", "-buildvcs=false") // without a -toolexec
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.org/clean\n\ngo 1.26\n",
		"a.go":   fmt.Sprintf("package clean\n\n// Built is new each time.\nconst Built = %d\n", time.Now().UnixNano()),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gc, err := cell.ParseGC("1")
	if err != nil {
		t.Fatal(err)
	}
	build := []string{"go", "build", "-C", dir, "./..."}
	task := &program{Env{Command: build, GC: gc}}
	var rec cell.Record
	if err := task.Run(context.Background(), &rec); err != nil || rec.Err != nil {
		t.Fatal(err, rec.Err)
	}
	if len(rec.Cycles) == 0 {
		t.Error("no collections of the go command were seen")
	}
	out, err := exec.Command(build[0], build[1:]...).CombinedOutput()
	if err != nil || strings.Contains(string(out), "gc 1 @") {
		t.Errorf("a later build: %v\n%s", err, out)
	}
}
