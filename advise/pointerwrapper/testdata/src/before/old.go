//go:build go1.23

package before

type OldID struct{ v int64 }

func NewOldID(v int64) *OldID { return &OldID{v: v} }

func handleOld(id *OldID) int64 { return id.v }

func oldLoop(ids []int64) (n int64) {
	for _, x := range ids {
		n += handleOld(NewOldID(x)) // want `each OldID is an allocation`
	}
	return n
}
