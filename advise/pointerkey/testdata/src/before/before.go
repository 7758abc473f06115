package before

type Tenant struct {
	ID   uint64
	Name string
}

// The document's code.
type Key struct {
	Tenant *Tenant
	ID     int64
}

var seen = map[Key]struct{}{} // want `put Tenant.ID in its place`

func dedup(t *Tenant, id int64) bool {
	k := Key{Tenant: t, ID: id}
	if _, ok := seen[k]; ok {
		return false
	}
	seen[k] = struct{}{}
	return true
}

type index struct {
	byKey map[Key]int // want `the collector scans every key`
}
