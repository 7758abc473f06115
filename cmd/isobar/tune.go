package main

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/isobar-go/isobar/internal/session"
	"github.com/isobar-go/isobar/internal/tune"
)

func (a *app) tuneCommand() *cobra.Command {
	o := &tuneOptions{}
	cmd := &cobra.Command{
		Use:   "tune [flags] -- COMMAND [ARG ...]",
		Short: "Find the GC settings that suit a program, and prove them",
		Long: `Runs an unmodified Go program a few times, predicts from its gctrace what every
GOGC and memory limit would cost and buy, measures what it would choose, and proves
up to three settings against today's in fresh, paired runs: the fastest within a
bound, the one of less CPU time in the same memory, the one of least memory. It ends
with a recommendation, with "leave", or inconclusive (exit status 4).

Today's setting is that of the environment, of --current, or of a running process
(--like).

  isobar tune -- go vet ./...
  isobar tune --objective cpu --max-rss 512MiB -- ./batch input.csv
  isobar tune --current 200:2GiB -- ./batch input.csv
  isobar tune --like http://127.0.0.1:9090/metrics --url http://127.0.0.1:8080/ -- ./server
  isobar tune --bench ./codec --run 'Decode/large' --objective ns/op
  isobar tune --build ./cmd/batch --collector greentea,classic -- input.csv
  isobar tune --url http://127.0.0.1:8080/ --rate 2000 --objective p99 -- ./server
  isobar tune --load 'hey -z 5s -o json URL' --ready 127.0.0.1:8080 -- ./server
  isobar tune --fleet nats://HOST:4222 --fleet-require cores>=8 -- ./batch    on a machine of a fleet
  isobar tune --cpus 0.5,1,2 --memory-max 64MiB,128MiB -- ./batch    the smallest pod that keeps the objective
  isobar tune --attach http://127.0.0.1:6060/debug/gcctl    a server that runs, under its load
  isobar tune --json -- ./batch > settings.json
  isobar tune --check settings.json --gate 5%     in CI: 3 when the gain is gone

The program runs with an empty standard input; its standard output is read for
figures and thrown away. It must do the same work each time and come to an end.
A server is started anew for each run, loaded once it answers, and ended by
SIGTERM.`,
		Args: func(_ *cobra.Command, args []string) error { return usage(o.validate(args)) },
		RunE: func(cmd *cobra.Command, args []string) error { return a.tune(cmd.Context(), o, args) },
	}
	f := cmd.Flags()
	f.StringVar(&o.build.Main, "build", "", "build the program of `PACKAGE`, and give it the arguments behind --")
	f.StringVar(&o.build.Bench, "bench", "", "tune a benchmark of `PACKAGE` instead of a command; its tests are "+
		"compiled once")
	f.StringVar(&o.build.Run, "run", ".", "with --bench: the `REGEXP` of benchmarks to run")
	f.StringVar(&o.build.Time, "benchtime", "", "with --bench: iterations, such as 1000x (default: what takes about 2 s)")
	o.server.addFlags(f)
	o.fleet.addJoinFlags(f)
	o.attach.addFlags(f)
	o.pods.addFlags(f)
	f.StringVar(&o.objective, "objective", "",
		"what to make better: throughput, wall, cpu, rss; p99, p99.9 of a server; a unit of benchmark lines such as ns/op; "+
			"min:NAME or max:NAME of a figure that is printed (default: throughput, cpu of a server)")
	f.DurationVar(&o.maxP99, "max-p99", 0, "server: no setting whose 99th percentile of response time is above this")
	f.StringVar(&o.maxRSS, "max-rss", "", "no setting that may occupy more than this, such as 512MiB (default: twice "+
		"today's memory)")
	f.StringVar(&o.current, "current", "", "today's setting, GOGC or GOGC:LIMIT, to compare with (default: that of the "+
		"environment)")
	f.StringVar(&o.like, "like", "", "compare with the setting of a running process: its number, or the URL of its "+
		"metrics")
	f.BoolVar(&o.verbose, "verbose", false, "print all that was compared, the frontier and every doubt")
	f.StringVar(&o.memory, "memory", "auto", "kill a run that occupies more: a size, auto (70 % of what is usable), "+
		"or none")
	f.StringSliceVar(&o.gogc, "gogc", nil, "candidates: GOGC numbers, or GOGC:LIMIT such as 200:512MiB or off:1GiB "+
		"(default: all that matter)")
	f.StringSliceVar(&o.procs, "gomaxprocs", nil, "also try these values of GOMAXPROCS with the best setting")
	f.StringSliceVar(&o.collectors, "collector", nil,
		"with --build or --bench: also try builds with these collectors (greentea, classic)")
	f.StringSliceVar(&o.versions, "go", nil, "with --build or --bench: also try builds by these versions of Go, such "+
		"as 1.27.4")
	f.DurationVar(&o.budget, "budget", 3*time.Minute, "time to run the program for, in all")
	f.DurationVar(&o.timeout, "timeout", time.Minute, "kill a run that takes longer")
	f.IntVar(&o.rounds, "rounds", 0, "paired rounds of the final test, 4 or more (default: 4 or more, 20 runs in all)")
	f.Float64Var(&o.tolerance, "tolerance", 2,
		"percent: of the settings this near to the best, take the one of least memory")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the order of runs (default: drawn, and recorded)")
	f.BoolVar(&o.json, "json", false, "print the result as JSON, which --check reads")
	f.StringVar(&o.out, "out", "", "write the HTML report to `FILE` (default: reports/run-N.html beside the store)")
	f.StringVar(&o.service, "name", "", "of the container or service, in the files that deploy the answer (default: the "+
		"program's)")
	f.BoolVar(&o.resume, "resume", false, "go on with the latest run, which must be of the same command and flags")
	f.StringVar(&o.check, "check", "", "measure again whether the setting in `FILE` (of --json) is worth it")
	f.StringVar(&o.gate, "gate", "5%", "with --check: how much of the gain may be lost")
	return cmd
}

