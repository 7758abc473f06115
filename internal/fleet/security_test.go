package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// tokenFile returns a file with a token.
func tokenFile(t *testing.T, token string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCredentials(t *testing.T) {
	server := serve(t, ServerConfig{Listen: "127.0.0.1:0", TokenFile: tokenFile(t, "the token that is right")})
	wrong := tokenFile(t, "a wrong token")
	for name, test := range map[string]struct {
		options Options
		ok      bool
		remedy  string
	}{
		"none":  {Options{}, false, "requires a credential: give --token-file"},
		"wrong": {Options{TokenFile: wrong}, false, wrong + " is not this server's"},
		"right": {Options{TokenFile: tokenFile(t, "the token that is right")}, true, ""},
	} {
		test.options.URL = server.URL()
		f, err := Connect(t.Context(), test.options)
		if err == nil {
			f.Close()
		}
		if (err == nil) != test.ok || err != nil && !errors.Is(err, nats.ErrAuthorization) ||
			err != nil && !strings.Contains(err.Error(), test.remedy) {
			t.Errorf("%s: %v, want %q", name, err, test.remedy)
		}
	}
}

func TestNKeys(t *testing.T) {
	seedFile := func(pair nkeys.KeyPair) string {
		seed, err := pair.Seed()
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "seed")
		if err := os.WriteFile(file, seed, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	var pairs [2]nkeys.KeyPair
	for i := range pairs {
		pair, err := nkeys.CreateUser()
		if err != nil {
			t.Fatal(err)
		}
		pairs[i] = pair
	}
	public, err := pairs[0].PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	server := serve(t, ServerConfig{Listen: "127.0.0.1:0", NKeys: []string{public}})
	if f, err := Connect(t.Context(), Options{URL: server.URL(), NKeyFile: seedFile(pairs[0])}); err != nil {
		t.Errorf("the right key: %v", err)
	} else {
		f.Close()
	}
	if f, err := Connect(t.Context(), Options{URL: server.URL(), NKeyFile: seedFile(pairs[1])}); err == nil {
		f.Close()
		t.Error("a stranger's key was accepted")
	}
	if f, err := Connect(t.Context(), Options{URL: server.URL(), TokenFile: tokenFile(t, server.token)}); err == nil {
		f.Close()
		t.Error("a token was accepted in place of a key")
	}
}

func TestListensOnLoopbackOnly(t *testing.T) {
	for _, config := range []ServerConfig{{Listen: "0.0.0.0:0"}, {Listen: ":0"}, {Listen: "127.0.0.1"}, {Listen: "127.0.0.1:0", CA: "ca.pem"}} {
		if s, err := Serve(config); err == nil {
			s.Close()
			t.Errorf("%+v was accepted", config)
		}
	}
}

func TestAddressInUse(t *testing.T) {
	address := strings.TrimPrefix(serve(t, ServerConfig{Listen: "127.0.0.1:0"}).URL(), "nats://")
	s, err := Serve(ServerConfig{Listen: address})
	if err == nil {
		s.Close()
	}
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), address) {
		t.Errorf("%s: %v", address, err)
	}
}

