package hint

import (
	"fmt"
	"image/color"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

type node struct{ name string }

type shape interface{ area() int }

type set[K comparable] struct{ of map[K]struct{} }

type inner struct{ name string }

type graph struct {
	depth   map[*node]int           // want `keys are pointers, which the collector follows; number each node`
	parents map[*node]*node         // want `keys are pointers, which the collector follows, beside the values; number each node`
	shapes  map[shape]int           // want `keys are interfaces`
	boxed   map[any]int             // want `keys are interfaces`
	waiting map[chan int]struct{}   // want `keys are channels`
	marked  set[*node]              // want `number each node`
	days    map[time.Time]int       // want `keys hold the address of a time zone`
	both    map[[2]string]int       // want `keys hold several texts or pointers`
	edges   map[[2]*node]int        // want `keys hold several texts or pointers`
	nested  map[nested]int          // want `keys hold of, which every look-up hashes`
	owned   map[owned]*node         // want `keys hold owner, which every look-up hashes and the collector scans, beside the values`
	lists   map[int]map[*node][]int // want `number each node`
}

type nested struct {
	of  inner
	day int
}

type owned struct {
	owner *node
	day   int
}

type peers struct {
	byIP     map[string]*node // want `keys are texts that are made for each look-up`
	byPort   map[string]int   // want `keys are texts that are made for each look-up`
	byPair   map[string]int   // want `keys are texts that are made for each look-up`
	byDigest map[string]bool  // want `keys are texts that are made for each look-up`
	byTag    tagged
}

type tagged map[string]int // want `keys are texts that are made for each look-up`

func (p *peers) find(ip net.IP, port int, digest [32]byte, a, b string) int {
	if p.byIP[ip.String()] == nil || !p.byDigest[string(digest[:])] {
		return 0
	}
	key := a + "/" + b
	n := p.byPort[strconv.Itoa(port)] + p.byPair[key]
	return n + p.byTag[tag(port, a)]
}

func tag(port int, name string) string {
	if port == 0 {
		return name
	}
	var b strings.Builder
	fmt.Fprint(&b, port, name)
	return b.String()
}

func pairs(list [][2]int) int {
	seen := map[string]bool{}
	for _, l := range list {
		seen[fmt.Sprintf("%d-%d", l[0], l[1])] = true // want `keys are texts that are made for each look-up`
	}
	return len(seen)
}

type anyCache struct{ of map[any]int } // want `keys are interfaces`

func (c *anyCache) Get(key any) int { return c.of[key] }

func cached(c *anyCache, n int) int {
	return c.Get(fmt.Sprint("n", n)) // want `keys are texts that are made for each look-up`
}

type hash [32]byte

func (h hash) Text() string { return string(h[:]) }

// Kept by bytes, by what callers make, by way of a variable and of a function.
type store struct {
	blobs map[string]int    // want `keys are texts that are made for each look-up`
	trees map[string]int    // want `keys are texts that are made for each look-up`
	sums  map[string]int    // want `keys are texts that are made for each look-up`
	pairs map[string]int    // want `keys are texts that are made for each look-up`
	lists []map[string]bool // want `keys are texts that are made for each look-up`
	names map[string]int
	color map[color.Color]int // want `keys are interfaces`
	flows map[flow]int        // want `keys hold several addresses of netip`
}

type flow struct {
	from, to netip.AddrPort
	proto    uint8
}

func (s *store) put(blob []byte, n int, h hash) {
	s.blobs[string(blob)] = n
	s.all()[h.Text()] = n
	sums := s.sums
	sums[joinedKey(n, blob)] = n
	key := func(n int) string { return fmt.Sprint(n) }
	s.pair(key(n))
	for i := range s.lists {
		s.lists[i][strconv.Itoa(n)] = true
	}
	s.names[h.name()]++
}

func (h hash) name() string { return "name" }

func (s *store) pair(key string) { s.pairs[key]++ }

func (s *store) all() map[string]int { return s.trees }

func joinedKey(n int, blob []byte) string {
	var b []byte
	b = strconv.AppendInt(b, int64(n), 10)
	b = append(b, blob...)
	return string(b)
}

func serve(in chan *node) {
	seen := make(map[*node]int) // want `keys are pointers`
	for n := range in {
		seen[n]++
	}
}
