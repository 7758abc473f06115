package after

func clever() {}
