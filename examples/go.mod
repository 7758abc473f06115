module github.com/isobar-go/isobar/examples

go 1.26.0

replace github.com/isobar-go/isobar => ../

require (
	github.com/coder/websocket v1.8.15
	github.com/isobar-go/isobar v0.0.0
	github.com/klauspost/compress v1.20.3
)

require golang.org/x/sys v0.49.0 // indirect
