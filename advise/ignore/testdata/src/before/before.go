package before

func f() int {
	return 1 /* want `nothing is ignored without a reason` */ //isobar:ignore
}

func g() int {
	return 1 /* want `nothing is ignored` */ //isobar:ignore sprintf
}
