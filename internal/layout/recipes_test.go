package layout

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// A recipe is a section of CONTRIBUTING.md on how to add something: what its
// numbered list says.
type recipe struct {
	name     string   // of the heading, such as memory-mode-to-http11
	lines    int      // of the list
	paths    []string // files to add, and directories that get some
	commands []string // those of the go command
}

var (
	recipeHeading = regexp.MustCompile(`^## Add an? ([^(]+)`)
	listItem      = regexp.MustCompile(`^(\d+\.|  ) `)
	braces        = regexp.MustCompile(`^(.*)\{(.*)\}(.*)$`)
	passed        = regexp.MustCompile(`(?im)^\s*--- PASS: \S*dummy`)
	fine          = regexp.MustCompile(`(?m)^\s*(=== RUN|--- PASS:).*\n`)
	dummies       = strings.NewReplacer("NAME", "dummy", "NNN", "777")
)

// readRecipes finds the recipes of a page, with dummies for its names.
func readRecipes(page string) (all []*recipe) {
	texts := map[*recipe]string{}
	var now *recipe
	for line := range strings.Lines(page) {
		if m := recipeHeading.FindStringSubmatch(line); m != nil {
			now = &recipe{name: strings.ReplaceAll(strings.ToLower(strings.TrimSpace(m[1])), " ", "-")}
			all = append(all, now)
		} else if strings.HasPrefix(line, "#") {
			now = nil
		} else if now != nil && listItem.MatchString(line) {
			now.lines++
			texts[now] += strings.TrimSpace(line) + " "
		}
	}
	for r, text := range texts {
		for _, span := range codeSpan.FindAllString(text, -1) {
			named, span := dummies.Replace(span) != span, dummies.Replace(strings.Trim(span, "`"))
			switch {
			case strings.HasPrefix(span, "go "):
				r.commands = append(r.commands, span)
			case !named || strings.Contains(span, " ") || !strings.Contains(span, "/"):
			case braces.MatchString(span):
				m := braces.FindStringSubmatch(span)
				for part := range strings.SplitSeq(m[2], ",") {
					r.paths = append(r.paths, m[1]+part+m[3])
				}
			default:
				r.paths = append(r.paths, span)
			}
		}
	}
	return all
}

// differences says which paths of the recipe none of the files is at or below,
// and which files are at or below none of its paths.
func (r *recipe) differences(files []string) (problems []string) {
	within := func(file, at string) bool { return file == at || strings.HasPrefix(file, at+"/") }
	for _, p := range r.paths {
		if !slices.ContainsFunc(files, func(file string) bool { return within(file, p) }) {
			problems = append(problems, p+" is named and not among the dummies")
		}
	}
	for _, file := range files {
		if !slices.ContainsFunc(r.paths, func(p string) bool { return within(file, p) }) {
			problems = append(problems, file+" is among the dummies and not named")
		}
	}
	return problems
}

