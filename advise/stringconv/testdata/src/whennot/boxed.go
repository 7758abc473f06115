package whennot

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
