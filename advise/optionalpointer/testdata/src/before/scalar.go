package before

import "time"

type options struct {
	limit *int
	name  *string
	until *time.Time
	first *[4]byte
}

func pointer[T any](v T) *T { return &v }

func parse(n int, name string) *options {
	now := time.Now()
	o := &options{ // want `a options is allocated to be returned by its address`
		limit: pointer(n), // want `limit is an allocation of its own`
		name:  &name,      // want `name is an allocation of its own`
	}
	o.until = &now         // want `until is an allocation of its own`
	o.first = new([4]byte) // want `first is an allocation of its own`
	return o
}
