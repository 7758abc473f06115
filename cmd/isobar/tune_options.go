package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/workload"
	"github.com/isobar-go/isobar/internal/session"
	"github.com/isobar-go/isobar/internal/show/text"
	"github.com/isobar-go/isobar/internal/tune"
)

// tuneOptions are the flags of 'isobar tune'.
type tuneOptions struct {
	build      session.Program
	server     serverOptions
	fleet      sweepOptions
	objective  string
	maxRSS     string
	current    string // today's setting, to compare with
	like       string // process or URL whose setting is today's
	verbose    bool
	maxP99     time.Duration
	memory     string
	gogc       []string
	procs      []string
	collectors []string
	versions   []string     // of Go
	variants   []cell.Build // the builds of a recorded result, instead of collectors and versions
	budget     time.Duration
	timeout    time.Duration
	rounds     int
	tolerance  float64
	seed       uint64
	json       bool
	out        string
	service    string // name of the container
	attach     attachOptions
	pods       podFlags
	resume     bool
	check      string
	gate       string
	flags      *pflag.FlagSet // all of the command
}

// serverOptions are the parameters of the workload serve. The command is a
// server if a URL or a load is given.
type serverOptions struct {
	w     *workload.Workload
	given map[string]*string // by parameter
}

func (o *serverOptions) addFlags(f *pflag.FlagSet) {
	var err error
	if o.w, err = workload.Lookup("serve"); err != nil {
		panic(err) // it is registered at start-up
	}
	o.given = map[string]*string{}
	for _, p := range o.w.Params {
		help := "server: " + p.Help
		if p.Default != "" {
			help += " (default " + p.Default + ")"
		}
		o.given[p.Name] = f.String(p.Name, "", help)
	}
}

func (o *serverOptions) set() bool { return *o.given["url"] != "" || *o.given["load"] != "" }

// closed reports whether the built-in load sends requests as fast as the server answers.
func (o *serverOptions) closed() bool {
	return o.set() && *o.given["load"] == "" && slices.ContainsFunc(strings.Split(*o.given["rate"], ":"),
		func(rate string) bool { n, err := strconv.ParseFloat(rate, 64); return err == nil && n == 0 })
}

// params returns the parameters, with defaults for missing ones.
func (o *serverOptions) params() (workload.Params, error) {
	given := map[string]string{}
	for name, value := range o.given {
		if *value != "" {
			given[name] = *value
		}
	}
	switch {
	case !o.set() && len(given) > 0:
		return nil, fmt.Errorf("--%s is for servers: give --url (the built-in load) or --load COMMAND",
			slices.Sorted(maps.Keys(given))[0])
	case given["load"] != "" && given["ready"] == "" && given["url"] == "":
		return nil, errors.New("--load: say with --ready what answers when the server is ready: a URL, host:port, or the " +
			"path of a Unix socket")
	}
	if err := onlyBuiltIn(o.w, func(name string) bool { return given[name] != "" }); err != nil {
		return nil, err
	}
	return o.w.Resolve(given)
}

// onlyBuiltIn rejects parameters of the built-in load beside a load command. The URL is none: it says what is ready.
func onlyBuiltIn(w *workload.Workload, given func(name string) bool) error {
	for _, p := range w.Params {
		if p.Unless != "" && p.Name != "url" && given(p.Unless) && given(p.Name) {
			return fmt.Errorf("--%s is for the built-in load: leave it out, or --%s", p.Name, p.Unless)
		}
	}
	return nil
}

// validate rejects wrong flags before anything runs.
func (o *tuneOptions) validate(args []string) error {
	_, err := o.config(args)
	return cmp.Or(o.checkProgram(args), o.fleet.checkJoin(), o.checkFigures(), o.checkBuilds(), err)
}

// checkProgram requires exactly one program.
func (o *tuneOptions) checkProgram(args []string) error {
	given := 0
	for _, is := range []bool{
		len(args) > 0 && o.build.Main == "", o.build.Main != "", o.build.Bench != "", o.check != "",
		o.attach.to != "",
	} {
		if is {
			given++
		}
	}
	if given != 1 {
		return errors.New("tune: give one of: the program after -- (isobar tune -- go vet ./...), " +
			"--build PACKAGE, --bench PACKAGE, --attach URL, --check FILE")
	}
	if err := o.attach.check(); err != nil {
		return err
	}
	if _, err := o.server.params(); err != nil {
		return err
	}
	if o.server.set() && o.build.Bench != "" {
		return errors.New("--bench is not a server: leave out --url and --load")
	}
	return nil
}

