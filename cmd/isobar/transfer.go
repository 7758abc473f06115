package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/isobar-go/isobar/internal/lab/host"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/lab/tick"
	"github.com/isobar-go/isobar/internal/lab/workload"
	"github.com/isobar-go/isobar/internal/session"
)

func (a *app) exportCommand() *cobra.Command {
	var format, out string
	cmd := &cobra.Command{
		Use:   "export [RUN]",
		Short: "Write a run's raw samples (default: the latest run)",
		Long:  help("lab-export"),
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := workload.OneOf("benchfmt", "csv", "json")(format); err != nil {
				return usage(fmt.Errorf("--format %q: %w", format, err))
			}
			s, run, err := a.OpenRun(first(args, "last"))
			if err != nil {
				return err
			}
			defer s.Close()
			return a.toFile(out, func(w io.Writer) error { return s.Export(w, run.ID, format) })
		},
	}
	cmd.Flags().StringVar(&format, "format", "benchfmt", "benchfmt, csv or json")
	cmd.Flags().StringVar(&out, "out", "", "write to `FILE` instead of standard output")
	return cmd
}

// toFile calls write with the named file, or with standard output if name is
// "".
func (a *app) toFile(name string, write func(io.Writer) error) error {
	if name == "" {
		return write(a.Out)
	}
	return writePage(name, write)
}

func (a *app) importCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Import results in the Go benchmark format as a run (- for standard input)",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			in, file := a.In, "standard input"
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer f.Close()
				in, file = f, args[0]
			}
			s, _, err := a.Open()
			if err != nil {
				return err
			}
			defer s.Close()
			id, err := s.Import(in, file, store.Run{Name: cmp.Or(name, filepath.Base(file)), Created: time.Now(),
				Args: session.Args(), Version: host.Version(), Imported: true})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Out, "imported as run %d\n", id)
			return err
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "name of the run (default: the file's)")
	return cmd
}

func (a *app) profileCommand() *cobra.Command {
	var kind, out string
	cmd := &cobra.Command{
		Use:   "profile RUN CELL [-- ARG ...]",
		Short: "Open a cell's profile (lab run --profile) with go tool pprof or go tool trace",
		Long:  help("lab-profile"),
		Args:  cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, run, err := a.OpenRun(args[0])
			if err != nil {
				return err
			}
			defer s.Close()
			index, err := strconv.Atoi(args[1])
			if err != nil || index < 0 {
				return usage(fmt.Errorf("cell %q: want a cell number of run %d", args[1], run.ID))
			}
			if kind == "" {
				if kind, err = onlyProfile(s, run.ID, index); err != nil {
					return err
				}
			}
			data, err := s.Profile(run.ID, index, kind)
			if err != nil {
				return err
			}
			if out != "" {
				return writePage(out, func(w io.Writer) error { _, err := w.Write(data); return err })
			}
			return a.openProfile(cmd, kind, data, args[2:])
		},
	}
	cmd.Flags().StringVar(&kind, "kind", "", "cpu, heap, allocs or trace (default: the only one, or cpu)")
	cmd.Flags().StringVar(&out, "out", "", "write the profile to `FILE` instead of opening it")
	return cmd
}

// onlyProfile returns the kind of profile to open if none is named.
func onlyProfile(s *store.Store, run int64, index int) (string, error) {
	_, rec, err := s.Cell(run, index)
	switch {
	case err == nil && rec == nil, errors.Is(err, store.ErrNotFound):
		return "", fmt.Errorf("run %d has no finished cell %d: 'isobar lab export --format csv %d' lists the cells", run,
			index, run)
	case err != nil:
		return "", err
	}
	kinds := slices.Sorted(maps.Keys(rec.Profiles))
	switch {
	case len(kinds) == 0:
		return "", fmt.Errorf("cell %d of run %d kept no profile: measure with --profile cpu,heap,allocs,trace", index, run)
	case len(kinds) == 1:
		return kinds[0], nil
	case slices.Contains(kinds, "cpu"):
		return "cpu", nil
	}
	return "", usage(fmt.Errorf("cell %d of run %d kept several profiles: name one with --kind (%s)", index, run,
		strings.Join(kinds, ", ")))
}

// openProfile passes the profile to the Go toolchain in a temporary file.
func (a *app) openProfile(cmd *cobra.Command, kind string, data []byte, args []string) error {
	goTool, err := exec.LookPath("go")
	if err != nil {
		return fmt.Errorf("%w: install Go, or save the profile with --out FILE", err)
	}
	dir, err := os.MkdirTemp("", "isobar-profile-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, kind+".pprof")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return err
	}
	tool := "pprof"
	if kind == "trace" {
		tool = "trace"
	}
	c := exec.CommandContext(cmd.Context(), goTool, append(append([]string{"tool", tool}, args...), file)...)
	c.Stdin, c.Stdout, c.Stderr = a.In, a.Out, a.Err
	if err := c.Run(); err != nil {
		return fmt.Errorf("go tool %s: %w", tool, err)
	}
	return nil
}

func (a *app) ticksCommand() *cobra.Command {
	var cfg tick.GenerateConfig
	cmd := &cobra.Command{
		Use: "ticks FILE",
		Short: "Write a file of generated market ticks for 'lab run market --input' (gzip'd if it ends in .gz, - for " +
			"standard output)",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			name := args[0]
			if name == "-" {
				name = ""
			}
			if err := cfg.Check(); err != nil {
				return usage(err)
			}
			cfg.Gzip = strings.HasSuffix(name, ".gz")
			return a.toFile(name, func(w io.Writer) error { return tick.Generate(w, cfg) })
		},
	}
	f := cmd.Flags()
	f.Int64Var(&cfg.Ticks, "ticks", 1_000_000, "number of ticks")
	f.IntVar(&cfg.Symbols, "symbols", 1_000, "number of symbols")
	f.Float64Var(&cfg.Rate, "rate", 100_000, "ticks per second of the timestamps")
	f.Uint64Var(&cfg.Seed, "seed", 1, "seed of the random walk")
	return cmd
}

// print prints a result: v as JSON, or what text writes.
func (a *app) print(asJSON bool, v any, text func(io.Writer) error) error {
	if asJSON {
		return writeJSON(a.Out, v)
	}
	return text(a.Out)
}

// writeJSON prints v as indented JSON.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
