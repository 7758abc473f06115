package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/isobar-go/isobar/internal/lab/host"
	"github.com/isobar-go/isobar/internal/lab/workload"
	"github.com/isobar-go/isobar/internal/session"
	"github.com/isobar-go/isobar/internal/tune"
)

// Exit codes are the same for every command.
const (
	exitOK           = 0
	exitFailure      = 1
	exitUsage        = 2
	exitRegression   = 3
	exitInconclusive = 4
	exitInterrupted  = 130
)

// exitError is an error with its own exit code. A nil err prints nothing: the
// command has already printed a message.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}
func (e *exitError) Unwrap() error { return e.err }

// usage marks an error, if not nil, as a mistake in how the command was called.
var usage = session.Misused

// app is the state that all commands share.
type app struct {
	*session.Session
	began bool // a command's own code was reached, so the call was well formed
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int {
	a := &app{Session: &session.Session{In: in, Out: out, Err: errw}}
	root := a.rootCommand()
	pages := &output{Writer: out}
	root.SetOut(pages)
	root.SetArgs(args)
	called, err := root.ExecuteContextC(ctx)
	code := exitFailure
	var exit *exitError
	var wrong *session.Misuse
	switch {
	case pages.err != nil:
		err = pages.err
	case err == nil:
		return exitOK
	case errors.Is(err, session.ErrInterrupted),
		ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))):
		return exitInterrupted
	case errors.As(err, &exit):
		code = exit.code
	case errors.Is(err, tune.ErrShort):
		code = exitInconclusive
	case errors.As(err, &wrong), !a.began:
		code = exitUsage
	}
	if text := err.Error(); text != "" {
		fmt.Fprintf(errw, "isobar: %s\n", text)
	}
	if code == exitUsage {
		fmt.Fprintf(errw, "See '%s --help'.\n", called.CommandPath())
	}
	return code
}

// output keeps write errors of help, versions and completions, which cobra drops.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:               "isobar",
		Short:             "Measure what the Go garbage collector costs, and what relieves it",
		Long:              help("isobar"),
		Version:           host.Version(),
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: func(*cobra.Command, []string) error { a.began = true; return nil },
		Args:              onlyCommands,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(a.In)
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			return usage(badValue(invalid))
		}
		if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
			err = fmt.Errorf("%w%s", err, workload.DidYouMean("--"+unknown.GetSpecifiedName(), flagNames(c)))
		}
		if strings.Contains(c.Use, "-- COMMAND") {
			err = fmt.Errorf("%w (flags of COMMAND go after --)", err)
		}
		return usage(err)
	})
	root.PersistentFlags().StringVar(&a.Store, "store", "",
		"the store `FILE` (default: $ISOBAR_STORE, else isobar.db in the user's data directory)")
	root.AddCommand(a.adviseCommand(), a.claimsCommand(), a.labCommand(), a.tuneCommand(), a.watchCommand(),
		a.heapCommand(), a.traceCommand(), a.doctorCommand(), a.uiCommand(), a.fleetCommand(), a.workerCommand())
	sayArguments(root)
	return root
}

// flagNames returns the flags of a command, as a user writes them.
func flagNames(c *cobra.Command) (names []string) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	})
	return names
}

// badValue says what a flag takes.
func badValue(err *pflag.InvalidValueError) error {
	want := map[string]string{"int": "a whole number", "uint64": "a whole number from 0", "float64": "a number",
		"duration": "a time with its unit, such as 30s", "bool": "true or false"}[err.GetFlag().Value.Type()]
	if want == "" {
		return err
	}
	return fmt.Errorf("--%s %q: want %s", err.GetFlag().Name, err.GetValue(), want)
}

//go:embed help
var helpTexts embed.FS

// help returns the text of help/NAME.txt: what a command's --help says above its flags.
func help(name string) string {
	text, err := helpTexts.ReadFile("help/" + name + ".txt")
	if err != nil {
		panic(err) // each command names its own file
	}
	return strings.TrimSuffix(string(text), "\n")
}

// sayArguments makes every command that counts its arguments name the expected ones; cobra
// only says how many.
func sayArguments(cmd *cobra.Command) {
	if rule := cmd.Args; rule != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := rule(cmd, args)
			if wrong := new(session.Misuse); err == nil || errors.As(err, &wrong) {
				return err
			}
			if len(args) == 0 {
				return usage(fmt.Errorf("arguments are missing: want '%s'", cmd.UseLine()))
			}
			return usage(fmt.Errorf("arguments %q: want '%s'", args, cmd.UseLine()))
		}
	}
	for _, sub := range cmd.Commands() {
		sayArguments(sub)
	}
}

// onlyCommands refuses arguments of a command that only takes subcommands, and
// names the nearest subcommand.
func onlyCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	return usage(fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(),
		workload.DidYouMean(args[0], names)))
}
