package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/isobar-go/isobar/internal/base/atomicfile"
	"github.com/isobar-go/isobar/internal/lab/runner"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/show/page"
	"github.com/isobar-go/isobar/internal/show/text"
	"github.com/isobar-go/isobar/internal/study/claim"
)

// claimOptions select claims.
type claimOptions struct {
	docs, only []string
	json       bool
}

func (o *claimOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&o.docs, "doc", nil, "only claims of these documents, such as 000")
	cmd.Flags().StringSliceVar(&o.only, "only", nil, "only these claims, such as 000/ticker")
	cmd.Flags().BoolVar(&o.json, "json", false, "print the result as JSON")
}

func (o *claimOptions) claims() ([]*claim.Claim, error) {
	claims, err := claim.Select(o.docs, o.only)
	return claims, usage(err)
}

func (a *app) claimsCommand() *cobra.Command {
	opts := &claimOptions{}
	cmd := &cobra.Command{
		Use:   "claims",
		Short: "What people write about it: is it true on this machine?",
		Long: `Lists what the source documents assert, and what the latest run of each
experiment says about it: holds, weaker, refuted, reversed, open (more
repetitions may decide) or untestable (with the reason). A ? marks what is
tentative: the interval reaches into the verdict next to it.

  isobar claims run --quick          measure all of them, in at most 12 minutes on 2 CPUs
  isobar claims run --doc 000        measure those of one document, as long as it takes
  isobar claims run --resume         go on where the latest one stopped
  isobar claims show 000/ticker      the story of one: quote, samples, why it differs
  isobar claims report --html FILE   a page of all`,
		Args: onlyCommands,
		RunE: func(*cobra.Command, []string) error {
			claims, err := opts.claims()
			if err != nil {
				return err
			}
			ledger, err := a.ledger(claims)
			if err != nil {
				return err
			}
			return a.printLedger(ledger, opts.json)
		},
	}
	opts.addFlags(cmd)
	cmd.AddCommand(a.claimsRunCommand(), a.claimsShowCommand(), a.claimsReportCommand())
	return cmd
}