func (a *app) tune(ctx context.Context, o *tuneOptions, args []string) error {
	if o.check != "" {
		return a.tuneCheck(ctx, o)
	}
	if o.attach.to != "" {
		return a.tuneAttached(ctx, o)
	}
	prepared, calls, direct := &session.Built{}, []string(nil), true
	if o.build.Main != "" || o.build.Bench != "" {
		var err error
		if prepared, err = a.Prepare(ctx, o.build, o.resume, o.builds(), args); err != nil {
			return err
		}
		defer prepared.Remove()
		args = prepared.Command
	} else {
		var err error
		if direct, err = checkProgram(args); err != nil {
			return err
		}
	}
	if direct {
		if path, err := exec.LookPath(args[0]); err == nil {
			calls = tune.CollectorCalls(path)
		}
	}
	c, err := o.config(args)
	if err != nil {
		return err
	}
	if o.like != "" {
		if c.Base.GC, err = session.RunningGC(ctx, o.like); err != nil {
			return fmt.Errorf("tune: --like: %w", err)
		}
	}
	c.Variants, c.Calls, c.Direct = prepared.Variants, calls, direct
	log, err := a.openLog(ctx, o, &c)
	if err != nil {
		return err
	}
	defer log.Close()
	result, err := tune.Tune(c, log.Measure)
	if err != nil {
		return tuneFailed(log.Failed(err))
	}
	result.Built, result.Service = prepared.From, o.container(args)
	return a.present(o, log, result, result.Outcome)
}

// answered is what tuning found, of a program or of a server that runs.
type answered interface {
	Write(io.Writer) error
	WriteMore(io.Writer) error
	WriteDeploy(dir string) error
	Deploys() bool
}

// present writes the page, the files that deploy the answer, and the answer.
func (a *app) present(o *tuneOptions, log *session.TuneLog, result answered, outcome string) error {
	page, err := log.Report(o.out, result)
	files := strings.TrimSuffix(page, ".html") + "-deploy"
	if err == nil && result.Deploys() {
		err = result.WriteDeploy(files)
	}
	switch {
	case err != nil:
	case o.json:
		err = writeJSON(a.Out, result)
	default:
		err = result.Write(a.Out)
		if err == nil && o.verbose {
			err = result.WriteMore(a.Out)
		}
		if err == nil {
			if log.Fleet != nil {
				fmt.Fprintf(a.Out, "measured  by %s\n", log.Fleet)
			}
			if result.Deploys() {
				fmt.Fprintf(a.Out, "deploy    %s: shell, systemd, Dockerfile, Compose, Kubernetes, Helm, Nomad\n", files)
			}
			_, err = fmt.Fprintf(a.Out, "report    %s (all runs: isobar lab show %d)\n", page, log.ID)
		}
	}
	if err == nil && (outcome == tune.Inconclusive || outcome == tune.SetsItself) {
		err = &exitError{code: exitInconclusive}
	}
	return err
}

// container is the name of what is tuned, in the files that deploy it.
func (o *tuneOptions) container(command []string) string {
	if name := cmp.Or(o.service, o.build.Main, o.build.Bench); name != "" {
		return path.Base(name)
	}
	if len(command) > 0 {
		return command[0]
	}
	return ""
}

// checkProgram says at once when the program is none of Go's and starts none. A
// script, or a program with arguments such as sh -c, may start one: direct is
// false then, and the first run shows it.
func checkProgram(command []string) (direct bool, err error) {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return false, fmt.Errorf("tune: %w: give a command that is in PATH, or its path", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return false, fmt.Errorf("tune: %w", err)
	}
	defer f.Close()
	head := make([]byte, 2)
	if _, err := f.Read(head); err == nil && string(head) == "#!" {
		return false, nil
	}
	if _, err := buildinfo.ReadFile(path); err == nil {
		return true, nil
	}
	if len(command) > 1 {
		return false, nil
	}
	return false, fmt.Errorf("tune: %s is not a Go program (it has no build information): GOGC means nothing to it", path)
}
