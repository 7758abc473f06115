package before

import "maps"

func merged(all ...map[string]int) map[string]int {
	m := make(map[string]int) // want `m grows by all maps that are copied to it`
	for _, one := range all {
		maps.Copy(m, one)
	}
	return m
}
