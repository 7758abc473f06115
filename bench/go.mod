module github.com/isobar-go/isobar/bench

go 1.26.0

replace github.com/isobar-go/isobar => ../

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0
	github.com/isobar-go/isobar v0.0.0
)

require (
	github.com/bytedance/gopkg v0.1.4
	github.com/mlange-42/ark v0.6.0
	github.com/ortuman/nuke v1.3.0
	github.com/prometheus/prometheus v0.315.0
	github.com/puzpuzpuz/xsync/v4 v4.5.0
	github.com/valyala/bytebufferpool v1.0.0
	golang.org/x/perf v0.0.0-20260908200009-22c9c6c9d4da
)

require (
	github.com/aclements/go-moremath v0.0.0-20210112150236-f10218a38794 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
