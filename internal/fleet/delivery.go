package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// A queue is a sweep's work, as workers see it.
type queue struct {
	Sweep      string        `json:"sweep"`
	Requires   Requirement   `json:"requires"`
	AckWait    time.Duration `json:"ack_wait"`
	MaxDeliver int           `json:"max_deliver"`
}

// A delivery is a block given to this worker.
type delivery struct {
	*nats.Msg
	fleet  *Fleet
	queue  queue
	number int // deliveries of this block so far, including this one
}

// An inbox is where the server delivers blocks to a worker: one subscription for all its
// requests, which the worker sends itself. The client library's fetch subscribes and
// unsubscribes for each message and requests the consumer's configuration; with a thousand
// workers that would dominate the server's time. An inbox belongs to the worker's goroutine.
type inbox struct {
	fleet   *Fleet
	prefix  string
	arrived chan *nats.Msg
	close   func() error
	last    int // number of the last request
}

func newInbox(f *Fleet) (*inbox, error) {
	// One request is out at a time, and few answers arrive late. The client library's
	// default buffer takes half a megabyte, which adds up with many workers in a process.
	in := &inbox{fleet: f, prefix: nats.NewInbox() + ".", arrived: make(chan *nats.Msg, 64)}
	subscription, err := f.nc.ChanSubscribe(in.prefix+"*", in.arrived)
	if err != nil {
		return nil, err
	}
	in.close = subscription.Unsubscribe
	return in, nil
}

// maxWaiting bounds the requests waiting at a queue. The server checks each whenever the queue changes.
const maxWaiting = 64

// errCrowded reports that enough workers already wait at the queue.
var errCrowded = errors.New("pull: enough workers wait already")

// A goneError reports that the queue of a sweep does not exist, at least for now.
type goneError struct{ sweep string }

func (e *goneError) Error() string { return "pull: the queue of sweep " + e.sweep + " is gone" }

// grace is how late an answer may be after its request has expired.
const grace = time.Second

// pull asks a queue for its next block and waits up to the given time. It
// returns nil if there is none, errCrowded if it cannot wait, and a goneError
// if the queue does not exist. A block that arrives too late for one request
// answers the next.
func (in *inbox) pull(ctx context.Context, queues []queue, q queue, wait time.Duration) (*delivery, error) {
	request := struct {
		Batch   int           `json:"batch"`
		Expires time.Duration `json:"expires,omitempty"`
		NoWait  bool          `json:"no_wait,omitempty"`
	}{Batch: 1, Expires: wait, NoWait: wait == 0}
	doc, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	in.last++
	reply := in.prefix + strconv.Itoa(in.last)
	if err := in.fleet.nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+workStream+"."+q.Sweep, reply, doc); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, wait+grace)
	defer cancel()
	for {
		var m *nats.Msg
		select {
		case m = <-in.arrived:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-in.fleet.lost.Done():
			return nil, nats.ErrConnectionClosed
		}
		status := m.Header.Get("Status")
		switch {
		case status == "":
			return in.open(m, queues)
		case m.Subject != reply: // of an earlier request
		case status == "404", status == "408": // no block, now or until the request expired
			return nil, nil
		case status == "409" && strings.Contains(m.Header.Get("Description"), "MaxWaiting"):
			return nil, errCrowded
		case status == "503", status == "409" && strings.Contains(m.Header.Get("Description"), "Consumer Deleted"):
			return nil, &goneError{q.Sweep}
		default:
			return nil, fmt.Errorf("pull: %s %s", status, m.Header.Get("Description"))
		}
	}
}

// open turns a message into a delivery. Its queue is one of those given.
func (in *inbox) open(m *nats.Msg, queues []queue) (*delivery, error) {
	meta, err := m.Metadata()
	if err != nil {
		return nil, fmt.Errorf("pull: %w", err)
	}
	d := &delivery{Msg: m, fleet: in.fleet, number: int(meta.NumDelivered)}
	sweep, _, _ := subjectBlock(m.Subject)
	i := slices.IndexFunc(queues, func(q queue) bool { return q.Sweep == sweep })
	if i < 0 {
		return nil, errors.Join(fmt.Errorf("pull: a block of sweep %s, which this worker did not request", sweep),
			d.giveBack(0))
	}
	d.queue = queues[i]
	return d, nil
}

// ack acknowledges the block and waits until the server has recorded it.
func (d *delivery) ack(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return d.AckSync(nats.Context(ctx))
}

// beat tells the server that the block is running, unless it has ended meanwhile.
func (d *delivery) beat() error {
	if err := d.InProgress(); !errors.Is(err, nats.ErrMsgAlreadyAckd) {
		return err
	}
	return nil
}

// giveBack returns the block, so that a worker gets it again after a while.
func (d *delivery) giveBack(after time.Duration) error {
	return errors.Join(d.NakWithDelay(after), d.fleet.nc.FlushTimeout(2*time.Second))
}
