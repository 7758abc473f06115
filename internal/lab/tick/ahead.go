package tick

const (
	aheadBatches = 4
	aheadTicks   = 1024 // a batch
)

// An Ahead reads ticks from a Reader in its own goroutine. Batches of ticks
// circulate between that goroutine and the consumer, 4,096 ticks at most.
// Reading costs the consumer a copy per tick and one channel operation per
// 1,024 ticks.
type Ahead struct {
	reader  *Reader       // owned by the goroutine until done is closed
	free    chan *batch   // from the consumer, to fill
	full    chan *batch   // to the consumer; never blocks, as it has room for all batches
	done    chan struct{} // closed when the goroutine has ended
	current *batch        // owned by the consumer
	next    int           // index in current of the next tick to consume
	skipped int64
}

// A batch is owned by whoever received it from a channel.
type batch struct {
	ticks   []Tick
	skipped int64 // skipped by the Reader up to the end of this batch
	err     error // what ended reading, after the last tick
}

// NewAhead starts to read from r. It owns r from then on.
func NewAhead(r *Reader) *Ahead {
	a := &Ahead{
		reader:  r,
		free:    make(chan *batch, aheadBatches),
		full:    make(chan *batch, aheadBatches),
		done:    make(chan struct{}),
		current: new(batch),
	}
	for range aheadBatches {
		a.free <- &batch{ticks: make([]Tick, 0, aheadTicks)}
	}
	go a.read()
	return a
}

func (a *Ahead) read() {
	defer close(a.done)
	for b := range a.free {
		b.ticks = b.ticks[:0]
		for len(b.ticks) < cap(b.ticks) && b.err == nil {
			n := len(b.ticks)
			b.ticks = b.ticks[:n+1]
			if b.err = a.reader.Read(&b.ticks[n]); b.err != nil {
				b.ticks = b.ticks[:n]
			}
		}
		b.skipped = a.reader.Skipped()
		a.full <- b
	}
}

// Next stores the next tick in t. Its errors are those of Reader.Read.
func (a *Ahead) Next(t *Tick) error {
	for a.next == len(a.current.ticks) {
		if a.current.err != nil {
			return a.current.err
		}
		if cap(a.current.ticks) > 0 {
			a.free <- a.current
		}
		a.current, a.next = <-a.full, 0
		a.skipped = a.current.skipped
	}
	*t = a.current.ticks[a.next]
	a.next++
	return nil
}

// Skipped is the number of malformed lines that the Reader skipped up to the
// end of the batch being consumed.
func (a *Ahead) Skipped() int64 { return a.skipped }

// Close ends the goroutine and closes the Reader. Do not call Next afterwards.
func (a *Ahead) Close() error {
	close(a.free)
	err := a.reader.Close()
	<-a.done
	return err
}
