#!/usr/bin/env bash
# Runs every fuzz target of the module for FUZZTIME (default 5s) each, with the
# checks of isobar_debug compiled in.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
time=${FUZZTIME:-5s}
count=0
while IFS=: read -r file _ line; do
	target=$(sed -E 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/' <<<"$line")
	echo "fuzz ./$(dirname "$file") $target $time"
	"$go" test -tags isobar_debug "./$(dirname "$file")" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x
	count=$((count + 1))
done < <(grep -rnE '^func Fuzz[A-Za-z0-9_]*\(' --include='*_test.go' --exclude-dir=bench --exclude-dir=node_modules . | sed 's|^\./||')
test "$count" -gt 0 || { echo "no fuzz target found"; exit 1; }
