// Package events has functions that run once for each event, of modules that no
// check has heard of, and some that look alike.
package events

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/pprof/profile"
	"github.com/nats-io/nats.go"
)

type state struct {
	names []string
	out   strings.Builder
	calls map[string]int
}

func subscribe(nc *nats.Conn, s *state, names []string) error {
	for i := range names {
		s.out.WriteString(fmt.Sprintf("%s-%d", names[i], i)) // start-up: no finding
	}
	if _, err := nc.Subscribe("a", s.handle); err != nil {
		return err
	}
	_, err := nc.Subscribe("b", func(m *nats.Msg) {
		for i := range m.Data {
			s.out.WriteString(fmt.Sprintf("%s-%d", m.Subject, i)) // hot
		}
	})
	return err
}

func (s *state) handle(m *nats.Msg) {
	s.out.WriteString(fmt.Sprintf("%s-%d", m.Subject, len(m.Data))) // once for an event
	for i := range m.Data {
		s.out.WriteString(fmt.Sprintf("%s-%d", m.Subject, i)) // hot
	}
	for i := range s.names { // which the program was set up with
		s.out.WriteString(fmt.Sprintf("%s-%d", m.Subject, i))
	}
	for i := range m.Data { // beside a file for each
		data, err := os.ReadFile(fmt.Sprintf("%s-%d", m.Subject, i))
		s.calls[m.Subject] += len(data)
		_ = err
	}
}

// Find has the shape of a remote procedure.
func (s *state) Find(ctx context.Context, p *profile.Profile) (*profile.Sample, error) {
	for i := range p.Sample {
		s.out.WriteString(fmt.Sprintf("%s-%d", p.DropFrames, i)) // hot
	}
	return nil, ctx.Err()
}

func consume(in chan []string, s *state) {
	for list := range in {
		for i := range list {
			s.out.WriteString(fmt.Sprintf("%s-%d", list[i], i)) // hot
		}
	}
}

func tick(s *state, list []string) {
	t := time.NewTicker(time.Second)
	for {
		select {
		case <-t.C:
			for i := range list {
				s.out.WriteString(fmt.Sprintf("%s-%d", list[i], i))
			}
		}
	}
}
