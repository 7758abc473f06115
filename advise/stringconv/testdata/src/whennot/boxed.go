package whennot

import "reflect"

// scalars are told apart by their types.
func scalars(list [][]byte) (values []any) {
	for _, b := range list {
		values = append(values, scalar(b))
	}
	return values
}

func scalar(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return string(b)
}

// fill stores texts in what holds them.
func fill(values []reflect.Value, b []byte) {
	for _, v := range values {
		v.SetString(string(b))
	}
}
