package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/isobar-go/isobar/internal/live"
	"github.com/isobar-go/isobar/internal/session"
)

// watchOptions are the flags of 'isobar watch'.
type watchOptions struct {
	live.Config
	json    bool
	skip    bool
	count   int
	web     bool
	address string
}

func (a *app) watchCommand() *cobra.Command {
	var o watchOptions
	cmd := &cobra.Command{
		Use:   "watch URL|PID|FILE|-",
		Short: "Show live what the collector does in a running process",
		Long:  help("watch"),
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return usage(err)
			}
			return a.watch(cmd.Context(), args[0], &o)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&o.Interval, "interval", time.Second, "time between samples; package monitor has its own")
	f.DurationVar(&o.Wait, "wait", 10*time.Second,
		"give up if the first sample takes longer; 0 waits forever")
	f.BoolVar(&o.Once, "once", false, "print the current state and end; a file is read to its end")
	f.IntVar(&o.count, "count", 0, "end after this many samples; 0 for no end")
	f.BoolVar(&o.json, "json", false, "print one JSON object per sample")
	f.BoolVar(&o.skip, "skip", false, "drop the stream's other lines")
	f.BoolVar(&o.web, "web", false, "serve the live page of the process instead, on a loopback address")
	f.StringVar(&o.address, "address", "127.0.0.1:0", "with --web: listen on `ADDRESS`")
	return cmd
}

func (o *watchOptions) check() error {
	switch {
	case o.Interval < 100*time.Millisecond:
		return fmt.Errorf("--interval %v: want at least 100ms", o.Interval)
	case o.Wait < 0:
		return fmt.Errorf("--wait %v: want 0 or more", o.Wait)
	case o.count < 0:
		return fmt.Errorf("--count %d: want 0 or more", o.count)
	case o.Once && o.count > 1:
		return errors.New("--once prints one sample: leave out --count")
	case o.web && (o.Once || o.json || o.count > 0):
		return errors.New("--web serves a page until interrupted: leave out --once, --count and --json")
	}
	if o.Once {
		o.count = 1
	}
	return nil
}

// watch shows a process's samples until it has shown enough, or the process or the user ends it.
func (a *app) watch(ctx context.Context, target string, o *watchOptions) error {
	show := a.watchDisplay(o)
	o.Stdin = a.In
	if !o.skip {
		o.Own = show
	}
	feed, err := live.Open(target, o.Config)
	if err != nil {
		return err
	}
	defer feed.Close()
	if o.web {
		return a.watchWeb(ctx, feed, o)
	}
	var h live.History
	n := 0
	var unwritten error
	err = live.Each(ctx, feed, o.Config, show.status, func(s live.Sample) (more bool) {
		h.Add(s)
		if s.Past || o.Once && !h.Ready() {
			return true
		}
		if n == 0 {
			show.notes(feed.Notes())
		}
		n++
		unwritten = show.sample(&h, feed.Source())
		return unwritten == nil && (o.count == 0 || n < o.count)
	})
	if err == nil && o.Once && n == 0 && h.Last().Values != nil { // a single sample, so no rate
		show.notes(feed.Notes())
		unwritten = show.sample(&h, feed.Source())
		n++
	}
	err = cmp.Or(err, unwritten)
	if err == nil && n < o.count {
		err = fmt.Errorf("watch: %s ended after %d of %d samples", target, n, o.count)
	}
	return err
}

// watchDisplay chooses how to show the samples: redrawn on a terminal, one after another elsewhere.
func (a *app) watchDisplay(o *watchOptions) *display {
	d := &display{out: a.Out, err: a.Err, json: o.json}
	if !o.json && o.count == 0 && !o.web {
		d.width = session.TerminalWidth(a.Out)
	}
	return d
}

// A display shows samples and passes on the watched program's output, which arrives on another goroutine.
type display struct {
	out, err io.Writer
	json     bool
	width    int // of the terminal to redraw; 0 if there is none

	mu    sync.Mutex
	drawn []string // on the terminal, guarded by mu
}

// sample shows the newest sample.
func (d *display) sample(h *live.History, source string) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.json:
		err = json.NewEncoder(d.out).Encode(h.Document(source))
	case d.width > 0:
		d.width = cmp.Or(session.TerminalWidth(d.out), d.width)
		d.erase()
		d.drawn = h.Screen(source, d.width-1)
		err = d.draw()
	default:
		_, err = fmt.Fprintln(d.out, h.Line())
	}
	return err
}

// erase removes the drawing, so that other output can appear above.
func (d *display) erase() {
	if d.width > 0 && len(d.drawn) > 0 {
		fmt.Fprintf(d.out, "\r\x1b[%dA\x1b[J", len(d.drawn))
	}
}

func (d *display) draw() (err error) {
	if d.width > 0 && len(d.drawn) > 0 {
		_, err = fmt.Fprint(d.out, strings.Join(d.drawn, "\n"), "\n")
	}
	return err
}

// Write passes on the watched program's output.
func (d *display) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.erase()
	n, err := d.err.Write(b)
	if d.width > 0 && !bytes.HasSuffix(b, []byte("\n")) {
		fmt.Fprintln(d.err)
	}
	d.draw()
	return n, err
}

// status reports on the watch itself.
func (d *display) status(text string) { fmt.Fprintf(d, "isobar: %s\n", text) }

func (d *display) notes(notes []string) {
	for _, n := range notes {
		d.status(n)
	}
}