func (o *tuneOptions) checkFigures() error {
	if o.rounds != 0 && o.rounds < 4 {
		return fmt.Errorf("--rounds %d: want 4 or more: fewer allow no verdict", o.rounds)
	}
	if o.tolerance <= 0 || o.tolerance > 50 {
		return fmt.Errorf("--tolerance %v: want a percentage above 0, up to 50", o.tolerance)
	}
	if o.budget <= 0 || o.timeout <= 0 {
		return errors.New("--budget and --timeout: want a time above 0, such as 3m")
	}
	if _, err := parsePercent(o.gate); err != nil {
		return fmt.Errorf("--gate: %w", err)
	}
	return nil
}

// checkBuilds rejects builds that are impossible.
func (o *tuneOptions) checkBuilds() error {
	if len(o.collectors)+len(o.versions) > 0 && o.build.Bench == "" && o.build.Main == "" {
		return errors.New("--collector, --go: these need --build or --bench, which build the program")
	}
	return checkBuilds(o.versions, o.collectors, "greentea", "classic")
}

func parsePercent(s string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64)
	if err != nil || v < 0 || v > 100 {
		return 0, fmt.Errorf("%q: want a percentage such as 5%%", s)
	}
	return v / 100, nil
}

// config converts the options to the tuner's configuration.
func (o *tuneOptions) config(command []string) (tune.Config, error) {
	c := tune.Config{
		Base:      cell.Config{Workload: "exec", Command: command, GC: cell.DefaultGC},
		Objective: tune.Throughput, Tolerance: o.tolerance / 100, Budget: o.budget, Pairs: o.rounds, Seed: o.seed,
		MaxP99: o.maxP99,
	}
	var err error
	if o.server.set() {
		c.Base.Workload, c.Objective = "serve", tune.CPU
		if c.Base.Params, err = o.server.params(); err != nil {
			return c, usage(err)
		}
	}
	closed := o.server.closed()
	if closed {
		c.Objective = tune.Throughput
	}
	if o.objective != "" {
		if c.Objective, err = tune.ParseObjective(o.objective); err != nil {
			return c, usage(err)
		}
	}
	if closed && (c.Objective == tune.CPU || c.Objective == tune.Wall || c.Objective == tune.RSS) {
		return c, usage(fmt.Errorf("--objective %s: under a closed load (--rate 0) a server answers as many requests as it "+
			"can, and cheaper collection shows as more of them: want throughput (the default), p99 or p99.9, or a --rate",
			c.Objective))
	}
	if o.maxP99 < 0 || o.maxP99 > 0 && !o.server.set() {
		return c, usage(fmt.Errorf("--max-p99 %v: want a time above 0, for a server (--url, --load)", o.maxP99))
	}
	if o.maxRSS != "" {
		n, err := cell.ParseSize(o.maxRSS)
		if err != nil {
			return c, usage(fmt.Errorf("--max-rss %q: want a size with its unit, such as 512MiB", o.maxRSS))
		}
		c.MaxPeakBytes = float64(n)
	}
	if c.MemoryBytes, err = memoryCap(o.memory); err != nil {
		return c, err
	}
	if c.Base.GC, err = o.baseline(); err != nil {
		return c, usage(err)
	}
	if c.Pods, err = o.pods.pods(); err != nil {
		return c, err
	}
	for _, s := range o.gogc {
		gc, err := parseSetting("--gogc", s)
		if err != nil {
			return c, usage(err)
		}
		if gc.Percent < 0 && gc.LimitBytes == 0 {
			return c, usage(errors.New("--gogc off: without a limit the program takes all memory: give off:LIMIT, " +
				"such as off:1GiB"))
		}
		c.Settings = append(c.Settings, gc)
	}
	c.Procs, err = parseProcs(o.procs)
	return c, err
}