func (a *app) claimsRunCommand() *cobra.Command {
	opts, quick, resume := &claimOptions{}, false, false
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Measure claims, and give each its verdict",
		Long: `Measures the experiments of the selected claims, an ordinary run in the store
each; claims with the same experiment share it. Where a verdict is in doubt (the
interval reaches into another one, or would if it were 1.37 times as wide), the run
is extended by as many repetitions, in turns with the others in doubt, until none
is: up to twenty times in all, and with --quick within 11.5 minutes.
All runs of one call have the same seed. Ctrl-C keeps what is finished; --resume
goes on with the latest call of the same size.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			claims, err := opts.claims()
			if err != nil {
				return err
			}
			size := claim.Full
			if quick {
				size = claim.Quick
			}
			if err := a.runClaims(cmd.Context(), claims, size, resume); err != nil {
				return err
			}
			ledger, err := a.ledger(claims)
			if err != nil {
				return err
			}
			return a.printLedger(ledger, opts.json)
		},
	}
	opts.addFlags(cmd)
	cmd.Flags().BoolVar(&quick, "quick", false, "short experiments, fewer repetitions")
	cmd.Flags().BoolVar(&resume, "resume", false, "leave out what the latest call has finished")
	return cmd
}

func (a *app) claimsShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show CLAIM...",
		Short: "Tell the story of a claim: quote, figure, samples, why it differs",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(errors.New("claims show: name a claim, such as 000/ticker ('isobar claims' lists them)"))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			claims, err := claim.Select(nil, args)
			if err != nil {
				return usage(err)
			}
			ledger, err := a.ledger(claims)
			if err != nil {
				return err
			}
			if asJSON {
				return text.LedgerJSON(a.out, ledger)
			}
			return text.LedgerStory(a.out, ledger, a.style())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the story as JSON")
	return cmd
}

func (a *app) claimsReportCommand() *cobra.Command {
	opts := &claimOptions{}
	var html, markdown string
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Write the ledger as a page: HTML, or Markdown for docs/results/claims.md",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if html == "" && markdown == "" {
				return usage(errors.New("claims report: name a file with --html or --markdown"))
			}
			claims, err := opts.claims()
			if err != nil {
				return err
			}
			ledger, err := a.ledger(claims)
			if err != nil {
				return err
			}
			if html != "" {
				if err := writeLedger(html, func(w io.Writer) error { return page.WriteLedger(w, ledger) }); err != nil {
					return err
				}
			}
			if markdown != "" {
				return writeLedger(markdown, func(w io.Writer) error { return text.LedgerMarkdown(w, ledger) })
			}
			return nil
		},
	}
	cmd.Flags().StringSliceVar(&opts.docs, "doc", nil, "only claims of these documents, such as 000")
	cmd.Flags().StringVar(&html, "html", "", "write one self-contained HTML page to `FILE`")
	cmd.Flags().StringVar(&markdown, "markdown", "", "write Markdown to `FILE`")
	return cmd
}

// runClaims measures the experiments of claims, each once, and then again, in
// turns, those of claims whose verdict is in doubt. So what is in doubt is
// measured in several stretches of time, and not in one that may be unlike others.
func (a *app) runClaims(ctx context.Context, claims []*claim.Claim, size claim.Size, resume bool) error {
	begun := time.Now()
	s, _, unlock, err := a.openForRun()
	if err != nil {
		return err
	}
	defer unlock()
	defer s.Close()
	session, err := newClaimSession(s, size, resume)
	if err != nil {
		return err
	}
	session.runner = runner.New(runner.Config{Log: a.err})
	experiments := experimentsOf(claims)
	for pass := 1; len(experiments) > 0; pass++ {
		what := ""
		if pass > 1 {
			what = fmt.Sprintf("in doubt, pass %d: ", pass)
		}
		for i, d := range experiments {
			a.claimProgress(i, len(experiments), what, d.Experiment.Args(size))
			if err := a.measureClaims(ctx, s, session, d); err != nil {
				return err
			}
		}
		outcomes, err := claim.Read(s, claims)
		if err != nil {
			return err
		}
		experiments = session.next(claim.InDoubt(outcomes), begun)
	}
	if session.failed > 0 {
		return fmt.Errorf("%d cells failed or were left out: 'isobar lab list' shows the runs", session.failed)
	}
	return nil
}

func (a *app) claimProgress(i, n int, what string, args []string) {
	if _, terminal := isTerminal(a.err); terminal {
		fmt.Fprintf(a.err, "%d/%d  %s%s\n", i+1, n, what, strings.Join(args[2:], " "))
	}
}

// measureClaims measures what the session lacks of one pass of an experiment.
// Cells that fail are counted, and no error.
func (a *app) measureClaims(ctx context.Context, s *store.Store, session *claimSession, d claim.Doubt) error {
	e := d.Experiment
	id, pending, err := session.run(s, d)
	if err != nil || pending == nil {
		return err
	}
	if err := session.runner.Prepare(ctx, pending); err != nil && ctx.Err() == nil {
		fmt.Fprintf(a.err, "isobar: left out: %s: %v\n", strings.Join(e.Args(session.size)[2:], " "), err)
		session.failed += len(pending)
		return nil
	}
	start := time.Now()
	failed, err := a.execute(ctx, session.runner, s, id, 0)
	session.took[e] = time.Since(start)
	session.failed += failed
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(a.err, "isobar: interrupted: finished cells are kept. Go on with: isobar claims run --resume%s\n", map[claim.Size]string{claim.Quick: " --quick"}[session.size])
		return &exitError{code: exitInterrupted}
	}
	return err
}

// experimentsOf returns what it takes to test the claims on this machine, each
// once.
func experimentsOf(claims []*claim.Claim) []claim.Doubt {
	var out []claim.Doubt
	for _, c := range claims {
		if c.Testable() && !slices.ContainsFunc(out, func(d claim.Doubt) bool { return d.Experiment == c.Experiment }) {
			out = append(out, claim.Doubt{Experiment: c.Experiment})
		}
	}
	return out
}

// ledger reads what the store, if there is one, says about the claims.
func (a *app) ledger(claims []*claim.Claim) (*text.Ledger, error) {
	path, err := a.storePath()
	if err != nil {
		return nil, err
	}
	var s *store.Store
	if _, err := os.Stat(path); err == nil {
		if s, err = store.OpenReadOnly(path); err != nil {
			return nil, err
		}
		defer s.Close()
	}
	outcomes, err := claim.Read(s, claims)
	if err != nil {
		return nil, err
	}
	ledger := claim.NewLedger(outcomes)
	return ledger, nil
}

func (a *app) printLedger(ledger *text.Ledger, asJSON bool) error {
	if asJSON {
		return text.LedgerJSON(a.out, ledger)
	}
	return text.LedgerLines(a.out, ledger, a.style())
}

// writeLedger writes a page so that the file is whole or absent.
func writeLedger(path string, write func(io.Writer) error) error {
	if err := atomicfile.Write(path, 0o644, write); err != nil {
		return fmt.Errorf("claims report: %s: %w: choose another place", path, err)
	}
	return nil
}
