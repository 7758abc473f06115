package hint

import (
	"fmt"
	"net"
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
