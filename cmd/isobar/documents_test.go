package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/plan"
	"github.com/isobar-go/isobar/internal/lab/workload"
	"github.com/isobar-go/isobar/internal/session"
)

var updateDocuments = flag.Bool("update-documents", false, "write docs/results/documents.md")

// TestDocuments holds that every command in the list of rows exists with its flags, that
// every 'lab run' in it has a valid plan, and that the page matches the list.
func TestDocuments(t *testing.T) {
	docs := readRowFile(t)
	for _, d := range docs {
		for _, r := range d.Rows {
			for _, line := range r.Commands {
				if err := accepted(line); err != nil {
					t.Errorf("%s: %q: %s: %v", d.ID, r.Says, line, err)
				}
			}
		}
	}
	const page = "../../docs/results/documents.md"
	want := rowsPage(docs)
	if *updateDocuments {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || string(got) != want {
		t.Errorf("%s is not what the list says (%v): go test ./cmd/isobar -run TestDocuments -update-documents", page, err)
	}
}

// accepted parses a command line as the program would, and resolves the study of
// a 'lab run' against the workload's declarations.
func accepted(line string) error {
	root := (&app{Session: &session.Session{}}).rootCommand()
	cmd, rest, err := root.Find(strings.Fields(line)[1:])
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	if cmd.HasSubCommands() && cmd.Flags().NArg() > 0 {
		return fmt.Errorf("%s has no subcommand %q", cmd.Name(), cmd.Flags().Args())
	}
	w, err := workload.Lookup(cmd.Name())
	if err != nil || cmd.Parent().Name() != "run" || w.NeedsCommand {
		return nil // a command with other flags
	}
	s := plan.Study{Workload: w.Name}
	factors := factorFlags{}
	for name, to := range map[string]*[]string{"gc": &factors.gc, "gomaxprocs": &factors.procs} {
		if *to, err = cmd.Flags().GetStringSlice(name); err != nil {
			return err
		}
	}
	if err := factors.apply(&s); err != nil {
		return err
	}
	for _, p := range w.Params {
		value, err := cmd.Flags().GetString(p.Name)
		if err != nil {
			return err
		}
		all, err := plan.ParseLevels(value)
		if err != nil {
			return err
		}
		s.Factors = append(s.Factors, plan.Factor{Name: p.Name, Levels: all})
	}
	if w.Cases != nil {
		if _, err := split(w, s, cmd.Flags().Changed); err != nil {
			return err
		}
		return nil
	}
	return checkStudy(s)
}

// TestDocumentsFindsWhatIsMissing holds that the check above can fail.
func TestDocumentsFindsWhatIsMissing(t *testing.T) {
	for _, line := range []string{
		"isobar lab run no-such", "isobar lab run alloc --no-such 1", "isobar lab run alloc --size large",
		"isobar lab run scaling --gc 5..1/1", "isobar no-such",
	} {
		if err := accepted(line); err == nil {
			t.Errorf("%s: accepted", line)
		}
	}
	if err := accepted("isobar lab run scaling --gc 100..20000/100"); err != nil {
		t.Error(err)
	}
}
