package advice

import "testing"

func TestNames(t *testing.T) {
	for function, want := range map[string][3]string{
		"example.org/m.F":                              {"example.org/m", "m.F", "F"},
		"example.org/m.F[...]":                         {"example.org/m", "m.F", "F"},
		"example.org/m.F[go.shape.int]":                {"example.org/m", "m.F", "F"},
		"example.org/m.F[go.shape.[]uint8,x/y.T[int]]": {"example.org/m", "m.F", "F"},
		"example.org/m.(*T[go.shape.int]).M":           {"example.org/m", "m.T.M", "M"},
		"example.org/m.(*T[...]).M":                    {"example.org/m", "m.T.M", "M"},
		"example.org/m.F[go.shape.int].func1":          {"example.org/m", "m.F.func1", "func1"},
		"example.org/m/v2.T.M":                         {"example.org/m/v2", "m.T.M", "M"},
		"gopkg.in/m%2ev3.F":                            {"gopkg.in/m.v3", "m%2ev3.F", "F"},
		"F":                                            {"F", "F", "F"},
	} {
		if got := [3]string{packageOf(function), shortName(function), lastName(function)}; got != want {
			t.Errorf("%s: package, short and last name %q, want %q", function, got, want)
		}
	}
}
