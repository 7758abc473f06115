package http11

var engines = []Engine{Goroutines, Readiness}
