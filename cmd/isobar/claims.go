package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/isobar-go/isobar/internal/base/atomicfile"
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
		Short: "Test what documents claim about the collector, on this machine",
		Long:  help("claims"),
		Args:  onlyCommands,
		RunE: func(*cobra.Command, []string) error {
			claims, err := opts.claims()
			if err != nil {
				return err
			}
			return a.showLedger(claims, opts.json)
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
		Short: "Measure claims and decide each",
		Long:  help("claims-run"),
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			claims, err := opts.claims()
			if err != nil {
				return err
			}
			size := claim.Full
			if quick {
				size = claim.Quick
			}
			if err := a.RunClaims(cmd.Context(), claims, size, resume); err != nil {
				return err
			}
			return a.showLedger(claims, opts.json)
		},
	}
	opts.addFlags(cmd)
	cmd.Flags().BoolVar(&quick, "quick", false, "short experiments, fewer repetitions")
	cmd.Flags().BoolVar(&resume, "resume", false, "continue the latest call of this size")
	return cmd
}

func (a *app) claimsShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show CLAIM...",
		Short: "Tell the story of a claim: quote, figure, samples, why it differs",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			claims, err := claim.Select(nil, args)
			if err != nil {
				return usage(err)
			}
			ledger, err := a.Ledger(claims)
			if err != nil {
				return err
			}
			if asJSON {
				return text.LedgerJSON(a.Out, ledger)
			}
			return text.LedgerStory(a.Out, ledger, a.Style())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the story as JSON")
	return cmd
}

func (a *app) claimsReportCommand() *cobra.Command {
	opts := &claimOptions{}
	var html, markdown, publish, note string
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Write the ledger as a page, or the latest run for publishing",
		Long:  help("claims-report"),
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if html == "" && markdown == "" && publish == "" {
				return usage(errors.New("claims report: name a file with --html, --markdown or --publish"))
			}
			claims, err := opts.claims()
			if err != nil {
				return err
			}
			if publish != "" {
				outcomes, err := a.Outcomes(claims)
				if err != nil {
					return err
				}
				if err := writePage(publish, func(w io.Writer) error { return claim.Publish(w, outcomes, note) }); err != nil {
					return err
				}
			}
			ledger, err := a.Ledger(claims)
			if err != nil {
				return err
			}
			if html != "" {
				if err := writePage(html, func(w io.Writer) error { return page.WriteLedger(w, ledger) }); err != nil {
					return err
				}
			}
			if markdown != "" {
				return writePage(markdown, func(w io.Writer) error { return text.LedgerMarkdown(w, ledger) })
			}
			return nil
		},
	}
	cmd.Flags().StringSliceVar(&opts.docs, "doc", nil, "only claims of these documents, such as 000")
	cmd.Flags().StringVar(&html, "html", "", "write one self-contained HTML page to `FILE`")
	cmd.Flags().StringVar(&markdown, "markdown", "", "write Markdown to `FILE`")
	cmd.Flags().StringVar(&publish, "publish", "", "write the latest run's findings to `FILE`, a record of JSON lines")
	cmd.Flags().StringVar(&note, "note", "", "with --publish: `TEXT` that sets the run apart, such as: beside a build")
	return cmd
}

// showLedger prints the store's verdicts on the claims.
func (a *app) showLedger(claims []*claim.Claim, asJSON bool) error {
	ledger, err := a.Ledger(claims)
	if err != nil {
		return err
	}
	return a.printLedger(ledger, asJSON)
}

func (a *app) printLedger(ledger *text.Ledger, asJSON bool) error {
	if asJSON {
		return text.LedgerJSON(a.Out, ledger)
	}
	return text.LedgerLines(a.Out, ledger, a.Style())
}

// writePage writes a file atomically: it is complete or absent.
func writePage(path string, write func(io.Writer) error) error {
	if err := atomicfile.Check(path); err != nil {
		return fmt.Errorf("%w: choose another place", err)
	}
	if err := atomicfile.Write(path, 0o644, write); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
