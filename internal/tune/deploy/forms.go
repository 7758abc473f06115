package deploy

import (
	"fmt"
	"math"
	"strings"
)

// A page is a file that is being written, line by line.
type page struct{ strings.Builder }

// line writes a line at a depth of two spaces each.
func (p *page) line(depth int, format string, args ...any) {
	p.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(p, format, args...)
	p.WriteByte('\n')
}

// why writes the reason for the memory as a comment, if there is one.
func (p *page) why(depth int, s Setting) {
	if text := s.Headroom(); text != "" {
		p.line(depth, "# %s", text)
	}
}

func shell(s Setting) string {
	var p page
	p.line(0, "#!/bin/sh")
	p.line(0, "# %s: sh run.sh COMMAND [ARG ...]", s.Name)
	p.why(0, s)
	p.line(0, "export %s", s.Env())
	p.line(0, `exec "$@"`)
	return p.String()
}

func systemd(s Setting) string {
	var p page
	p.line(0, "# /etc/systemd/system/%s.service.d/gc.conf, then: systemctl daemon-reload; systemctl restart %s", s.Name,
		s.Name)
	p.line(0, "[Service]")
	p.line(0, "Environment=%s", s.Env())
	if _, limit := s.Pod(); limit > 0 {
		p.why(0, s)
		p.line(0, "MemoryMax=%dM", limit/mib)
	}
	if s.CPUs > 0 {
		p.line(0, "CPUQuota=%.0f%%", math.Max(1, 100*s.CPUs))
	}
	return p.String()
}

func dockerfile(s Setting) string {
	var p page
	p.line(0, "# %s: after the last FROM", s.Name)
	if _, limit := s.Pod(); limit > 0 {
		p.why(0, s)
		flags := fmt.Sprintf("--memory %dm", limit/mib)
		if s.CPUs > 0 {
			flags += " --cpus " + cpus(s.CPUs)
		}
		p.line(0, "# docker run %s", flags)
	}
	p.line(0, "ENV %s", s.Env())
	return p.String()
}

func compose(s Setting) string {
	var p page
	p.line(0, "# docker compose -f compose.yaml -f THIS-FILE up -d")
	p.line(0, "services:")
	p.line(1, "%q:", s.Name)
	p.line(2, "environment:")
	for _, v := range s.env() {
		p.line(3, "%s: %q", v.name, v.value)
	}
	request, limit := s.Pod()
	if limit == 0 && s.CPUs == 0 {
		return p.String()
	}
	p.line(2, "deploy:")
	p.line(3, "resources:")
	p.line(4, "limits:")
	if limit > 0 {
		p.why(5, s)
		p.line(5, "memory: %dM", limit/mib)
	}
	if s.CPUs > 0 {
		p.line(5, "cpus: %q", cpus(s.CPUs))
	}
	if request > 0 {
		p.line(4, "reservations:")
		p.line(5, "memory: %dM", request/mib)
	}
	return p.String()
}

func kubernetes(s Setting) string {
	var p page
	p.line(0, "# kubectl patch deployment NAME --patch-file kubernetes.yaml")
	p.line(0, "spec:")
	p.line(1, "template:")
	p.line(2, "spec:")
	p.line(3, "containers:")
	p.line(4, "- name: %q # of your container", s.Name)
	p.container(5, s, true)
	return p.String()
}

func helm(s Setting) string {
	var p page
	p.line(0, "# helm upgrade RELEASE CHART --reuse-values --values helm-values.yaml")
	p.line(0, "# env replaces a list that your values already have: add its other entries. Some charts call it extraEnv.")
	p.container(0, s, false)
	return p.String()
}

// container writes env and resources of a Kubernetes container. A patch also
// removes where a value came from, such as the downward API: an entry with both
// is refused.
func (p *page) container(depth int, s Setting, patch bool) {
	p.line(depth, "env:")
	for _, v := range s.env() {
		p.line(depth+1, "- name: %s", v.name)
		p.line(depth+1, "  value: %q", v.value)
		if patch {
			p.line(depth+1, "  valueFrom: null")
		}
	}
	request, limit := s.Pod()
	if limit == 0 && s.CPUs == 0 {
		return
	}
	p.line(depth, "resources:")
	p.why(depth+1, s)
	list := func(name string, bytes int64) {
		p.line(depth+1, "%s:", name)
		if bytes > 0 {
			p.line(depth+2, "memory: %dMi", bytes/mib)
		}
		if s.CPUs > 0 {
			p.line(depth+2, "cpu: %.0fm", math.Ceil(1000*s.CPUs))
		}
	}
	list("limits", limit)
	list("requests", request)
}

func nomad(s Setting) string {
	var p page
	p.line(0, "# Merge into the task %q of your job; the driver and its config stay yours.", s.Name)
	p.line(0, "env {")
	for _, v := range s.env() {
		p.line(1, "%s = %q", v.name, v.value)
	}
	p.line(0, "}")
	_, limit := s.Pod()
	if limit == 0 && s.CPUs == 0 {
		return p.String()
	}
	p.line(0, "resources {")
	if limit > 0 {
		p.why(1, s)
		p.line(1, "memory = %d # MiB", limit/mib)
	}
	switch whole := math.Trunc(s.CPUs); {
	case s.CPUs > 0 && whole == s.CPUs:
		p.line(1, "cores = %.0f", whole)
	case s.CPUs > 0:
		p.line(1, "# cpu = MHz of %s CPUs of your nodes", cpus(s.CPUs))
	}
	p.line(0, "}")
	return p.String()
}
