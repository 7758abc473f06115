package before

import "fmt"

// One loop, round a list that may be short, and a text that somebody keeps.
func names(ids []int) (all []string) {
	for _, id := range ids {
		all = append(all, fmt.Sprintf("id-%d", id)) // want `fmt.Sprintf of a fixed shape`
	}
	return all
}
