package layout

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMakefile: each part of make test is in one lane and has a recipe, the packages that start first exist, and what
// the part unit leaves out is in the part source. PLAIN64 has all packages of KIT that it should, TAGGED those with
// files for isobar_debug, and the tests that race and go127 skip exist.
func TestMakefile(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	variables, recipes := map[string]string{}, map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(\w+) *[:?]?= *(.*)$`).FindAllSubmatch(text, -1) {
		variables[string(m[1])] = string(m[2])
	}
	for _, m := range regexp.MustCompile(`(?m)^([\w-]+):[^=\n]*\n((?:\t.*\n)+)`).FindAllSubmatch(text, -1) {
		recipes[string(m[1])] = string(m[2])
	}
	var parts []string
	for _, name := range []string{"FIRST", "LANE1", "LANE2", "LANE3"} {
		parts = append(parts, strings.Fields(variables[name])...)
	}
	if len(parts) < 18 {
		t.Errorf("%d parts %q, want 18 at least", len(parts), parts)
	}
	for i, part := range parts {
		if slices.Contains(parts[:i], part) {
			t.Errorf("the part %s is in two lanes", part)
		}
		if recipes[part] == "" {
			t.Errorf("the part %s has no recipe", part)
		}
	}
	for _, dir := range strings.Fields(variables["LONG"] + " " + variables["KIT"]) {
		if _, err := os.Stat(filepath.Join(root, strings.TrimSuffix(dir, "/..."))); err != nil {
			t.Error(err)
		}
	}
	plain64 := regexp.MustCompile(`atomic\.(Add|Load|Store|CompareAndSwap|Swap|And|Or)(Int|Uint)64\(`)
	for _, dir := range strings.Fields(strings.ReplaceAll(variables["KIT"], "/...", "/*")) {
		files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("no files in %s (%v)", dir, err)
		}
		for _, file := range files {
			if text, err := os.ReadFile(file); err != nil {
				t.Error(err)
			} else if plain64.Match(text) && !slices.Contains(strings.Fields(variables["PLAIN64"]), dir) {
				t.Errorf("%s has 64-bit atomics on plain words, and %s is not in PLAIN64", file, dir)
			}
		}
	}
	tests := map[string]bool{}
	testName := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	tagged := regexp.MustCompile(`(?m)^//go:build .*isobar_debug`)
	inSource := regexp.MustCompile(`^(` + variables["SOURCE"] + `)(/|$)`)
	names, err := exec.Command("git", "-C", root, "ls-files", "*.go").Output()
	if err != nil {
		t.Skip("not a git checkout: ", err)
	}
	for file := range strings.Lines(string(names)) {
		dir := filepath.ToSlash(filepath.Dir(file))
		wing, _, _ := strings.Cut(dir, "/")
		if strings.Contains(dir, "testdata") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, strings.TrimSpace(file)))
		if err != nil {
			t.Fatal(err)
		}
		if tagged.Match(text) && !slices.Contains(strings.Fields(variables["TAGGED"]), "./"+dir) {
			t.Errorf("%s is for isobar_debug, and its package is not in TAGGED", strings.TrimSpace(file))
		}
		if !strings.HasSuffix(strings.TrimSpace(file), "_test.go") {
			continue
		}
		for _, m := range testName.FindAllSubmatch(text, -1) {
			tests[string(m[1])] = true
		}
		if inSource.MatchString(dir) && !strings.Contains(recipes["source"], " ./"+dir) &&
			!strings.Contains(recipes["source"], " ./"+wing+"/...") {
			t.Errorf("%s is neither in the part unit nor in the part source", dir)
		}
	}
	for test := range strings.SplitSeq(variables["ONE"]+"|"+variables["SUMS127"], "|") {
		if !tests[test] {
			t.Errorf("race or go127 skips %s, which is no test", test)
		}
	}
}
