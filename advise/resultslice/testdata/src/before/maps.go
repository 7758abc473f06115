package before

import "sync"

type registry struct {
	mu    sync.Mutex
	ports map[string]int
}

func (r *registry) all() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := make(map[string]int, len(r.ports))
	for name, port := range r.ports {
		m[name] = port
	}
	return m
}

func (r *registry) highest() (most int) {
	for _, port := range r.all() { // want `all copies a map that is only read here`
		most = max(most, port)
	}
	return most
}

func (r *registry) known(names []string) (n int) {
	ports := r.all() // want `all copies a map that is only read here`
	for _, name := range names {
		if _, ok := ports[name]; ok {
			n++
		}
	}
	return n
}
