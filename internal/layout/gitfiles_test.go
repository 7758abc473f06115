package layout

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	forbiddenName = regexp.MustCompile(`(?i)(\.(bak[0-9]*|prof|pprof|test|out|log|orig|rej|exe|db|sqlite|so|o|a|swp)$|~$|(^|/)(node_modules|\.DS_Store)(/|$))`)
	statusReport  = regexp.MustCompile(`(?i)(report|summary|status|complete|progress|notes|todo)[^/]*\.md$`)
	homePath      = regexp.MustCompile(`(?:^|[\s"'=(:])/(?:root|home|Users|work)/[A-Za-z0-9_.-]`)
	binaryMagic   = [][]byte{[]byte("\x7fELF"), []byte("MZ\x90"), {0xcf, 0xfa, 0xed, 0xfe}, []byte("SQLite format 3\x00"), []byte("go object ")}
)

// TestGitHoldsOnlySource goes over the files that git tracks: no binaries,
// profiles, logs, backups or status reports, nothing large, no path of
// anybody's machine.
func TestGitHoldsOnlySource(t *testing.T) {
	root := filepath.Join("..", "..")
	out, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("no git checkout here: %v", err)
	}
	files := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if len(files) < 20 {
		t.Fatalf("git ls-files lists %d files: is the module root right?", len(files))
	}
	for _, name := range files {
		if problem := checkFile(root, name); problem != "" {
			t.Errorf("%s: %s", name, problem)
		}
	}
}

func checkFile(root, name string) string {
	if !strings.Contains(name, "testdata/") {
		if forbiddenName.MatchString(name) {
			return "a kind of file that does not belong in git"
		}
		if statusReport.MatchString(name) {
			return "a status report: results are records in the store, decisions go to docs/adr"
		}
	}
	data, err := os.ReadFile(filepath.Join(root, name))
	if os.IsNotExist(err) {
		return "" // removed, but not yet in the index
	}
	if err != nil {
		return err.Error()
	}
	for _, magic := range binaryMagic {
		if bytes.HasPrefix(data, magic) {
			return "a binary"
		}
	}
	limit := 256 << 10
	if strings.HasSuffix(name, ".png") {
		limit = 1 << 20
	}
	if len(data) > limit {
		return "larger than a source file should be"
	}
	if !strings.HasSuffix(name, ".png") && !strings.HasSuffix(name, ".sum") {
		if m := homePath.Find(data); m != nil {
			return "names a path of one machine: " + strings.TrimSpace(string(m)) + "…"
		}
	}
	return ""
}

func TestCheckFileFindsWhatItShould(t *testing.T) {
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		data string
		bad  bool
	}{
		"a.go":           {"package a\n", false},
		"cpu.prof":       {"x", true},
		"old.go.bak":     {"x", true},
		"STATUS.md":      {"x", true},
		"tool":           {"\x7fELF....", true},
		"big.txt":        {strings.Repeat("x", 300<<10), true},
		"path.md":        {"see /ho" + "me/someone/x", true},
		"testdata/a.log": {"x", false},
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(tc.data), 0o644); err != nil {
			t.Fatal(err)
		}
		if problem := checkFile(dir, name); (problem != "") != tc.bad {
			t.Errorf("%s: %q, bad = %v", name, problem, tc.bad)
		}
	}
}
