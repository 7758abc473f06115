package whennot

import "strconv"

// decode gives what the text holds: only an interface can be all of it.
func decode(texts []string) (values []any) {
	for _, text := range texts {
		values = append(values, scalar(text))
	}
	return values
}

func scalar(text string) any {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return f
	}
	return text
}

// join puts lists of one key together.
func join(into map[string]any, keys []string, value any) {
	for _, key := range keys {
		if list, ok := into[key].([]any); ok {
			into[key] = append(list, value)
		}
	}
}

// machine holds values of any type.
type machine struct{ stack []any }

func (m *machine) push(v any) { m.stack = append(m.stack, v) }

func (m *machine) run(code []int) {
	for _, c := range code {
		m.push(c)
		m.push(float64(c))
	}
}
