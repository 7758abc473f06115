package main

import "github.com/isobar-go/isobar/http11"

// modes are the levels of the factor; the first is what ratios are to.
var modes = func() (names []string) {
	for _, mode := range http11.MemoryModes() {
		names = append(names, mode.String())
	}
	return names
}()

const (
	cpu    = "/op/cpu:ns"
	tail   = "/latency/response/p99.9:ns"
	memory = "/memory/rss/peak:bytes"
)

// A row is one shape of a service.
type row struct {
	name, title, about string
	workload, factor   string
	flags              string
	// metrics are those that count, the most important first.
	metrics []string
}

func server(name, title, about, flags string, metrics ...string) row {
	return row{name: name, title: title, about: about, workload: "http", factor: "server", flags: flags + " --duration 1200ms", metrics: metrics}
}

var rows = []row{
	server("rest", "REST API", "POST of 512 bytes with 8 headers, 8 KiB of garbage a request from decoding and encoding, beside a live heap of 64 MiB: a collection every second or so",
		"--body 512 --reply 1KiB --alloc 8KiB --from heap --live 64MiB --rate 6000", cpu, tail),
	server("gateway", "gateway with many headers", "GET with 32 headers, 4 KiB of request memory, 5 ms for another service to answer",
		"--headers 32 --alloc 4KiB --wait 5ms --connections 256 --rate 6000", cpu, tail),
	server("files", "file server", "Files of 64 KiB, which the kernel copies",
		"--answer file --reply 64KiB --rate 4000", cpu, memory),
	server("uploads", "uploads", "Bodies of 256 KiB, read as a whole",
		"--body 256KiB --connections 16 --rate 400", cpu, memory),
	server("websocket", "WebSocket", "500 connections that were handed over, messages of 128 bytes",
		"--answer upgrade --body 128 --connections 500 --rate 8000", cpu, memory),
	server("batch", "batch, pipelined", "16 requests at a time on each connection",
		"--pipeline 16 --alloc 1KiB --rate 32000", cpu, tail),
	server("memory", "memory-constrained", "2,000 connections, requests of 2 KiB that take 16 KiB of request memory for 100 ms, some 500 of them at a time",
		"--body 2KiB --alloc 16KiB --wait 100ms --connections 2000 --rate 5000", memory, cpu),
}

// plain and work say what part of a request its memory is.
var (
	plain = server("plain", "plaintext", "GET with 8 headers, 128 bytes in answer, as fast as they are answered", "--alloc 0 --rate 0", cpu)
	work  = row{name: "work", title: "memory of a request alone", workload: "httpmem", factor: "mode", flags: "--shape typical --duration 400ms", metrics: []string{"/op/time:ns"}}
)
