package main

import (
	"bytes"
	"encoding/json"
	"html/template"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isobar-go/isobar/gcctl/gcctlhttp"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/tune/attach"
)

// churn allocates garbage beside live objects until stop is closed.
func churn(stop <-chan struct{}) {
	keep := make([]*[64]byte, 200_000)
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
			keep[i%len(keep)] = new([64]byte)
		}
	}
}

// TestTuneAttach tunes this process through its handler, which must leave the process as it was.
func TestTuneAttach(t *testing.T) {
	before := debug.SetGCPercent(60)
	defer debug.SetGCPercent(before)
	h := gcctlhttp.New(gcctlhttp.Config{Token: "s3cret"})
	srv := httptest.NewServer(h)
	stop := make(chan struct{})
	var load sync.WaitGroup
	load.Go(func() { churn(stop) })
	defer func() {
		close(stop)
		load.Wait()
		srv.Close()
		h.Close()
	}()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errw bytes.Buffer
	dir := t.TempDir()
	html := filepath.Join(dir, "attach.html")
	args := []string{"--store", filepath.Join(dir, "s.db"), "tune", "--out", html, "--attach", srv.URL,
		"--token-file", token, "--gogc", "400", "--rounds", "4", "--budget", "8s", "--json"}
	if code := run(t.Context(), args, strings.NewReader(""), &out, &errw); code != exitOK && code != exitInconclusive {
		t.Fatalf("exit %d: %s", code, errw.String())
	}
	var a attach.Answer
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		t.Fatal(err)
	}
	if len(a.Arms) != 2 || len(a.Arms[0].CPU) < 3 || len(a.Arms[1].CPU) < 3 || a.Unit != "GiB allocated" ||
		a.Today.GC.Percent != 60 || a.Arms[1].GC.Percent != 400 {
		t.Errorf("%+v", a)
	}
	shown, err := os.ReadFile(html)
	if err != nil || !strings.Contains(string(shown), "<li>"+template.HTMLEscapeString(a.Headline)) || a.Headline == "" ||
		strings.Contains(string(shown), "CPU time against memory") != (len(a.Choices) > 0) {
		t.Errorf("%v: the page does not open with %q, or has no picture of %d choices", err, a.Headline, len(a.Choices))
	}
	var again bytes.Buffer
	code := run(t.Context(), append(args, "--resume"), strings.NewReader(""), &again, &errw)
	var b attach.Answer
	if err := json.Unmarshal(again.Bytes(), &b); code != exitOK && code != exitInconclusive || err != nil ||
		b.Headline != a.Headline || !reflect.DeepEqual(b.Arms, a.Arms) {
		t.Errorf("resumed: exit %d: %s\n%s; want\n%s", code, errw.String(), again.String(), out.String())
	}
	if now := debug.SetGCPercent(60); now != 60 {
		t.Errorf("GOGC is left at %d, want 60", now)
	}
	code = run(t.Context(), append(args[:2:2], "tune", "--attach", srv.URL), strings.NewReader(""), &out, &errw)
	if code != exitFailure || !strings.Contains(errw.String(), "give --token-file") {
		t.Errorf("without the token: exit %d: %s", code, errw.String())
	}
	for content, want := range map[string]string{"wrong": "--token-file holds another one", "\n": "is empty"} {
		if err := os.WriteFile(token, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		code = run(t.Context(), append(args[:2:2], "tune", "--attach", srv.URL, "--token-file", token), strings.NewReader(""),
			&out, &errw)
		if code != exitFailure || !strings.Contains(errw.String(), want) {
			t.Errorf("token %q: exit %d: %s; want %q", content, code, errw.String(), want)
		}
	}
}

// TestRemoteSetsNothingOfToday: Close restores the setting that the handler found, even
// after that setting was applied.
func TestRemoteSetsNothingOfToday(t *testing.T) {
	before := debug.SetGCPercent(80)
	defer debug.SetGCPercent(before)
	h := gcctlhttp.New(gcctlhttp.Config{})
	defer h.Close()
	server := httptest.NewServer(h)
	defer server.Close()
	r := attach.Remote{URL: server.URL}
	for _, percent := range []int{80, 300, 80} {
		if err := r.Apply(t.Context(), cell.GC{Percent: percent}, time.Minute); err != nil {
			t.Fatal(err)
		}
		s, err := r.Look(t.Context())
		if err != nil || s.GC.Percent != percent || s.Found.Percent != 80 {
			t.Errorf("%+v, %v; want GOGC=%d", s, err, percent)
		}
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if now := debug.SetGCPercent(80); now != 80 {
		t.Errorf("GOGC=%d is left", now)
	}
}
