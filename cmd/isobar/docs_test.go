package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/isobar-go/isobar/internal/session"
)

var (
	documented = regexp.MustCompile(`\bisobar ([a-z][^` + "`" + `|#]*)`)
	longFlag   = regexp.MustCompile(`(?:^|\s)--([a-z][a-z0-9-]*)`)
)

// TestDocsNameWhatExists checks the commands and flags in the guides against
// the program.
func TestDocsNameWhatExists(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, "../../README.md", "../../CONTRIBUTING.md")
	root := (&app{Session: &session.Session{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}}).rootCommand()
	root.InitDefaultHelpFlag()
	checked := 0
	for _, page := range pages {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range documented.FindAllStringSubmatch(string(data), -1) {
			line, _, _ := strings.Cut(m[1], "\n")
			if problem := undocumented(root, line); problem != "" {
				t.Errorf("%s: isobar %s: %s", page, line, problem)
			}
			checked++
		}
	}
	if checked < 50 {
		t.Errorf("%d commands found in %d pages: does the pattern still match?", checked, len(pages))
	}
}

// undocumented returns the first name in a line of a page that the program lacks; "" if it lacks none.
func undocumented(root *cobra.Command, line string) string {
	line, _, _ = strings.Cut(line+" ", " -- ") // what follows belongs to a program
	words := strings.Fields(line)
	cmd, _, err := root.Find(words)
	if err != nil || cmd == root {
		return "no such command"
	}
	for _, m := range longFlag.FindAllStringSubmatch(line, -1) {
		if m[1] != "help" && cmd.Flag(m[1]) == nil {
			return "no flag --" + m[1]
		}
	}
	return ""
}

func TestUndocumented(t *testing.T) {
	root := (&app{Session: &session.Session{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}}).rootCommand()
	for line, want := range map[string]string{
		"lab run loop --ingress main --reps 3": "",
		"lab run exec --gc off -- go --x vet":  "",
		"lab show 1 --store FILE":              "",
		"tune --help":                          "",
		"lab run loop --speed 9":               "no flag --speed",
		"labour":                               "no such command",
	} {
		if got := undocumented(root, line); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// TestHelpTexts: each file of help belongs to a command.
func TestHelpTexts(t *testing.T) {
	used := map[string]bool{}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		used[cmd.Long] = true
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit((&app{Session: &session.Session{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}}).rootCommand())
	files, err := helpTexts.ReadDir("help")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		if name, _ := strings.CutSuffix(file.Name(), ".txt"); !used[help(name)] {
			t.Errorf("no command has the text of %s", file.Name())
		}
	}
}
