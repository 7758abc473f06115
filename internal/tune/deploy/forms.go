package deploy

import (
	"embed"
	"math"
	"strconv"
	"text/template"
)

//go:embed forms
var embedded embed.FS

var templates = template.Must(template.ParseFS(embedded, "forms/*.tmpl"))

// forms are the files to write; each has a template named after it.
var forms = []struct{ form, name string }{
	{"shell", "run.sh"}, {"systemd", "systemd.conf"}, {"Dockerfile", "Dockerfile"}, {"Compose", "compose.yaml"},
	{"Kubernetes", "kubernetes.yaml"}, {"Helm", "helm-values.yaml"}, {"Nomad", "nomad.hcl"},
}

// A page is the data of the templates.
type page struct {
	Setting
	Vars           []pair
	Request, Limit int64 // memory of the container in MiB; 0 to leave it out
}

// CPUText formats the number of CPUs with as many decimals as it needs.
func (p page) CPUText() string { return strconv.FormatFloat(p.CPUs, 'f', -1, 64) }

// WholeCPUs reports whether CPUs is a whole number above 0.
func (p page) WholeCPUs() bool { return p.CPUs > 0 && p.CPUs == math.Trunc(p.CPUs) }

// MilliCPU returns thousandths of a CPU, rounded up.
func (p page) MilliCPU() int { return int(math.Ceil(1000 * p.CPUs)) }

// CPUPercent returns percent of a CPU, at least 1.
func (p page) CPUPercent() int { return int(math.RoundToEven(max(1, 100*p.CPUs))) }
