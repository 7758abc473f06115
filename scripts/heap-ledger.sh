#!/bin/sh
# Plants causes of resident memory, each five times with and without its remedy, and
# writes docs/results/heap-ledger.md.
#
#   scripts/heap-ledger.sh [DIR]
#
# Downloads and builds internal/heap/testdata/databases in DIR (default: a temporary
# directory); that needs a C compiler. Two minutes on two CPUs.
set -eu
repo=$(cd "$(dirname "$0")/.." && pwd)
dir=${1:-$(mktemp -d)}
mkdir -p "$dir/src"
dir=$(cd "$dir" && pwd)
if [ ! -e "$dir/databases" ]; then
	cp "$repo/internal/heap/testdata/databases/main.go" "$dir/src"
	cd "$dir/src"
	[ -e go.mod ] || go mod init databases
	go get github.com/mattn/go-sqlite3@v1.14.53 go.etcd.io/bbolt@v1.5.0
	go mod tidy
	CGO_ENABLED=1 go build -o "$dir/databases" .
fi
cd "$repo"
ISOBAR_LEDGER=$dir/databases go test -count=1 -timeout 10m -run '^TestLedger$' -v ./internal/heap
