package whennot

func clever() {}
