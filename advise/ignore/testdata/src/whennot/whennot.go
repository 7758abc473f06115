package whennot

//isobar:ignored is another word.
func f() int { return 1 }
