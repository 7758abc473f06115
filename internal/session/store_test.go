package session

import (
	"path/filepath"
	"testing"
)

func TestDataDir(t *testing.T) {
	abs, err := filepath.Abs("data")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		goos string
		env  map[string]string
		want string
	}{
		{"linux", map[string]string{"HOME": "h"}, filepath.Join("h", ".local", "share", "isobar")},
		{"linux", map[string]string{"HOME": "h", "XDG_DATA_HOME": abs}, filepath.Join(abs, "isobar")},
		{"linux", map[string]string{"HOME": "h", "XDG_DATA_HOME": "relative"},
			filepath.Join("h", ".local", "share", "isobar")},
		{"darwin", map[string]string{"HOME": "h"}, filepath.Join("h", "Library", "Application Support", "isobar")},
		{"windows", map[string]string{"LocalAppData": "l"}, filepath.Join("l", "isobar")},
	} {
		got, err := dataDir(tc.goos, func(name string) string { return tc.env[name] })
		if err != nil || got != tc.want {
			t.Errorf("%s %v: %q, %v; want %q", tc.goos, tc.env, got, err, tc.want)
		}
	}
	if _, err := dataDir("linux", func(string) string { return "" }); err == nil {
		t.Error("no HOME: no error")
	}
}

// TestStoresInOneDirectory holds that their files stay apart, even if names differ only in the extension.
func TestStoresInOneDirectory(t *testing.T) {
	for store, want := range map[string]string{"isobar.db": "reports/run-7.html", "x/isobar.db": "x/reports/run-7.html",
		"x/a.db": "x/reports/a.db/run-7.html", "x/a": "x/reports/a/run-7.html", "b.db": "reports/b.db/run-7.html"} {
		if got := ReportPath(filepath.FromSlash(store), 7); got != filepath.FromSlash(want) {
			t.Errorf("%s: %s, want %s", store, got, want)
		}
	}
}

// TestCommand: a command that is printed works on the store of the command that printed it.
func TestCommand(t *testing.T) {
	t.Setenv("ISOBAR_STORE", "usual.db")
	for path, want := range map[string]string{
		"": "isobar lab show 1", "usual.db": "isobar lab show 1", "its own.db": "isobar --store 'its own.db' lab show 1",
	} {
		if got := (&Session{Store: path}).Command("lab show 1"); got != want {
			t.Errorf("store %q: %q, want %q", path, got, want)
		}
	}
}
