// History judges isobar advise with a profile on fixes that public projects
// made: on the line in the release before a fix, with a synthetic profile in
// which it has a fifth of all bytes and objects, and on the line in the release
// after.
//
// A release is what the module proxy has, in a copy whose go.sum may change;
// replacements by directories are dropped, as for those who import it. What
// does not build is reported with the reason. A profile has what the line
// allocates by the code and the compiler's -m, in its true function below the
// first callers of the package. Calls are never shown as inlined, and sizes that
// the code does not tell are 64 bytes.
//
// Usage:
//
//	go build -o ISOBAR ../cmd/isobar
//	go run ./cmd/history -isobar ISOBAR -out DIR [-list FILE]
//	go run ./cmd/history -judged FILE [-list FILE]
//
// The first writes what a reader needs to judge the fixes to DIR/report.md and,
// unless it is there, rows to fill to DIR/judge.tsv: is the remedy right, is the
// report silent after the fix, yes or no, and why; - is what was not run. The
// second prints their table. DIR/NNN has the profiles and reports of fix NNN of
// the list; what is there is not run again, failures included.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "history: %v\n", err)
		os.Exit(1)
	}
}

// A fix is one that release After of a module has, and release Before lacks.
type fix struct {
	Module    string `json:"module"`
	Before    string `json:"before"`
	After     string `json:"after"`
	File      string `json:"file"` // below the module's root
	Line      int    `json:"line"`
	AfterLine int    `json:"after_line"` // 0 if nothing stands there
	Exercise  int    `json:"exercise"`
	Call      string `json:"call"` // PACKAGE.FUNC or PACKAGE.TYPE.METHOD that allocates; "" if the line does
	Did       string `json:"did"`
}

// sides are the releases of a fix.
var sides = []string{"before", "after"}

// on returns the version and the line of a side.
func (f *fix) on(side string) (version string, line int) {
	if side == "after" {
		return f.After, f.AfterLine
	}
	return f.Before, f.Line
}

func read(name string) (fixes []fix, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		var one fix
		err := json.Unmarshal(sc.Bytes(), &one)
		if err == nil && (one.Module == "" || one.Before == "" || one.After == "" || !strings.HasSuffix(one.File, ".go") ||
			one.Line < 1 || one.AfterLine < 0 || one.Exercise < 1 || one.Exercise > 18 || one.Did == "") {
			err = errors.New("want a module, two versions, a Go file, its lines, an exercise from 1 to 18, and what the fix did")
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, len(fixes)+1, err)
		}
		fixes = append(fixes, one)
	}
	return fixes, sc.Err()
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("history", flag.ContinueOnError)
	list := flags.String("list", filepath.Join("..", "advise", "testdata", "releases.jsonl"), "the fixes")
	dir := flags.String("out", "", "directory of the results")
	isobar := flags.String("isobar", "", "the program to judge")
	judged := flags.String("judged", "", "print the table of these rows")
	if err := flags.Parse(args); err != nil {
		return err
	}
	fixes, err := read(*list)
	if err != nil {
		return err
	}
	if *judged != "" {
		rows, err := readJudged(*judged, len(fixes))
		if err == nil {
			_, err = io.WriteString(out, table(fixes, rows))
		}
		return err
	}
	if *dir == "" || *isobar == "" {
		return errors.New("want -out and -isobar, or -judged")
	}
	r := &runner{fixes: fixes}
	if r.dir, err = filepath.Abs(*dir); err == nil {
		r.isobar, err = filepath.Abs(*isobar)
	}
	if err == nil {
		err = errors.Join(os.MkdirAll(r.dir, 0o755), r.all(ctx))
	}
	if err != nil {
		return err
	}
	return r.write()
}

// A runner tries fixes.
type runner struct {
	fixes       []fix
	dir, isobar string
}

// all tries the fixes, those of a module one after another, of two modules at a time.
func (r *runner) all(ctx context.Context) error {
	modules, failed := map[string][]int{}, make([]error, len(r.fixes))
	for i, f := range r.fixes {
		modules[f.Module] = append(modules[f.Module], i)
	}
	var running sync.WaitGroup
	turn := make(chan bool, 2)
	for i, f := range r.fixes {
		if modules[f.Module][0] != i {
			continue
		}
		turn <- true
		running.Go(func() {
			defer func() { <-turn }()
			for _, i := range modules[f.Module] {
				failed[i] = r.try(ctx, i)
			}
		})
	}
	running.Wait()
	return errors.Join(failed...)
}

// A result is what advise says of a line in one release.
type result struct {
	Source  string `json:"source"`            // the line
	Profile string `json:"profile"`           // what the profile has there
	Text    string `json:"text"`              // what the report says about it
	Problem string `json:"problem,omitempty"` // why there is none
}

func (r *runner) name(i int, file string) string {
	return filepath.Join(r.dir, fmt.Sprintf("%03d", i+1), file)
}

// try writes the results of a fix unless they are there. Its error is this machine's;
// what is wrong with the module is part of the result.
func (r *runner) try(ctx context.Context, i int) error {
	f := &r.fixes[i]
	for _, side := range sides {
		version, line := f.on(side)
		name := r.name(i, side+".result.json")
		if _, err := os.Stat(name); err == nil || line == 0 {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%03d %s@%s %s:%d\n", i+1, f.Module, version, f.File, line)
		one, err := r.judge(ctx, f, side, r.name(i, side))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			one.Problem = err.Error()
		}
		data, err := json.MarshalIndent(one, "", "\t")
		if err == nil {
			err = os.WriteFile(name, data, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
