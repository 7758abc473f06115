package whennot

import "maps"

func mergedOnce(a, b map[string]int, into map[string]int) map[string]int {
	m := make(map[string]int, len(a)+len(b))
	maps.Copy(m, a)
	maps.Copy(m, b)
	for range 20 {
		maps.Copy(into, m) // the caller's
	}
	return m
}