// parseSetting reads a setting and names it like the results: only the default GOGC has a name.
func parseSetting(flag, s string) (cell.GC, error) {
	gc, err := cell.ParseGC(s)
	if err != nil {
		return gc, fmt.Errorf("%s: %w", flag, err)
	}
	gc.Name = ""
	if gc.Percent == cell.DefaultGC.Percent {
		gc.Name = cell.DefaultGC.Name
	}
	return gc, nil
}

// baseline returns the setting to compare with.
func (o *tuneOptions) baseline() (cell.GC, error) {
	switch {
	case o.current != "" && o.like != "":
		return cell.GC{}, errors.New("--current, --like: give only one")
	case o.current != "":
		return parseSetting("--current", o.current)
	}
	return cell.EnvironmentGC(os.Environ())
}

// unset returns those of GOGC and GOMEMLIMIT that no flag and no environment sets today.
func (o *tuneOptions) unset() []string {
	environ := os.Environ()
	if pid, err := strconv.Atoi(o.like); err == nil {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		environ = strings.Split(string(data), "\x00")
	} else if o.like != "" || o.current != "" { // both have the setting in force
		return nil
	}
	return slices.DeleteFunc([]string{cell.EnvGOGC, cell.EnvLimit}, func(name string) bool {
		return slices.ContainsFunc(environ, func(entry string) bool {
			value, ok := strings.CutPrefix(entry, name+"=")
			return ok && value != ""
		})
	})
}

// name returns the name of the run in the store.
func (o *tuneOptions) name(command []string) string {
	switch {
	case o.build.Bench != "":
		return "tune --bench " + o.build.Bench
	case o.attach.restart != "": // the process ID changes with each restart
		return "tune --attach PID --restart " + o.attach.restart
	case o.attach.to != "":
		return "tune --attach " + o.attach.to
	case o.build.Main != "":
		return strings.Join(append([]string{"tune --build " + o.build.Main}, command[1:]...), " ")
	}
	return "tune " + strings.Join(command, " ")
}

// openLog opens the store for a run.
func (a *app) openLog(ctx context.Context, o *tuneOptions, c *tune.Config) (*session.TuneLog, error) {
	if err := session.CheckReport(o.out); err != nil {
		return nil, err
	}
	first := o.timeout
	if o.check == "" {
		first = min(first, o.budget)
	}
	return a.OpenTuneLog(ctx, session.TuneRun{Name: o.name(c.Base.Command), Resume: o.resume, Timeout: o.timeout,
		First: first, Fleet: o.fleet.fleet(a), Same: o.same}, c)
}

// freeFlags are those that may differ where a run is resumed: they change nothing that it measures, its name or its
// records hold them, or a fleet notices.
var freeFlags = []string{"attach", "fleet", "json", "name", "out", "resume", "store", "token-file", "verbose"}

// same returns an error if a run that was begun with args had other flags than this one. What this one leaves out, the
// resumed run has: the seed and the number of iterations.
func (o *tuneOptions) same(args []string) (err error) {
	root := (&app{Session: &session.Session{}}).rootCommand()
	cmd, rest, err := root.Find(args)
	if err != nil || cmd.Name() != "tune" || cmd.ParseFlags(rest) != nil {
		return nil // by another version: its cells tell
	}
	shown := func(f *pflag.Flag) string {
		if !f.Changed {
			return "no --" + f.Name
		}
		return fmt.Sprintf("--%s %s", f.Name, text.WithoutPasswords(f.Value.String()))
	}
	o.flags.VisitAll(func(now *pflag.Flag) {
		was := cmd.Flags().Lookup(now.Name)
		left := !now.Changed && (now.Name == "seed" || now.Name == "benchtime")
		if was == nil || left || slices.Contains(freeFlags, now.Name) || strings.HasPrefix(now.Name, "fleet-") {
			return
		}
		if text.WithoutPasswords(was.Value.String()) != text.WithoutPasswords(now.Value.String()) {
			err = fmt.Errorf("was begun with %s, and this command has %s", shown(was), shown(now))
		}
	})
	return err
}

// builds lists the builds to compare with the plain one.
func (o *tuneOptions) builds() []cell.Build {
	if o.variants != nil {
		return o.variants
	}
	var all []cell.Build
	for _, collector := range append([]string{""}, o.collectors...) {
		for _, version := range append([]string{""}, o.versions...) {
			all = append(all, cell.Build{Collector: collector, Go: version})
		}
	}
	return all[1:]
}
