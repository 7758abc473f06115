package before

type service interface{ run() error }

type done struct{ f func() error }

func (d *done) run() error { return d.f() }

func services(fs []func() error) (out []service) {
	for _, f := range fs {
		out = append(out, &done{f}) // want `each done is an allocation for one func`
	}
	return out
}
