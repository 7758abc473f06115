package workload

import (
	"runtime"
	"sync"

	"github.com/isobar-go/isobar/internal/base/procpin"
)

// A columnPool hands out empty buffers and is safe for concurrent use.
type columnPool interface {
	get() *columns
	put(*columns)
}

func newColumnPool(kind string, rows, capacity int) columnPool {
	switch kind {
	case "none":
		return noPool{rows}
	case "mutex":
		return newMutexPool(rows, capacity)
	case "sharded":
		return newShardedPool(rows, capacity)
	case "syncpool":
		p := new(syncColumnPool)
		p.pool.New = func() any { return newColumns(rows) }
		return p
	}
	panic("workload: buffers: no pool " + kind)
}

type noPool struct{ rows int }

func (p noPool) get() *columns { return newColumns(p.rows) }
func (p noPool) put(*columns)  {}

type syncColumnPool struct{ pool sync.Pool }

func (p *syncColumnPool) get() *columns { return p.pool.Get().(*columns) }

func (p *syncColumnPool) put(c *columns) {
	c.reset()
	p.pool.Put(c)
}

// A mutexPool is the document's pool: a stack under one lock, filled in
// advance. When empty it makes buffers; when full it drops them.
type mutexPool struct {
	rows int
	list columnList
}

func newMutexPool(rows, capacity int) *mutexPool {
	p := &mutexPool{rows: rows}
	p.list.fill(rows, capacity)
	return p
}

func (p *mutexPool) get() *columns {
	if c := p.list.pop(); c != nil {
		return c
	}
	return newColumns(p.rows)
}

func (p *mutexPool) put(c *columns) {
	c.reset()
	p.list.push(c)
}

// A columnList is a bounded stack of empty buffers.
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

// pop returns nil if the list is empty.
func (l *columnList) pop() *columns {
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
// it makes or drops a buffer: buffers follow goroutines that move. (The
// document always picks the last shard.) The lists share the capacity equally,
// rounded up.
type shardedPool struct {
	rows   int
	shards []columnShard
}

type columnShard struct {
	columnList
	_ [96]byte // keeps shards off each other's cache lines
}

func newShardedPool(rows, capacity int) *shardedPool {
	p := &shardedPool{rows: rows, shards: make([]columnShard, runtime.GOMAXPROCS(0))}
	for i := range p.shards {
		p.shards[i].fill(rows, (capacity+len(p.shards)-1)/len(p.shards))
	}
	return p
}

// home is the shard where a goroutine starts. The goroutine may have moved by
// then; that only costs some contention.
func (p *shardedPool) home() int {
	id := procpin.Pin()
	procpin.Unpin()
	return id % len(p.shards)
}

func (p *shardedPool) get() *columns {
	home := p.home()
	for i := range p.shards {
		if c := p.shards[(home+i)%len(p.shards)].pop(); c != nil {
			return c
		}
	}
	return newColumns(p.rows)
}

func (p *shardedPool) put(c *columns) {
	c.reset()
	home := p.home()
	for i := range p.shards {
		if p.shards[(home+i)%len(p.shards)].push(c) {
			return
		}
	}
}
