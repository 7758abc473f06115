package whennot

import (
	"fmt"
	"net/netip"
	"net/url"
	"reflect"
	"strconv"
)

type Tenant struct {
	ID   uint64
	Name string
}

type anonymous struct{ name string }

// of another module: who knows where a number could be put.
type foreign = url.URL

type Key struct {
	Tenant *Tenant
	ID     int64
}

type identity struct{ p *anonymous }

func local(keys []Key) int {
	seen := map[Key]bool{}
	for _, k := range keys {
		seen[k] = true
	}
	return len(seen)
}

var (
	byText map[string]int
	byID   map[identity]int
	direct map[*foreign]int
	byType map[reflect.Type]int
	byAddr map[netip.AddrPort]int
)

// Texts that are there anyway, and those that only failures and start-up make.
type registry struct {
	byName map[string]int
	ports  map[string]int
}

func (r *registry) get(name []byte, t *Tenant) int {
	return r.byName[t.Name] + r.byName[string(name)] + r.ports["port:"+t.Name]
}

func (r *registry) fail(n int, err error) error {
	if err != nil {
		return fmt.Errorf("%d: %w", r.ports[strconv.Itoa(n)], err)
	}
	return nil
}

func init() {
	texts[strconv.Itoa(len(texts))] = 1
}

var texts = map[string]int{}

// The type parameter decides.
type set[K comparable] struct{ of map[K]struct{} }

type ordered[K comparable] struct{ of map[pair[K]]struct{} }

type pair[K comparable] struct{ a, b K }

// Not kept.
func unique(list []*anonymous) int {
	seen := make(map[*anonymous]bool)
	for _, a := range list {
		seen[a] = true
	}
	return len(seen)
}

// Lines are text, and the map does not live long.
func lines(list [][]byte) int {
	seen := map[string]bool{}
	for _, l := range list {
		seen[string(l)] = true
	}
	return len(seen)
}

type hop struct {
	to  netip.Addr
	via uint32
}

var hops map[hop]int
