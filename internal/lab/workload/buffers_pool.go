package workload

import (
	"runtime"
	"sync"

	"github.com/isobar-go/isobar/internal/base/procpin"
)

// A columnPool holds empty buffers and is safe for concurrent use.
type columnPool interface {
	get() *columns // nil if it has none
	put(*columns)  // which it drops if it is full
}

func newColumnPool(kind string, rows, capacity int) columnPool {
	switch kind {
	case "none":
		return noPool{}
	case "mutex":
		l := new(columnList)
		l.fill(rows, capacity)
		return l
	case "sharded":
		return newShardedPool(rows, capacity)
	}
	return new(syncColumnPool)
}

type noPool struct{}

func (noPool) get() *columns { return nil }
func (noPool) put(*columns)  {}

type syncColumnPool struct{ pool sync.Pool }

func (p *syncColumnPool) get() *columns {
	c, _ := p.pool.Get().(*columns)
	return c
}

func (p *syncColumnPool) put(c *columns) { p.pool.Put(c) }

// A columnList is the document's pool: a bounded stack under one lock, filled
// in advance.
type columnList struct {
	mu   sync.Mutex
	free []*columns // guarded by mu; its capacity is the bound
}

func (l *columnList) fill(rows, capacity int) {
	l.free = make([]*columns, capacity)
	for i := range l.free {
		l.free[i] = newColumns(rows)
	}
}

func (l *columnList) get() *columns {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.free)
	if n == 0 {
		return nil
	}
	c := l.free[n-1]
	l.free[n-1] = nil
	l.free = l.free[:n-1]
	return c
}

func (l *columnList) put(c *columns) { l.push(c) }

// push reports whether there was room.
func (l *columnList) push(c *columns) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.free) == cap(l.free) {
		return false
	}
	l.free = append(l.free, c)
	return true
}

// A shardedPool has one list per P. A goroutine uses the list of its own P, so
// that concurrent goroutines do not meet at a lock, and tries the others before
// it gives up: buffers follow goroutines that move. (The document always picks
// the last shard.) The lists share the capacity equally, rounded up.
type shardedPool []columnShard

type columnShard struct {
	columnList
	_ [96]byte // keeps shards off each other's cache lines
}

func newShardedPool(rows, capacity int) shardedPool {
	p := make(shardedPool, runtime.GOMAXPROCS(0))
	for i := range p {
		p[i].fill(rows, (capacity+len(p)-1)/len(p))
	}
	return p
}

// home is the shard where a goroutine starts. The goroutine may have moved by
// then; that only costs some contention.
func (p shardedPool) home() int {
	id := procpin.Pin()
	procpin.Unpin()
	return id % len(p)
}

func (p shardedPool) get() *columns {
	home := p.home()
	for i := range p {
		if c := p[(home+i)%len(p)].get(); c != nil {
			return c
		}
	}
	return nil
}

func (p shardedPool) put(c *columns) {
	home := p.home()
	for i := range p {
		if p[(home+i)%len(p)].push(c) {
			return
		}
	}
}
