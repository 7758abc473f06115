#!/usr/bin/env bash
# Runs every fuzz target, also of the examples' module, for FUZZTIME (default 1s)
# each, with the checks of isobar_debug compiled in.
#
#   scripts/fuzz.sh [DIR ...]    only the targets in these directories
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
time=${FUZZTIME:-1s}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() { # DIR TARGET
	"$go" test -C "$1" -tags isobar_debug . -run '^$' -fuzz "^$2\$" -fuzztime "$time" -fuzzminimizetime 10x -timeout 0 2>&1 |
		tee "$work/log"
}

# late tells whether the run of a target failed only because its time was up. Go
# before 1.27 sometimes reports that as a failure (go.dev/issue/75804). Any line
# beyond those below comes from a failure of the target or of the build.
late() { # TARGET
	local up='^ +context deadline exceeded$'
	local usual='^(fuzz: elapsed: .*|warning: starting with empty corpus|exit status 1|FAIL([[:space:]].*)?)$'
	grep -qE "$up" "$work/log" &&
		! grep -qvE -e "$up" -e "$usual" -e "^--- FAIL: $1 \([0-9.]+s\)\$" "$work/log"
}

skip=(--include='*_test.go' --exclude-dir=bench --exclude-dir=node_modules)
grep -rnE '^func Fuzz[A-Za-z0-9_]*\(' "${skip[@]}" "${@:-.}" |
	sed -E 's#^(\./)?([^:]*)/[^:/]*:[0-9]+:func (Fuzz[A-Za-z0-9_]*).*#./\2 \3#' >"$work/targets"
while read -r dir target; do
	echo "fuzz $dir $target $time"
	if ! run "$dir" "$target" </dev/null; then
		late "$target" || exit 1
		echo "fuzz $dir $target $time: once more, the time was up too early"
		run "$dir" "$target" </dev/null
	fi
done <"$work/targets"
