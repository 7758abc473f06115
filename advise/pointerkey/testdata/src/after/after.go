package after

type Key struct {
	TenantID uint64
	ID       int64
}

var seen = map[Key]struct{}{}

func dedup(tenantID uint64, id int64) bool {
	k := Key{TenantID: tenantID, ID: id}
	if _, ok := seen[k]; ok {
		return false
	}
	seen[k] = struct{}{}
	return true
}
