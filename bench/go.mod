module github.com/isobar-go/isobar/bench

go 1.26.0

replace github.com/isobar-go/isobar => ../

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0
	github.com/isobar-go/isobar v0.0.0
)
