#!/usr/bin/env bash
# Runs every fuzz target of the module for FUZZTIME (default 5s) each, with the
# checks of isobar_debug compiled in.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
time=${FUZZTIME:-5s}
count=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
while IFS=: read -r file _ line; do
	target=$(sed -E 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/' <<<"$line")
	echo "fuzz ./$(dirname "$file") $target $time"
	if ! "$go" test -tags isobar_debug "./$(dirname "$file")" -run '^$' -fuzz "^$target\$" -timeout 0 -fuzztime "$time" -fuzzminimizetime 10x 2>&1 | tee "$log"; then
		# The end of the time may itself be reported as a failure (go.dev/issue/75804,
		# until Go 1.27). A failure of the target names its input or what it said.
		test "$(grep -A1 -- '^--- FAIL' "$log" | tail -n 1 | tr -d ' ')" = contextdeadlineexceeded
		if grep -q 'Failing input written' "$log"; then exit 1; fi
	fi
	count=$((count + 1))
done < <(grep -rnE '^func Fuzz[A-Za-z0-9_]*\(' --include='*_test.go' --exclude-dir=bench --exclude-dir=node_modules . | sed 's|^\./||')
test "$count" -gt 0 || { echo "no fuzz target found"; exit 1; }
