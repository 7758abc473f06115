package exhibit

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/exercise"
	"github.com/isobar-go/isobar/internal/lab/workload"
)

func init() {
	register(&workload.Workload{
		Name:    "exercise-limits",
		Summary: "limits of the allocation exercises: trade-offs, and when not to apply them",
		Params: workload.WithBudget("0", "1s",
			workload.Choice("limit", "concat3", "case to run: "+strings.Join(limitNames(), ", "), limitNames()...),
		),
		New: newExerciseLimits,
	})
}

// exerciseLimits repeats one of exercise.Limits.
type exerciseLimits struct {
	workload.Budgeted
	op func(*exercise.Input) uint64
	in *exercise.Input
}

func limitNames() []string { return slices.Sorted(maps.Keys(exercise.Limits)) }

func newExerciseLimits(env workload.Env) (workload.Task, error) {
	name := env.Params.String("limit")
	t := &exerciseLimits{Budgeted: env.Budget, op: exercise.Limits[name], in: exercise.NewInput(env.Seed)}
	if strings.HasPrefix(name, "files-") {
		var err error
		if t.in.Paths, err = someFiles(10); err != nil {
			return nil, fmt.Errorf("files to open: %w: set TMPDIR to a directory with room", err)
		}
	}
	return t, nil
}

// someFiles makes n small files in a new directory.
func someFiles(n int) (paths []string, err error) {
	dir, err := os.MkdirTemp("", "isobar-files-")
	if err != nil {
		return nil, err
	}
	for i := range n {
		path := filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(path, []byte(path), 0o600); err != nil {
			os.RemoveAll(dir)
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

func (t *exerciseLimits) Loop(_ int, n int64) uint64 { return t.in.Do(t.op, n) }

// Report adds the live bytes after a collection, per operation: what an operation leaks
// although nothing refers to it.
func (t *exerciseLimits) Report(rec *cell.Record) {
	liveHeap() // an object with a finalizer takes two
	if ops := rec.Metrics[cell.Ops]; ops > 0 {
		rec.Set("/limit/left:B", float64(liveHeap())/ops)
	}
}

func (t *exerciseLimits) Close() error {
	if len(t.in.Paths) > 0 {
		return os.RemoveAll(filepath.Dir(t.in.Paths[0]))
	}
	return nil
}
