package before

func dummy() {} // want `a function named dummy`
