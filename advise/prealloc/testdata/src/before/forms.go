package before

import "sort"

type group struct {
	key   string
	users []user
}

func sorted(groups map[string]group) []string {
	keys := []string{} // want `grows to the length of groups`
	for k := range groups {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// What the loop goes over is computed for it.
func inOrder(groups map[string]group) []group {
	var out []group // want `grows to the length of sorted\(groups\); hold that in a variable`
	for _, k := range sorted(groups) {
		out = append(out, groups[k])
	}
	return out
}

// Each round appends many.
func everyone(groups []group) []user {
	var all []user // want `grows by all slices that groups gives; sum their lengths`
	for _, g := range groups {
		all = append(all, g.users...)
	}
	return all
}
