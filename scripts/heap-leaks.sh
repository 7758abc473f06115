#!/bin/sh
# Plants ten leaks in five real programs under load, reads each with isobar heap,
# and writes which holders were among the first three lines to
# docs/results/heap-leaks.md.
#
#   scripts/heap-leaks.sh [DIR]
#
# Downloads and builds internal/heap/testdata/leaks in DIR (default: a temporary
# directory), once with symbols and once with -s -w. Ten minutes on two CPUs.
set -eu
repo=$(cd "$(dirname "$0")/.." && pwd)
dir=${1:-$(mktemp -d)}
mkdir -p "$dir/src"
dir=$(cd "$dir" && pwd)
if [ ! -e "$dir/ready" ]; then
	cp -r "$repo"/internal/heap/testdata/leaks/* "$dir/src"
	cd "$dir/src"
	[ -e go.mod ] || go mod init leaks
	while read -r _ module version _; do
		go get "$module@$version"
	done <programs.txt
	go mod tidy
	while read -r program _; do
		go build -o "$dir/$program" "./$program"
		go build -ldflags "-s -w" -o "$dir/$program-stripped" "./$program"
	done <programs.txt
	touch "$dir/ready"
fi
rm -rf "$dir/results"
mkdir "$dir/results"
cd "$repo"
ISOBAR_LEAKS=$dir go test -count=1 -timeout 60m -run '^TestLeaksOfRealPrograms$' -v ./internal/heap
