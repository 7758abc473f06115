package before

import "sort"

type matches []uint64

func (m matches) Len() int           { return len(m) }
func (m matches) Less(i, j int) bool { return m[i] < m[j] }
func (m matches) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }

func Quorum(m matches) uint64 {
	sort.Sort(m) // want `slices.SortFunc, from Go 1.21, takes the slice itself`
	return m[len(m)/2]
}

func Pointer(m *matches) { sort.Sort(m) }

func Sorted(m []uint64) {
	sort.Slice(m, func(i, j int) bool { return m[i] < m[j] }) // want `swaps by reflection`
}

func Held(id [32]byte) any {
	var key any = id // want `id is boxed to be held as any`
	return key
}
