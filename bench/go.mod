module github.com/isobar-go/isobar/bench

go 1.26.0

replace github.com/isobar-go/isobar => ../

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0
	github.com/isobar-go/isobar v0.0.0
)

require (
	github.com/bytedance/gopkg v0.1.4 // indirect
	github.com/prometheus/prometheus v0.315.0 // indirect
	github.com/valyala/bytebufferpool v1.0.0 // indirect
)
