package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/isobar-go/isobar/internal/tune/attach"
)

// attachOptions name a running server.
type attachOptions struct {
	to, tokenFile, restart string
	settle                 time.Duration
	budget                 time.Duration // 0 if not given
}

func (o *attachOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.to, "attach", "", "tune a running server under its load: the `URL` of its handler "+
		"(gcctl/gcctlhttp), or its process ID with --restart; today's setting returns at the end")
	f.StringVar(&o.tokenFile, "token-file", "", "with --attach URL: the `FILE` that holds the handler's token")
	f.StringVar(&o.restart, "restart", "", "with --attach PID: the shell `COMMAND` that restarts the server with GOGC "+
		"and GOMEMLIMIT from its environment")
	f.DurationVar(&o.settle, "settle", 5*time.Second, "with --restart: how long a fresh server needs before it is "+
		"measured")
}

// attachedFlags are the flags that apply to a running server under its existing load.
var attachedFlags = []string{"attach", "token-file", "restart", "settle", "max-rss", "gogc", "budget", "rounds",
	"tolerance", "seed", "verbose", "json", "out", "name", "resume", "store"}

// checkFlags rejects flags that --attach would ignore.
func (o *attachOptions) checkFlags(f *pflag.FlagSet) (err error) {
	f.Visit(func(given *pflag.Flag) {
		if o.to != "" && !slices.Contains(attachedFlags, given.Name) {
			err = fmt.Errorf("--%s: not with --attach, which tunes the CPU time and memory of a server that runs, under the "+
				"setting and the load that it has", given.Name)
		}
	})
	return err
}

func (o *attachOptions) check() error {
	_, err := strconv.Atoi(o.to)
	byPID := err == nil
	switch {
	case o.to == "" && (o.tokenFile != "" || o.restart != ""):
		return errors.New("--token-file and --restart need --attach")
	case byPID && o.restart == "":
		return errors.New("--attach PID: a process reads settings only when it starts: give --restart COMMAND, or the URL " +
			"of a handler of gcctl/gcctlhttp")
	case o.to != "" && !byPID && o.restart != "":
		return errors.New("--restart needs --attach PID")
	case byPID && o.tokenFile != "":
		return errors.New("--token-file needs --attach URL")
	case o.settle < 0:
		return fmt.Errorf("--settle %v: want 0 or more", o.settle)
	}
	u, err := url.Parse(o.to)
	if o.to != "" && !byPID && (err != nil || u.Host == "" || !strings.HasPrefix(u.Scheme, "http")) {
		return fmt.Errorf("--attach %q: want a URL such as http://127.0.0.1:6060/debug/gcctl, or a process ID", o.to)
	}
	return nil
}

func (o *attachOptions) server() (attach.Server, error) {
	if pid, err := strconv.Atoi(o.to); err == nil {
		return attach.NewRestarted(pid, o.restart, o.settle)
	}
	remote := attach.Remote{URL: o.to}
	if o.tokenFile != "" {
		token, err := os.ReadFile(o.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("tune: --token-file: %w", err)
		}
		if remote.Token = strings.TrimSpace(string(token)); remote.Token == "" {
			return nil, fmt.Errorf("tune: --token-file: %s is empty", o.tokenFile)
		}
	}
	return remote, nil
}

// tuneAttached tunes a running server.
func (a *app) tuneAttached(ctx context.Context, o *tuneOptions) error {
	c, err := o.config(nil)
	if err != nil {
		return err
	}
	server, err := o.attach.server()
	if err != nil {
		return err
	}
	log, err := a.openLog(ctx, o, &c)
	if err != nil {
		return err
	}
	defer log.Close()
	if r, ok := server.(*attach.Restarted); ok {
		if r.Output, err = log.OpenOutput(); err != nil {
			return err
		}
		defer r.Output.Close()
		r.Log = func(text string) { fmt.Fprintf(a.Err, "isobar: %s\n", text) }
		fmt.Fprintf(a.Err, "isobar: should tune be killed, restore today's setting by hand: %s\n", r.ByHand())
	}
	answer, err := attach.Run(ctx, attach.Config{
		Server: server, Settings: c.Settings, MaxBytes: c.MaxPeakBytes, Budget: o.attach.budget, Rounds: o.rounds,
		Tolerance: c.Tolerance, Seed: c.Seed, Keep: log.Keep,
		Log: func(text string) { fmt.Fprintf(a.Err, "isobar: %s\n", text) },
	})
	if err != nil {
		return log.Failed(err)
	}
	answer.Service = o.container(nil)
	return a.present(o, log, answer, answer.Outcome)
}
