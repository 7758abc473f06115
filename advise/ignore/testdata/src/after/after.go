package after

func f() int {
	//isobar:ignore sprintf called once a day
	return 1
}
