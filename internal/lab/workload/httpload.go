package workload

import (
	"context"
	"fmt"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/load"
)

func init() {
	Register(&Workload{
		Name:    "httpload",
		Summary: "send HTTP/1.1 requests to a server on this machine, on a schedule or as fast as it answers",
		Params: append([]Param{
			{Name: "address", Default: "127.0.0.1:8080", Help: "host:port of the server, a loopback address"},
			{Name: "path", Default: "/load?item=42", Help: "request target"},
			Switch("upgrade", "off", "on: connections switch to the protocol echo, then carry messages of --body bytes"),
		}, loadParams...),
		New: func(env Env) (Task, error) {
			c := loadConfig(env.Params)
			c.Address, c.Path, c.Upgrade = env.Params.String("address"), env.Params.String("path"), env.Params.Bool("upgrade")
			return &httpLoad{Config: c}, nil
		},
	})
}

// loadParams are the parameters that httpload and http share.
var loadParams = []Param{
	Int("rate", "2_000", "requests due each second (of a burst); 0: as fast as the server answers", 0, 10_000_000),
	Int("connections", "64", "keep-alive connections, each with one request in flight", 1, 100_000),
	Int("pipeline", "1", "requests that a connection sends at once, due together", 1, 1000),
	Int("halfopen", "0", "extra connections that start a request and send no more", 0, 100_000),
	Bytes("body", "0", "bytes of a POST's body; 0: GET", 0, 1<<30),
	Int("headers", "8", "header fields of a request besides Host", 0, 100),
	Duration("busy", "20ms", "length of a burst; only with --idle", time.Microsecond, MaxDuration),
	Duration("idle", "0s", "time without requests after each burst; 0: none", 0, MaxDuration),
	Duration("duration", "5s", "length of the schedule; requests due later are not sent", time.Millisecond, MaxDuration),
}

func loadConfig(p Params) load.Config {
	return load.Config{
		Headers: p.Int("headers"), BodyBytes: p.Bytes("body"), Connections: p.Int("connections"),
		Pipeline: p.Int("pipeline"), HalfOpen: p.Int("halfopen"),
		Rate: float64(p.Int("rate")), Busy: p.Duration("busy"), Idle: p.Duration("idle"), Duration: p.Duration("duration"),
	}
}

// httpLoad is a load generator. See package load.
type httpLoad struct {
	load.Config
	result load.Result
}

func (t *httpLoad) Drive(ctx context.Context) (Driving, error) {
	r, err := load.Run(ctx, t.Config)
	t.result = r
	if err == nil && r.Failed > 0 {
		err = fmt.Errorf("%d of %d requests failed, the first by: %w", r.Failed, r.Due, r.FirstErr)
	}
	return driving(r), err
}

func driving(r load.Result) Driving {
	return Driving{Due: r.Due, Done: r.Done, Elapsed: r.Elapsed, Response: r.Response, Service: r.Service}
}

func (t *httpLoad) Report(rec *cell.Record) {
	if done, due := rec.Metrics[cell.Done], rec.Metrics[cell.Scheduled]; done+float64(t.result.Failed) < due {
		rec.Warn("backlog", "%.0f of %.0f requests were not sent in time: this configuration cannot keep up with the rate",
			due-done, due)
	}
	if t.HalfOpen > 0 {
		rec.Set(halfOpenMetric, float64(t.result.HalfOpen))
		rec.Set(reopenedMetric, float64(t.result.Reopened))
	}
}

// Half-open connections: how many there were at the end, and how often the
// server closed one.
const (
	halfOpenMetric = "/httpload/halfopen:connections"
	reopenedMetric = "/httpload/reopened:connections"
)

func (t *httpLoad) Close() error { return nil }
