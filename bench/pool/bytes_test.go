package pool_test

import (
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/bytedance/gopkg/lang/mcache"
	"github.com/prometheus/prometheus/util/zeropool"
	"github.com/valyala/bytebufferpool"

	"github.com/isobar-go/isobar/pool"
)

// touch is the work done with each buffer.
func touch(buf []byte) {
	buf[0]++
	buf[len(buf)-1]++
}

func BenchmarkBytes(b *testing.B) {
	for _, size := range []int{64, 1000, 4096, 65536} {
		b.Run("size="+strconv.Itoa(size), func(b *testing.B) {
			rounds(b, "isobar", func(b *testing.B, burst int) { bytesIsobar(b, size, burst) })
			rounds(b, "syncpool", func(b *testing.B, burst int) { bytesSyncPool(b, size, burst) })
			rounds(b, "zeropool", func(b *testing.B, burst int) { bytesZeroPool(b, size, burst) })
			rounds(b, "bytebufferpool", func(b *testing.B, burst int) { bytesByteBufferPool(b, size, burst) })
			rounds(b, "mcache", func(b *testing.B, burst int) { bytesMcache(b, size, burst) })
		})
	}
}

func bytesIsobar(b *testing.B, size, burst int) {
	p := pool.NewBytes()
	b.RunParallel(func(pb *testing.PB) {
		var held [maxBurst][]byte
		for pb.Next() {
			for i := range held[:burst] {
				buf := p.Get(size)
				touch(buf)
				held[i] = buf
			}
			for _, buf := range held[:burst] {
				p.Put(buf)
			}
		}
		runtime.KeepAlive(&held)
	})
}

// bytesSyncPool pools pointers to slices of one known size: less than the
// others do, and the least that sync.Pool can do without boxing a slice.
func bytesSyncPool(b *testing.B, size, burst int) {
	p := &sync.Pool{New: func() any { buf := make([]byte, size); return &buf }}
	b.RunParallel(func(pb *testing.PB) {
		var held [maxBurst]*[]byte
		for pb.Next() {
			for i := range held[:burst] {
				buf := p.Get().(*[]byte)
				touch(*buf)
				held[i] = buf
			}
			for _, buf := range held[:burst] {
				p.Put(buf)
			}
		}
		runtime.KeepAlive(&held)
	})
}

func bytesZeroPool(b *testing.B, size, burst int) {
	p := zeropool.New(func() []byte { return make([]byte, size) })
	b.RunParallel(func(pb *testing.PB) {
		var held [maxBurst][]byte
		for pb.Next() {
			for i := range held[:burst] {
				buf := p.Get()
				touch(buf)
				held[i] = buf
			}
			for _, buf := range held[:burst] {
				p.Put(buf)
			}
		}
		runtime.KeepAlive(&held)
	})
}

func bytesByteBufferPool(b *testing.B, size, burst int) {
	p := new(bytebufferpool.Pool)
	b.RunParallel(func(pb *testing.PB) {
		var held [maxBurst]*bytebufferpool.ByteBuffer
		for pb.Next() {
			for i := range held[:burst] {
				buf := p.Get()
				if cap(buf.B) < size {
					buf.B = make([]byte, size)
				}
				buf.B = buf.B[:size]
				touch(buf.B)
				held[i] = buf
			}
			for _, buf := range held[:burst] {
				p.Put(buf)
			}
		}
		runtime.KeepAlive(&held)
	})
}

func bytesMcache(b *testing.B, size, burst int) {
	b.RunParallel(func(pb *testing.PB) {
		var held [maxBurst][]byte
		for pb.Next() {
			for i := range held[:burst] {
				buf := mcache.Malloc(size)
				touch(buf)
				held[i] = buf
			}
			for _, buf := range held[:burst] {
				mcache.Free(buf)
			}
		}
		runtime.KeepAlive(&held)
	})
}
