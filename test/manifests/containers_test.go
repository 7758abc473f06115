package manifests

import (
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/hashicorp/nomad/jobspec2"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

func TestDockerfile(t *testing.T) {
	forAnswers(t, "Dockerfile", func(t *testing.T, a answer, text string) {
		result, err := parser.Parse(strings.NewReader("FROM scratch\nENV GOGC=7\n" + text + "ENTRYPOINT [\"/shop\"]\n"))
		if err != nil {
			t.Fatal(err)
		}
		if len(result.Warnings) > 0 {
			t.Errorf("warnings %+v", result.Warnings)
		}
		stages, _, err := instructions.Parse(result.AST, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, command := range stages[0].Commands {
			if env, ok := command.(*instructions.EnvCommand); ok {
				for _, v := range env.Env {
					got[v.Key] = v.Value
				}
			}
		}
		checkEnv(t, got, a.env)
	})
}

func TestCompose(t *testing.T) {
	forAnswers(t, "Compose", func(t *testing.T, a answer, text string) {
		base := "services:\n  " + a.container + ":\n    image: shop:1\n    environment: [GOGC=7, PORT=8080]\n"
		project, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
			WorkingDir: t.TempDir(),
			ConfigFiles: []types.ConfigFile{
				{Filename: "a.yaml", Content: []byte(base)}, {Filename: "b.yaml", Content: []byte(text)},
			},
		}, func(o *loader.Options) { o.SetProjectName("shop", true) })
		if err != nil {
			t.Fatal(err)
		}
		service, err := project.GetService(a.container)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for name, value := range service.Environment {
			got[name] = *value
		}
		checkEnv(t, got, a.env)
		if got["PORT"] != "8080" {
			t.Errorf("the override lost PORT: %v", got)
		}
		var limits, reservations types.Resource
		if service.Deploy != nil {
			if r := service.Deploy.Resources.Limits; r != nil {
				limits = *r
			}
			if r := service.Deploy.Resources.Reservations; r != nil {
				reservations = *r
			}
		}
		checkInt(t, "the limit", int64(limits.MemoryBytes), a.limitMiB*mib)
		checkInt(t, "the reservation", int64(reservations.MemoryBytes), a.requestMiB*mib)
		checkInt(t, "1000 CPUs", int64(1000*limits.NanoCPUs), a.milliCPU) // a number of CPUs, despite its name
	})
}

func TestNomad(t *testing.T) {
	forAnswers(t, "Nomad", func(t *testing.T, a answer, text string) {
		job, err := jobspec2.ParseWithConfig(&jobspec2.ParseConfig{
			Path:   "shop.nomad.hcl",
			Body:   []byte("job \"shop\" {\n group \"shop\" {\n task \"shop\" {\n driver = \"docker\"\n" + text + "}\n}\n}\n"),
			Strict: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		task := job.TaskGroups[0].Tasks[0]
		checkEnv(t, task.Env, a.env)
		var memory, cores int
		if r := task.Resources; r != nil {
			if r.MemoryMB != nil {
				memory = *r.MemoryMB
			}
			if r.Cores != nil {
				cores = *r.Cores
			}
		}
		checkInt(t, "memory", int64(memory), a.limitMiB)
		checkInt(t, "cores", int64(cores), int64(a.wholeCPUs))
	})
}
