#!/usr/bin/env bash
# Runs every fuzz target, also of the examples' module, for FUZZTIME (default 1s)
# each, with the checks of isobar_debug compiled in.
#
#   scripts/fuzz.sh [DIR ...]    only the targets in these directories
#
# Each package is built once for all its targets. Only this repository's packages are
# instrumented: go test -fuzz also compiles the standard library and all dependencies
# for it, and links each target by itself.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
time=${FUZZTIME:-1s}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build() { # DIR
	rm -f "$work/fuzz.test"
	"$go" test -C "$1" -c -vet=off -toolexec 'env GOGC=400' -o "$work/fuzz.test" -tags isobar_debug \
		-gcflags=github.com/isobar-go/isobar/...=-d=libfuzzer -ldflags=-w .
}

run() { # DIR TARGET
	(cd "$1" && "$work/fuzz.test" -test.run '^$' -test.fuzz "^$2\$" -test.fuzztime "$time" \
		-test.fuzzminimizetime 10x -test.fuzzcachedir "$cache/$1" -test.timeout 0) 2>&1 | tee "$work/log" &&
		! grep -q 'not built with coverage instrumentation' "$work/log"
}

# late tells whether the run of a target failed only because its time was up. Go
# before 1.27 sometimes reports that as a failure (go.dev/issue/75804). Any line
# beyond those below comes from a failure of the target.
late() { # TARGET
	local up='^ +context deadline exceeded$'
	local usual='^(fuzz: elapsed: .*|warning: starting with empty corpus|FAIL)$'
	grep -qE "$up" "$work/log" &&
		! grep -qvE -e "$up" -e "$usual" -e "^--- FAIL: $1 \([0-9.]+s\)\$" "$work/log"
}

skip=(--include='*_test.go' --exclude-dir=bench --exclude-dir=node_modules)
grep -rnE '^func Fuzz[A-Za-z0-9_]*\(' "${skip[@]}" "${@:-.}" |
	sed -E 's#^(\./)?([^:]*)/[^:/]*:[0-9]+:func (Fuzz[A-Za-z0-9_]*).*#\2 \3#' >"$work/targets"
cache=$("$go" env GOCACHE)/fuzz/github.com/isobar-go/isobar
built=
while read -r dir target; do
	if [ "$dir" != "$built" ]; then
		build "$dir"
		built=$dir
	fi
	echo "fuzz $dir $target $time"
	if ! run "$dir" "$target" </dev/null; then
		late "$target" || exit 1
		echo "fuzz $dir $target $time: once more, the time was up too early"
		run "$dir" "$target" </dev/null
	fi
done <"$work/targets"
