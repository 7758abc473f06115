package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/isobar-go/isobar/internal/session"
)

// TestDeployFlags holds that the commands in units and manifests have the flags
// used there.
func TestDeployFlags(t *testing.T) {
	root := (&app{Session: &session.Session{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}}).rootCommand()
	files, err := filepath.Glob("../../deploy/*")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cmd := root
		for _, word := range commandWords(string(data)) {
			if name, ok := strings.CutPrefix(word, "--"); ok {
				name, _, _ = strings.Cut(name, "=")
				found[filepath.Base(file)+" "+cmd.Name()]++
				if cmd.Flags().Lookup(name) == nil {
					t.Errorf("%s: isobar %s has no flag --%s", file, cmd.Name(), name)
				}
			} else if next := child(cmd, word); next != nil {
				cmd = next
			} else if next := child(root, word); next != nil {
				cmd = next
			}
		}
	}
	for where, least := range map[string]int{
		"kubernetes.yaml serve": 6, "kubernetes.yaml worker": 5, "isobar-fleet.service serve": 2,
		"isobar-worker.service worker": 2,
	} {
		if found[where] < least {
			t.Errorf("%s: found %d flags, want %d or more: does the test still read the file?", where, found[where], least)
		}
	}
}

// commandWords are the words of a unit's command, or the items of a manifest's
// lists.
func commandWords(text string) (words []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if command, ok := strings.CutPrefix(line, "ExecStart=/usr/local/bin/isobar "); ok {
			words = append(words, strings.Fields(command)...)
		} else if item, ok := strings.CutPrefix(line, "- "); ok {
			words = append(words, item)
		}
	}
	return words
}

func child(cmd *cobra.Command, name string) *cobra.Command {
	for _, c := range cmd.Commands() {
		if c.Name() == name {
			return c
		}
	}
	return nil
}