// TestRefusals lists jobs published by a stranger who has a credential, and the expected refusals.
func TestRefusals(t *testing.T) {
	server := serve(t, ServerConfig{})
	f := connect(t, Options{Server: server})
	var ran atomic.Int64
	config := workerConfig(t, "w", func(ctx context.Context, c cell.Cell) (cell.Record, map[string][]byte, error) {
		ran.Add(1)
		return noop(ctx, c)
	})
	startWorker(t, Options{Server: server}, config)
	config.Name, config.Allow, config.Dir = "x", []string{KindExec}, t.TempDir()
	config.Machine.OS, config.Machine.Arch = runtime.GOOS, runtime.GOARCH
	startWorker(t, Options{Server: server}, config)

	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("not what it seems"), 0o755); err != nil {
		t.Fatal(err)
	}
	put, err := f.PutProgram(t.Context(), program)
	if err != nil {
		t.Fatal(err)
	}
	platform := runtime.GOOS + "/" + runtime.GOARCH
	tampered := Program{SHA256: strings.Repeat("ab", 32), Bytes: put.Bytes}
	programs, err := f.js.ObjectStore(t.Context(), programStore)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := programs.PutBytes(t.Context(), tampered.SHA256, []byte("not what it seems")); err != nil {
		t.Fatal(err)
	}
	larger := tampered
	larger.Bytes = 4
	cellOf := func(workload string, params map[string]string, command ...string) []cell.Cell {
		return []cell.Cell{{Config: cell.Config{Workload: workload, Params: params, Command: command}}}
	}
	for i, test := range []struct {
		name, want string
		kind       string
		job        Job
		raw        []byte
	}{
		{name: "not JSON", want: "malformed", raw: []byte("cells: all of them")},
		{name: "another field", want: "unknown field", raw: []byte(`{"sweep":"s","shell":"rm"}`)},
		{name: "something behind it", want: "malformed", raw: []byte(`{} {}`)},
		{name: "no cells", want: "without cells", job: Job{}},
		{name: "oversized", want: "oversized", raw: bytes.Repeat([]byte(" "), maxMessage+1)},
		{name: "a program for a lab worker", want: "does not allow", job: Job{Cells: cellOf("exec", nil, "sh")}},
		{name: "a command in a lab workload", want: "does not allow", job: Job{Cells: cellOf("alloc", nil, "sh")}},
		{name: "unknown workload", want: "unknown workload", job: Job{Cells: cellOf("mine", nil)}},
		{name: "absolute path", want: "leaves the working directory", job: Job{Cells: cellOf("market", map[string]string{"input": "/etc/passwd"})}},
		{name: "path that climbs", want: "leaves the working directory", job: Job{Cells: cellOf("market", map[string]string{"input": "a/../../b"})}},
		{name: "a program that did not come", kind: KindExec, want: "none came", job: Job{Cells: cellOf("exec", nil, "sh")}},
		{name: "a tampered program", kind: KindExec, want: "tampered", job: Job{Cells: cellOf("exec", nil, "sh"), Programs: map[string]Program{platform: tampered}}},
		{name: "a larger program", kind: KindExec, want: "oversized", job: Job{Cells: cellOf("exec", nil, "sh"), Programs: map[string]Program{platform: larger}}},
		{name: "a program by path", kind: KindExec, want: "malformed", job: Job{Cells: cellOf("exec", nil, "sh"), Programs: map[string]Program{platform: {SHA256: "../../bin/sh", Bytes: 1}}}},
		{name: "a program that is not there", kind: KindExec, want: "not found", job: Job{Cells: cellOf("exec", nil, "sh"), Programs: map[string]Program{platform: {SHA256: strings.Repeat("cd", 32), Bytes: 1}}}},
		{name: "an argument that climbs", kind: KindExec, want: "leaves the working directory", job: Job{Cells: cellOf("exec", nil, "sh", "-out=../x"), Programs: map[string]Program{platform: put}}},
		{name: "an absolute argument", kind: KindExec, want: "leaves the working directory", job: Job{Cells: cellOf("exec", nil, "sh", "/etc/passwd"), Programs: map[string]Program{platform: put}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.kind == "" {
				test.kind = KindLab
			}
			id := "sweep" + string(rune('a'+i))
			dead := offer(t, f, id, test.kind, test.job, test.raw)
			if !strings.Contains(dead.Reason, test.want) || dead.Worker == "" {
				t.Errorf("worker %q gave up: %s; want %q", dead.Worker, dead.Reason, test.want)
			}
		})
	}
	if n := ran.Load(); n != 0 {
		t.Errorf("%d cells ran", n)
	}
}

