package manifests

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/engine"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"
)

// deployment has what patches get wrong: a value from the downward API, other
// variables, resources of other kinds, and a container that is not ours.
const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers:
        - name: sidecar
          image: proxy:1
          env: [{name: GOGC, value: "70"}]
        - name: NAME
          image: shop:1
          env:
            - {name: PORT, value: "8080"}
            - {name: GOGC, value: "off"}
            - {name: GOMEMLIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory}}}
          resources:
            limits: {memory: 4Gi, ephemeral-storage: 1Gi}
            requests: {memory: 4Gi}
`

func TestKubernetesPatch(t *testing.T) {
	forAnswers(t, "Kubernetes", func(t *testing.T, a answer, text string) {
		patched, err := patch(strings.Replace(deployment, "NAME", a.container, 1), text)
		if err != nil {
			t.Fatal(err)
		}
		containers := patched.Spec.Template.Spec.Containers
		if len(containers) != 2 {
			t.Fatalf("%d containers after the patch, want 2", len(containers))
		}
		for _, c := range containers {
			if c.Name == "sidecar" {
				if len(c.Env) != 1 || c.Env[0].Value != "70" || len(c.Resources.Limits) > 0 {
					t.Errorf("the sidecar is now %+v", c)
				}
				continue
			}
			if c.Image != "shop:1" {
				t.Errorf("the image is now %q", c.Image)
			}
			want := map[string]string{"PORT": "8080"}
			for name, value := range a.env {
				want[name] = value
			}
			if _, set := a.env["GOMEMLIMIT"]; !set { // the patch leaves alone what it does not name
				c.Env = without(c.Env, "GOMEMLIMIT")
			}
			checkEnv(t, variables(t, c.Env), want)
			checkResources(t, a, c.Resources)
			if _, ok := c.Resources.Limits["ephemeral-storage"]; !ok {
				t.Error("the patch lost a limit that it does not name")
			}
		}
	})
}

// TestFaultyPatchesFail shows that the check above sees what it should.
func TestFaultyPatchesFail(t *testing.T) {
	for what, text := range map[string]string{
		"the entries of the former snippet": `spec: {template: {spec: {containers: [{name: NAME,
			env: [{name: GOGC, value: "off"}] [{name: GOMEMLIMIT, value: 1MiB}]}]}}}`,
		"an unknown field":  `spec: {template: {spec: {containers: [{name: NAME, environment: []}]}}}`,
		"off as a boolean":  `spec: {template: {spec: {containers: [{name: NAME, env: [{name: GOGC, value: off}]}]}}}`,
		"a number":          `spec: {template: {spec: {containers: [{name: NAME, env: [{name: GOGC, value: 400}]}]}}}`,
		"an unknown suffix": `spec: {template: {spec: {containers: [{name: NAME, resources: {limits: {memory: 64MiB}}}]}}}`,
	} {
		if _, err := patch(deployment, text); err == nil {
			t.Errorf("a patch with %s passes", what)
		}
	}
}

// patch applies a strategic-merge patch as the API server does, and refuses
// unknown fields on the way.
func patch(original, text string) (*apps.Deployment, error) {
	change, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return nil, err
	}
	// yaml.Unmarshal would make strings of numbers; the API server does not.
	strict := json.NewDecoder(bytes.NewReader(change))
	strict.DisallowUnknownFields()
	if err := strict.Decode(new(apps.Deployment)); err != nil {
		return nil, err
	}
	before, err := yaml.YAMLToJSON([]byte(original))
	if err != nil {
		return nil, err
	}
	after, err := strategicpatch.StrategicMergePatch(before, change, apps.Deployment{})
	if err != nil {
		return nil, err
	}
	patched := new(apps.Deployment)
	return patched, yaml.UnmarshalStrict(after, patched)
}

func without(env []core.EnvVar, name string) []core.EnvVar {
	var out []core.EnvVar
	for _, v := range env {
		if v.Name != name {
			out = append(out, v)
		}
	}
	return out
}

// variables are those with a value; one that has a source as well is refused by
// the API server.
func variables(t *testing.T, env []core.EnvVar) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, v := range env {
		if v.ValueFrom != nil {
			t.Errorf("%s has a source, and the value %q: the API server refuses that", v.Name, v.Value)
		}
		if _, twice := out[v.Name]; twice {
			t.Errorf("%s is there twice", v.Name)
		}
		out[v.Name] = v.Value
	}
	return out
}

func checkResources(t *testing.T, a answer, r core.ResourceRequirements) {
	t.Helper()
	if a.limitMiB > 0 {
		checkInt(t, "limits.memory", r.Limits.Memory().Value(), a.limitMiB*mib)
		checkInt(t, "requests.memory", r.Requests.Memory().Value(), a.requestMiB*mib)
	}
	checkInt(t, "limits.cpu", r.Limits.Cpu().MilliValue(), a.milliCPU)
	checkInt(t, "requests.cpu", r.Requests.Cpu().MilliValue(), a.milliCPU)
}

// template is how charts use values: those that helm create writes, and env.
const template = `apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers:
        - name: shop
          image: shop:1
          {{- with .Values.env }}
          env:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- with .Values.resources }}
          resources:
            {{- toYaml . | nindent 12 }}
          {{- end }}
`

func TestHelmValues(t *testing.T) {
	forAnswers(t, "Helm", func(t *testing.T, a answer, text string) {
		values, err := common.ReadValues([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		shop := &chart.Chart{
			Metadata:  &chart.Metadata{APIVersion: "v2", Name: "shop", Version: "1.0.0"},
			Values:    map[string]any{"env": []any{}, "resources": map[string]any{}},
			Templates: []*common.File{{Name: "templates/deployment.yaml", Data: []byte(template)}},
		}
		given, err := util.ToRenderValues(shop, values, common.ReleaseOptions{Name: "shop"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		rendered, err := engine.Render(shop, given)
		if err != nil {
			t.Fatal(err)
		}
		var d apps.Deployment
		if err := yaml.UnmarshalStrict([]byte(rendered["shop/templates/deployment.yaml"]), &d); err != nil {
			t.Fatalf("%v in\n%s", err, rendered)
		}
		c := d.Spec.Template.Spec.Containers[0]
		checkEnv(t, variables(t, c.Env), a.env)
		checkResources(t, a, c.Resources)
		if data, err := json.Marshal(values); err != nil || strings.Contains(string(data), "null") {
			t.Errorf("values %s (%v): charts render a null as it is", data, err)
		}
	})
}
