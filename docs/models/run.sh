#!/usr/bin/env bash
# Checks every model here with spin, exhaustively, and then every fault that the
# model knows: each of those must be found. Installs spin where apt-get can.
#
#   docs/models/run.sh [model...]
#
# A model lists its faults in its first comment, as "NAME  what is wrong".
set -euo pipefail
cd "$(dirname "$0")"

if ! command -v spin >/dev/null || ! command -v cc >/dev/null; then
	command -v apt-get >/dev/null || { echo "models: spin and a C compiler are needed: install them" >&2; exit 1; }
	export DEBIAN_FRONTEND=noninteractive
	apt-get install -y -qq spin gcc libc6-dev >/dev/null 2>&1 ||
		{ apt-get update -qq && apt-get install -y -qq spin gcc libc6-dev >/dev/null; }
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# verify -O2|-O0 MODEL [-D...]: prints the verifier's output; fails if it cannot be built. A fault is
# found after few states, sooner than a compiler has optimized the search.
verify() {
	local optimize=$1 model=$2
	shift 2
	rm -rf "$work/pan" && mkdir "$work/pan"
	cp "$model" "$work/pan/model.pml"
	(
		cd "$work/pan"
		spin "$@" -a model.pml >spin.out || { cat spin.out; exit 1; }
		cc "$optimize" -w -DSAFETY -DCOLLAPSE -DMEMLIM=2048 -o pan pan.c
		./pan -m1000000
	)
}

test $# -gt 0 || set -- *.pml
for model in "$@"; do
	out=$(verify -O2 "$model") || { echo "$model: cannot be checked"; echo "$out"; status=1; continue; }
	if grep -q 'errors: 0$' <<<"$out" && ! grep -qE 'max search depth too small|out of memory|Search not completed' <<<"$out"; then
		echo "ok    $model  ($(awk '/states, stored/ {printf "%d", $1}' <<<"$out") states)"
	else
		echo "FAIL  $model"
		grep -E '^pan|errors:|unreached|error' <<<"$out" || true
		status=1
	fi
	faults=$(sed -n '/^ \* Faults/,/\*\//p' "$model" | sed -nE 's/^ \*   ([A-Z]+)  .*/\1/p')
	test -n "$faults" || { echo "FAIL  $model lists no fault that the check would find"; status=1; }
	for fault in $faults; do
		out=$(verify -O0 "$model" "-D$fault") || { echo "$model -D$fault: cannot be checked"; echo "$out"; status=1; continue; }
		if grep -qE 'errors: [1-9]' <<<"$out"; then
			echo "ok    $model  fault $fault is found: $(sed -nE 's/^pan:[0-9]+: (.*) \(at depth.*/\1/p' <<<"$out" | head -1)"
		else
			echo "FAIL  $model  fault $fault is not found"
			status=1
		fi
	done
done
exit $status
