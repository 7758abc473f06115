package layout

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	inlineLink = regexp.MustCompile(`\]\(([^()\s]+)(?:\s+"[^"]*")?\)`)
	imageTag   = regexp.MustCompile(`(?:src|href)="([^"]+)"`)
	heading    = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*#*$`)
	noAnchor   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	codeSpan   = regexp.MustCompile("`[^`]*`")
)

// TestLinksResolve follows every relative link of the tracked pages, to the
// heading where it names one.
func TestLinksResolve(t *testing.T) {
	root := filepath.Join("..", "..")
	pages := trackedPages(t, root)
	if len(pages) < 10 {
		t.Fatalf("git lists %d pages: is the module root right?", len(pages))
	}
	for _, page := range pages {
		for _, problem := range deadLinks(root, page) {
			t.Errorf("%s: %s", page, problem)
		}
	}
}

// TestHandKeptPagesStayFew counts what people keep by hand: at most ten guides,
// and at most 12,000 words together with the README. Results and decisions do
// not count: commands write the first, nobody edits the second.
func TestHandKeptPagesStayFew(t *testing.T) {
	root := filepath.Join("..", "..")
	guides, words := 0, 0
	for _, page := range trackedPages(t, root) {
		guide, _ := path.Match("docs/*.md", page)
		if !guide && page != "README.md" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		words += len(strings.Fields(string(data)))
		if guide {
			guides++
		}
	}
	if guides > 10 {
		t.Errorf("%d guides in docs, at most 10: fold one into another, or have a command write it to docs/results", guides)
	}
	if words > 12_000 {
		t.Errorf("the guides and the README have %d words, at most 12,000: figures go to docs/results, history to git", words)
	}
	if guides == 0 || words == 0 {
		t.Error("no guides found: is the module root right?")
	}
}

// trackedPages lists the Markdown files that git tracks and that exist, with
// slashes, relative to root.
func trackedPages(t *testing.T, root string) []string {
	t.Helper()
	out, err := exec.Command("git", "-C", root, "ls-files", "-z", "*.md").Output()
	if err != nil {
		t.Skipf("no git checkout here: %v", err)
	}
	var pages []string
	for _, name := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if _, err := os.Stat(filepath.Join(root, name)); err == nil && !strings.Contains(name, "testdata/") {
			pages = append(pages, name)
		}
	}
	return pages
}

// deadLinks returns what is wrong with the relative links of one page.
func deadLinks(root, page string) []string {
	text, err := prose(filepath.Join(root, page))
	if err != nil {
		return []string{err.Error()}
	}
	var problems []string
	for _, link := range append(inlineLink.FindAllStringSubmatch(text, -1), imageTag.FindAllStringSubmatch(text, -1)...) {
		target, anchor, _ := strings.Cut(link[1], "#")
		if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			continue
		}
		file := filepath.Join(root, page)
		if target != "" {
			file = filepath.Join(root, filepath.Dir(page), filepath.FromSlash(target))
		}
		if _, err := os.Stat(file); err != nil {
			problems = append(problems, "dead link "+link[1])
		} else if anchor != "" && strings.HasSuffix(file, ".md") && !hasHeading(file, anchor) {
			problems = append(problems, "no heading for "+link[1])
		}
	}
	return problems
}

// prose returns a page without fenced code and code spans.
func prose(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fenced := false
	for _, line := range strings.Split(string(data), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if !fenced {
			b.WriteString(codeSpan.ReplaceAllString(line, "x"))
			b.WriteByte('\n')
		}
	}
	return b.String(), nil
}

// hasHeading tells whether a page has the heading that an anchor names, by
// GitHub's rule: lower case, punctuation dropped, spaces to hyphens.
func hasHeading(file, anchor string) bool {
	data, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	for _, line := range strings.Split(string(data), "\n") {
		if m := heading.FindStringSubmatch(strings.TrimSuffix(line, "\r")); m != nil {
			name := strings.ToLower(noAnchor.ReplaceAllString(m[1], ""))
			if strings.ReplaceAll(name, " ", "-") == anchor {
				return true
			}
		}
	}
	return false
}

func TestDeadLinksFindsWhatItShould(t *testing.T) {
	dir := t.TempDir()
	write := func(name, data string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("docs/b.md", "# The `b` page, once\n")
	for data, want := range map[string]int{
		"[a](docs/b.md)":                  0,
		"[a](docs/b.md#the-b-page-once)":  0,
		"[a](docs/b.md#another)":          1,
		"[a](docs/c.md) and [b](d.md)":    2,
		"[a](https://example.com/x.md)":   0,
		"`f[T](x)` is code":               0,
		"```\n[a](docs/c.md)\n```":        0,
		`<img src="docs/none.png">`:       1,
		"# Here\n[a](#here) [b](#there)":  1,
		"[`code`](docs/b.md) [x](docs)":   0,
		"[a](docs/b.md \"with a title\")": 0,
	} {
		write("page.md", data)
		if got := deadLinks(dir, "page.md"); len(got) != want {
			t.Errorf("%q: %d problems %q, want %d", data, len(got), got, want)
		}
	}
}

// TestThePictureShowsEveryWing compares docs/wings.svg with the table below.
func TestThePictureShowsEveryWing(t *testing.T) {
	picture, err := os.ReadFile(filepath.Join("..", "..", "docs", "wings.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for wing := range below {
		if wing != "layout" && !strings.Contains(string(picture), ">"+wing+"</text>") {
			t.Errorf("docs/wings.svg does not show wing %s", wing)
		}
	}
}
