package slab

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

// A record proves that it was written as a whole: every word derives from id and version. Its size is not a multiple
// of 8.
type record struct {
	id, version uint32
	check       [5]uint32
	tail        uint8
}

func newRecord(id, version uint32) record {
	r := record{id: id, version: version, tail: uint8(id + version)}
	for i := range r.check {
		r.check[i] = id*31 + version*7 + uint32(i)
	}
	return r
}

// TestReadersSeeWholeAndCurrentObjects runs readers against writers that insert, update and remove. An object that a
// reader gets is whole, belongs to its handle, is no older than the reader's last one, and is gone once Remove has
// returned.
func TestReadersSeeWholeAndCurrentObjects(t *testing.T) {
	c, err := NewConcurrent[record](Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	const places = 16
	type published struct {
		h       Handle[record]
		id      uint32
		removed atomic.Bool
	}
	var board [places]atomic.Pointer[published]
	var nextID atomic.Uint32
	renew := func(i int) {
		id := nextID.Add(1)
		board[i].Store(&published{h: c.Insert(newRecord(id, 0)), id: id})
	}
	for i := range places {
		renew(i)
	}
	rounds := 3000
	if testing.Short() {
		rounds = 300
	}
	var stop atomic.Bool
	var readers, writers sync.WaitGroup
	for r := range 2 {
		readers.Go(func() {
			rng := rand.New(rand.NewPCG(9, uint64(r)))
			seen := map[Handle[record]]uint32{}
			for !stop.Load() {
				p := board[rng.IntN(places)].Load()
				gone := p.removed.Load()
				got, ok := c.Get(p.h)
				switch {
				case ok && gone:
					t.Errorf("object %d was found after its removal", p.id)
					return
				case !ok:
					delete(seen, p.h)
				case got.id != p.id || got != newRecord(got.id, got.version):
					t.Errorf("handle of object %d gave %+v", p.id, got)
					return
				case got.version < seen[p.h]:
					t.Errorf("version %d of object %d after version %d", got.version, p.id, seen[p.h])
					return
				default:
					seen[p.h] = got.version
				}
			}
		})
	}
	for w := range 2 {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(7, uint64(w)))
			for range rounds {
				i := rng.IntN(places/2) + w*places/2
				p := board[i].Load()
				for v := range uint32(rng.IntN(20)) {
					if !c.Update(p.h, newRecord(p.id, v+1)) {
						t.Errorf("Update did not find object %d", p.id)
						return
					}
				}
				if !c.Remove(p.h) || c.Remove(p.h) || c.Update(p.h, record{}) {
					t.Errorf("object %d was not found exactly once", p.id)
					return
				}
				p.removed.Store(true)
				renew(i)
				if rng.IntN(100) == 0 {
					for _, v := range c.All() {
						if v != newRecord(v.id, v.version) {
							t.Errorf("All visits %+v", v)
							return
						}
					}
				}
			}
		})
	}
	writers.Wait()
	stop.Store(true)
	readers.Wait()
	if st := c.Stats(); st.Live != places || c.Len() != places || st.Slots > places+2 {
		t.Errorf("stats %+v, want %d objects in as many slots", st, places)
	}
}

func TestUpdateCountWrapsAround(t *testing.T) {
	c, _ := NewConcurrent[record](Config{})
	defer c.Release()
	h := c.Insert(newRecord(1, 0))
	c.slab.at(0).meta |= freeBit - 2
	for v := range uint32(3) {
		if !c.Update(h, newRecord(1, v)) {
			t.Fatal("Update did not find the object")
		}
		if got, ok := c.Get(h); !ok || got != newRecord(1, v) {
			t.Fatalf("Get = %+v, %t after update %d", got, ok, v)
		}
	}
}

func TestGrowingAndClearingUnderReaders(t *testing.T) {
	c, err := NewConcurrent[record](Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	var latest atomic.Uint64
	var stop atomic.Bool
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for !stop.Load() {
				h := Handle[record](latest.Load())
				for _, h := range []Handle[record]{h, h / 2, h &^ 7} {
					if v, ok := c.Get(h); ok && v != newRecord(v.id, v.version) {
						t.Errorf("Get(%#x) = %+v", h, v)
						return
					}
				}
			}
		})
	}
	for range 5 {
		for i := range uint32(5 * chunkSlots) {
			latest.Store(uint64(c.Insert(newRecord(i, 1))))
		}
		before := Handle[record](latest.Load())
		c.Clear()
		if _, ok := c.Get(before); ok || c.Len() != 0 {
			t.Error("Clear left an object")
		}
	}
	stop.Store(true)
	readers.Wait()
}

// TestReaderDuringClearAndInsert reads a slot like a Get that was suspended after it found the slot in use, while the
// slab is cleared and the slot reused.
func TestReaderDuringClearAndInsert(t *testing.T) {
	type page [512]uint64
	c, err := NewConcurrent[page](Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	var v page
	var latest atomic.Uint64
	var stop atomic.Bool
	latest.Store(uint64(c.Insert(v)))
	sl := &(*c.chunks.Load())[0][0]
	var reader sync.WaitGroup
	reader.Go(func() {
		var got page
		for !stop.Load() {
			gen := Handle[page](latest.Load()).gen()
			if sl.read(gen, &got) && (got[0] != got[len(got)-1] || got[0] != uint64(gen)-1) {
				t.Errorf("read of generation %d gave a mixture of %d and %d", gen, got[0], got[len(got)-1])
				return
			}
		}
	})
	for i := range uint64(20000) {
		for j := range v {
			v[j] = i + 1
		}
		c.Clear()
		latest.Store(uint64(c.Insert(v)))
	}
	stop.Store(true)
	reader.Wait()
}

// TestMappedTable holds more chunks than a table in the Go heap lists, with readers that still use the earlier
// tables.
func TestMappedTable(t *testing.T) {
	c, err := NewConcurrent[uint32](Config{Purpose: "slab table test"})
	if err != nil {
		t.Fatal(err)
	}
	const n = 2*heapTable*chunkSlots + 5*chunkSlots
	handles := make([]Handle[uint32], n)
	var inserted atomic.Int64
	var readers sync.WaitGroup
	for r := range 2 {
		readers.Go(func() {
			rng := rand.New(rand.NewPCG(5, uint64(r)))
			for have := int64(0); have < n; have = inserted.Load() {
				if have == 0 {
					continue
				}
				i := rng.Int64N(have)
				if v, ok := c.Get(handles[i]); !ok || v != uint32(i) {
					t.Errorf("Get of object %d = %d, %t", i, v, ok)
					return
				}
			}
		})
	}
	for i := range handles {
		handles[i] = c.Insert(uint32(i))
		inserted.Store(int64(i + 1))
	}
	readers.Wait()
	if got, chunks := OffHeapBytes()["slab table test"], c.slab.source.Bytes(); got <= chunks {
		t.Errorf("%d bytes are mapped, want more than the %d of the chunks: the table is not mapped", got, chunks)
	}
	c.Release()
	if got := OffHeapBytes()["slab table test"]; got != 0 {
		t.Errorf("%d bytes are still mapped after Release", got)
	}
}
