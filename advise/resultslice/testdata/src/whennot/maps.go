package whennot

type registry struct{ ports map[string]int }

func (r *registry) all() map[string]int {
	m := make(map[string]int, len(r.ports))
	for name, port := range r.ports {
		m[name] = port
	}
	return m
}

// The copy is changed, kept, and returned.
func (r *registry) with(name string, port int) map[string]int {
	ports := r.all()
	ports[name] = port
	return ports
}

func (r *registry) take(from *registry) { r.ports = from.all() }

// Another map is made of it.
func (r *registry) turned() map[int]string {
	m := map[int]string{}
	for name, port := range r.ports {
		m[port] = name
	}
	return m
}

func (r *registry) names() (n int) {
	for _, name := range r.turned() {
		n += len(name)
	}
	return n
}
