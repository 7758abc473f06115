#!/bin/sh
# Reads programs of 100,000 to 20 million objects with isobar heap, goref and
# viewcore, and writes docs/results/heap-peers.md.
#
#   scripts/heap-peers.sh DIR
#
# DIR has the others' programs, built from github.com/cloudwego/goref (cmd/grf) and
# golang.org/x/debug (cmd/viewcore); gcore has to be installed. ISOBAR_PEERS_OURS=1
# measures isobar alone, on a machine that does nothing else. What DIR/results has
# is not measured again.
set -eu
repo=$(cd "$(dirname "$0")/.." && pwd)
dir=$(cd "$1" && pwd)
mkdir -p "$dir/results"
cd "$repo"
go build -o "$dir/isobar" ./cmd/isobar
go build -o "$dir/objects" ./internal/heap/testdata/objects
go test -c -o "$dir/heap.test" ./internal/heap
cd internal/heap
ISOBAR_PEERS=$dir "$dir/heap.test" -test.timeout 60m -test.run '^TestPeers$' -test.v