// TestRecipes follows the recipes of CONTRIBUTING.md in a copy of the tree: it
// adds the dummies at the paths that they name, edits nothing, runs their
// commands of the go command, and wants to see the dummies. One copy serves all
// recipes, so that isobar is built once.
func TestRecipes(t *testing.T) {
	if testing.Short() || invariant.Race {
		t.Skip("builds commands and runs tests, none of them with the race detector")
	}
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := readRecipes(string(page))
	dirs, err := os.ReadDir(filepath.Join("testdata", "recipes"))
	if err != nil || len(all) != len(dirs) || len(all) < 6 {
		t.Fatalf("%d recipes and dummies for %d (%v)", len(all), len(dirs), err)
	}
	tree := t.TempDir()
	copyTree(t, root, tree, ".git", ".github", "bench", "deploy", "docs", "scripts", "test", "internal/layout/testdata/recipes")
	if err := os.MkdirAll(filepath.Join(tree, "docs", "results"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.lines > 10 {
			t.Errorf("%s: %d lines, want 10 at most", r.name, r.lines)
		}
		for _, problem := range r.differences(copyTree(t, filepath.Join("testdata", "recipes", r.name), tree)) {
			t.Errorf("%s: %s", r.name, problem)
		}
	}
	if t.Failed() {
		return
	}
	for _, r := range all { // before anything is built
		for _, line := range r.commands {
			if strings.HasPrefix(line, "go generate") {
				follow(t, tree, line)
			}
		}
	}
	for _, r := range all {
		t.Run(r.name, func(t *testing.T) { r.follow(t, tree) })
	}
}

// follow runs the commands of the recipe and looks for the dummy: a test passes
// that has its name, and a program that is given it or that lists what there is
// prints it.
func (r *recipe) follow(t *testing.T, tree string) {
	tested, shown := false, false
	for _, line := range r.commands {
		if strings.HasPrefix(line, "go generate") {
			continue
		}
		out := follow(t, tree, line)
		if strings.HasPrefix(line, "go run") {
			shows := strings.Contains(out, "dummy")
			if shown = shown || shows; !shows && strings.Contains(line, "dummy") {
				t.Errorf("%s does not show the dummy:\n%s", line, out)
			}
		}
		tested = tested || passed.MatchString(out)
	}
	if !tested {
		t.Error("no test that has the dummy's name has passed")
	}
	if !shown && slices.ContainsFunc(r.commands, func(line string) bool { return strings.HasPrefix(line, "go run") }) {
		t.Error("no program has shown the dummy")
	}
}

// follow runs one command and returns what it wrote, a file included. Tests say
// what they pass.
func follow(t *testing.T, tree, line string) string {
	t.Helper()
	line, file, _ := strings.Cut(line, " > ")
	var args []string
	for _, arg := range strings.Fields(line)[1:] {
		args = append(args, strings.Trim(arg, "'"))
	}
	if i := slices.Index(args, "test"); i >= 0 {
		args = slices.Insert(args, i+1, "-v")
	}
	began := time.Now()
	cmd := exec.Command("go", args...)
	cmd.Dir = tree
	// -trimpath would build the standard library and all dependencies once more.
	cmd.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -vet=off -ldflags=-w", "GOWORK=off",
		"ISOBAR_STORE="+filepath.Join(tree, "runs.db"))
	out, err := cmd.CombinedOutput()
	if err == nil && file != "" {
		err = os.WriteFile(filepath.Join(tree, file), out, 0o644)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, fine.ReplaceAll(out, nil))
	}
	t.Logf("%6.1f s  %s", time.Since(began).Seconds(), line)
	return string(out)
}

// copyTree copies the files below from to the same paths below to, but for
// directories of these names, and returns the paths. No file may be there.
func copyTree(t *testing.T, from, to string, without ...string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir() && slices.Contains(without, filepath.ToSlash(rel)):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		if _, err := os.Stat(target); err == nil {
			return fmt.Errorf("%s is there already: a recipe adds files, it changes none", rel)
		}
		files = append(files, path.Clean(filepath.ToSlash(rel)))
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestReadRecipes(t *testing.T) {
	all := readRecipes("# Page\n\n## Add a thing to a place (any)\n\n1. `a/NAME.go`: see `b/c.go`,\n   and `x/NAME/{d,e}`.\n" +
		"2. `go test ./a -run\n   '(?i)NAME'`, `make NAME/x all`.\n\nNot `f/NAME.go`.\n\n## Write\n\n1. `g/NAME.go`\n\n## Add an egg\n")
	if len(all) != 2 || all[0].name != "thing-to-a-place" || all[1].name != "egg" {
		t.Fatalf("recipes %+v", all)
	}
	r := all[0]
	if !slices.Equal(r.paths, []string{"a/dummy.go", "x/dummy/d", "x/dummy/e"}) || r.lines != 4 ||
		!slices.Equal(r.commands, []string{"go test ./a -run '(?i)dummy'"}) {
		t.Errorf("recipe %+v", r)
	}
	for _, c := range []struct {
		files []string
		want  int
	}{
		{[]string{"a/dummy.go", "x/dummy/d/d.go", "x/dummy/e/e.go", "x/dummy/e/f.go"}, 0},
		{[]string{"a/dummy.go", "x/dummy/d/d.go"}, 1},
		{[]string{"a/dummy.go", "x/dummy/d/d.go", "x/dummy/e/e.go", "README.md"}, 1},
		{[]string{"a/dummy_test.go", "x/dummy/f/f.go"}, 5},
	} {
		if got := r.differences(c.files); len(got) != c.want {
			t.Errorf("%v: %q, want %d", c.files, got, c.want)
		}
	}
}
