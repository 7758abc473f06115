package advise

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// TestModulesAreNamedOnce checks the format of the lists of blind rounds, and that no
// module is listed twice: a module that was read once is no longer blind.
func TestModulesAreNamedOnce(t *testing.T) {
	seen := map[string]string{}
	for _, list := range []string{"account.txt", "default.txt"} {
		data, err := os.ReadFile(filepath.Join(analysistest.TestData(), list))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			at, field, _ := strings.Cut(line, " ")
			module, version, _ := strings.Cut(at, "@")
			if !strings.HasPrefix(version, "v") || strings.TrimSpace(field) == "" {
				t.Errorf("%s: %q; want MODULE@VERSION and its field", list, line)
			}
			if other := seen[module]; other != "" {
				t.Errorf("%s names %s, as %s does", list, module, other)
			}
			seen[module] = list
		}
	}
}