// offer publishes a job as block 0 of a sweep and returns the dead message.
func offer(t *testing.T, f *Fleet, id, kind string, job Job, raw []byte) Dead {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	job.Sweep = id
	if raw == nil {
		var err error
		if raw, err = json.Marshal(job); err != nil {
			t.Fatal(err)
		}
	}
	if len(raw) > maxMessage { // the stream was made by somebody else and accepts them
		if _, err := f.js.Publish(ctx, workSubject(id, 0), raw); err == nil {
			t.Error("the stream took an oversized message")
		}
		stream, err := f.js.Stream(ctx, workStream)
		if err != nil {
			t.Fatal(err)
		}
		config := stream.CachedInfo().Config
		config.MaxMsgSize = -1
		if _, err := f.js.UpdateStream(ctx, config); err != nil {
			t.Fatal(err)
		}
	}
	requires := Requirement{Kind: kind, Version: "test"}
	if _, err := f.js.CreateConsumer(ctx, workStream, jetstream.ConsumerConfig{
		Durable: id, FilterSubject: "isobar.work." + id + ".*", AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Second, MaxDeliver: 5,
		Metadata: requires.metadata(),
	}); err != nil {
		t.Fatal(err)
	}
	defer f.remove(context.Background(), id, true)
	dead, err := f.js.CreateConsumer(ctx, deadStream, jetstream.ConsumerConfig{FilterSubject: "isobar.dead." + id + ".*", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.js.Publish(ctx, workSubject(id, 0), raw); err != nil {
		t.Fatal(err)
	}
	news, err := json.Marshal(queue{Sweep: id, Requires: requires, AckWait: time.Second, MaxDeliver: 5})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.nc.Publish(newsSubject, news); err != nil {
		t.Fatal(err)
	}
	m, err := dead.Next(jetstream.FetchMaxWait(20 * time.Second))
	if err != nil {
		t.Fatalf("nothing was given up: %v", err)
	}
	var got Dead
	if err := json.Unmarshal(m.Data(), &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// TestMalformedResults has a stranger publish results before a worker does:
// each is given up with its reason, and the block runs.
func TestMalformedResults(t *testing.T) {
	server := serve(t, ServerConfig{})
	f := connect(t, Options{Server: server})
	s := newStore(t, 3, 5)
	encode := func(r Result) []byte {
		data, err := r.encode()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	block := func(n int) Result {
		r := Result{Sweep: "test", Block: n, Origin: &cell.Origin{Worker: "stranger", Attempt: "a"}}
		for _, c := range s.cells[3*n : 3*n+3] {
			r.Records = append(r.Records, cell.Record{Cell: c})
		}
		return r
	}
	short, nobody, other := block(1), block(2), block(3)
	short.Records = short.Records[:2]
	nobody.Origin = nil
	other.Records[0].Cell.Seed++
	for n, data := range [][]byte{[]byte("no gzip"), encode(short), encode(nobody), encode(other)} {
		if _, err := f.js.Publish(t.Context(), resultSubject("test", n), data); err != nil {
			t.Fatal(err)
		}
	}
	object := &nats.Msg{Subject: resultSubject("test", 4), Header: nats.Header{objectHeader: {"../nowhere"}}}
	if _, err := f.js.PublishMsg(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	startWorker(t, Options{Server: server}, workerConfig(t, "w", noop))
	if err := f.Sweep(t.Context(), s.sweep(t)); err != nil {
		t.Fatal(err)
	}
	failures, workers := s.check(t)
	if failures != 0 || len(workers) != 1 || workers["w"] != 5 {
		t.Errorf("%d failures, blocks by worker %v, want all 5 of w", failures, workers)
	}
	dead, err := f.js.Stream(t.Context(), deadStream)
	if err != nil {
		t.Fatal(err)
	}
	if n := dead.CachedInfo().State.Msgs; n != 5 {
		t.Errorf("%d messages were given up, want 5", n)
	}
}
