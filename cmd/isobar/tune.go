package main

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
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
		Long:  help("tune"),
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("budget") {
				o.attach.budget = o.budget
			}
			if o.check == "" && cmd.Flags().Changed("gate") {
				return usage(errors.New("--gate needs --check FILE"))
			}
			return usage(cmp.Or(o.attach.checkFlags(cmd.Flags()), o.validate(args)))
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.tune(cmd.Context(), o, args) },
	}
	f := cmd.Flags()
	o.flags = f
	f.StringVar(&o.build.Main, "build", "", "build the program of `PACKAGE` and run it with the arguments after --")
	f.StringVar(&o.build.Bench, "bench", "", "tune a benchmark of `PACKAGE` instead of a command; its test binary "+
		"is built once")
	f.StringVar(&o.build.Run, "run", ".", "with --bench: the `REGEXP` of benchmarks to run")
	f.StringVar(&o.build.Time, "benchtime", "", "with --bench: iterations, such as 1000x (default: about 2 s of them)")
	o.server.addFlags(f)
	o.fleet.addJoinFlags(cmd)
	o.attach.addFlags(f)
	o.pods.addFlags(f)
	f.StringVar(&o.objective, "objective", "",
		"what to improve: throughput, wall, cpu, rss; for servers p99, p99.9; a unit of benchmark lines such as ns/op; "+
			"min:NAME or max:NAME of a printed figure (default: throughput, for servers cpu)")
	f.DurationVar(&o.maxP99, "max-p99", 0, "server: reject settings whose 99th percentile of response time is above this")
	f.StringVar(&o.maxRSS, "max-rss", "", "reject settings that occupy more than this, such as 512MiB (default: "+
		"twice today's memory)")
	f.StringVar(&o.current, "current", "", "today's setting, GOGC or GOGC:LIMIT, to compare with (default: the "+
		"environment's)")
	f.StringVar(&o.like, "like", "", "compare with the setting of a running process: its ID, or the URL of its "+
		"metrics")
	f.BoolVar(&o.verbose, "verbose", false, "print every comparison, the frontier and all doubts")
	f.StringVar(&o.memory, "memory", "auto", "kill a run that occupies more: a size, auto (70 % of what is usable), "+
		"or none")
	f.StringSliceVar(&o.gogc, "gogc", nil, "candidates: GOGC numbers, or GOGC:LIMIT such as 200:512MiB or off:1GiB "+
		"(default: those that matter)")
	f.StringSliceVar(&o.procs, "gomaxprocs", nil, "also try these values of GOMAXPROCS with the best setting")
	f.StringSliceVar(&o.collectors, "collector", nil,
		"with --build or --bench: also try builds with these collectors (greentea, classic)")
	f.StringSliceVar(&o.versions, "go", nil, "with --build or --bench: also try builds by these versions of Go, such "+
		"as 1.27.4")
	f.DurationVar(&o.budget, "budget", 3*time.Minute, "total time for running the program; where none is "+
		"given, --restart adds what settling takes")
	f.DurationVar(&o.timeout, "timeout", time.Minute, "kill a run that takes longer")
	f.IntVar(&o.rounds, "rounds", 0, "paired rounds of the final test, 4 or more (default: 4 or more, for "+
		"20 runs in total)")
	f.Float64Var(&o.tolerance, "tolerance", 2,
		"percent: among settings this close to the best, take the one with the least memory")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the order of runs (default: drawn, and recorded)")
	f.BoolVar(&o.json, "json", false, "print the result as JSON, which --check reads")
	f.StringVar(&o.out, "out", "", "write the HTML report to `FILE` (default: run-N.html in reports, beside the store)")
	f.StringVar(&o.service, "name", "", "`NAME` of the container or service in the deployment files (default: the "+
		"program's)")
	f.BoolVar(&o.resume, "resume", false, "continue the latest run, which must have the same command and flags")
	f.StringVar(&o.check, "check", "", "measure again whether the setting in `FILE` (from --json) still gains")
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
	if o.fleet.Connect.URL == "" { // the machine that measures is this one
		if err := checkPods(c.Pods); err != nil {
			return err
		}
	}
	c.Base.Unset = o.unset()
	c.Variants, c.Calls, c.Direct = prepared.Variants, calls, direct
	log, err := a.openLog(ctx, o, &c)
	if err != nil {
		return err
	}
	defer log.Close()
	result, err := tune.Tune(c, log.Measure)
	if err != nil {
		return log.Failed(err)
	}
	result.Built, result.Service = prepared.From, o.container(args)
	return a.present(o, log, result, result.Outcome)
}

// answered is the result of tuning a program or a running server.
type answered interface {
	Write(io.Writer) error
	WriteMore(io.Writer) error
	WriteDeploy(dir string) error
	Deploys() bool
}

// present writes the page, the files that deploy the answer, and the answer itself, which
// it prints even if a file cannot be written.
func (a *app) present(o *tuneOptions, log *session.TuneLog, result answered, outcome string) error {
	page, failed := log.Report(o.out, result)
	files := ""
	if failed == nil && result.Deploys() {
		files = session.DeployPath(page)
		failed = result.WriteDeploy(files)
	}
	if o.json {
		return cmp.Or(writeJSON(a.Out, result), failed, undecided(outcome))
	}
	err := result.Write(a.Out)
	if err == nil && o.verbose {
		err = result.WriteMore(a.Out)
	}
	if err != nil {
		return err
	}
	if log.Fleet != nil {
		fmt.Fprintf(a.Out, "measured  by %s\n", log.Fleet)
	}
	all := a.Command(fmt.Sprint("lab show ", log.ID))
	if failed != nil {
		fmt.Fprintf(a.Out, "all runs  %s\n", all)
		return failed
	}
	if files != "" {
		fmt.Fprintf(a.Out, "deploy    %s: shell, systemd, Dockerfile, Compose, Kubernetes, Helm, Nomad\n", files)
	}
	_, err = fmt.Fprintf(a.Out, "report    %s (all runs: %s)\n", page, all)
	return cmp.Or(err, undecided(outcome))
}

// undecided returns the exit status for an answer that leaves the question open.
func undecided(outcome string) error {
	if outcome == tune.Inconclusive || outcome == tune.SetsItself {
		return &exitError{code: exitInconclusive}
	}
	return nil
}

// container names the tuned program in the files that deploy the answer.
func (o *tuneOptions) container(command []string) string {
	if name := cmp.Or(o.service, o.build.Main, o.build.Bench); name != "" {
		return path.Base(name)
	}
	if len(command) > 0 {
		return command[0]
	}
	return ""
}

// checkProgram rejects a program that is not Go and cannot start one. A script, or a program
// with arguments such as sh -c, may start one: then direct is false, and the first run decides.
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
	return false, fmt.Errorf("tune: %s is not a Go program (it has no build information): GOGC does not affect it", path)
}
