#!/usr/bin/env bash
# Tests the HTML report, the pages of isobar ui and the live page in Chromium. Installs what it lacks,
# then prints "N passed, N failed" on a line by itself for each.
#
#   CHROMIUM=/path/to/chromium  use this browser
#   SCREENSHOTS=DIR             keep pictures of all in DIR
set -euo pipefail
cd "$(dirname "$0")"

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

if [ -z "${CHROMIUM:-}" ]; then
	for candidate in chromium chromium-browser google-chrome; do
		if CHROMIUM=$(command -v "$candidate"); then break; fi
	done
fi
if [ -z "${CHROMIUM:-}" ] && command -v apt-get >/dev/null; then
	echo "installing chromium" >&2
	export DEBIAN_FRONTEND=noninteractive
	as_root apt-get install -y -qq chromium >/dev/null || { as_root apt-get update -qq && as_root apt-get install -y -qq chromium >/dev/null; }
	CHROMIUM=$(command -v chromium)
fi
if [ -z "${CHROMIUM:-}" ]; then
	echo "browser tests: no Chromium found: install it or set CHROMIUM" >&2
	exit 1
fi
if ! command -v npm >/dev/null; then
	if ! command -v apt-get >/dev/null; then
		echo "browser tests: no npm found: install Node.js 20 or later" >&2
		exit 1
	fi
	as_root apt-get install -y -qq nodejs npm >/dev/null
fi
# npm writes this file last: it is older than the lock file when packages are
# missing or outdated.
if [ ! node_modules/.package-lock.json -nt package-lock.json ]; then
	npm ci --silent --no-progress
	touch node_modules/.package-lock.json
fi

pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
(cd ../.. && "${GO:-go}" build -o "$pages/" ./cmd/isobar && "${GO:-go}" test -c -vet=off -ldflags=-w -o "$pages/sample" ./internal/show)
for kind in study hostile empty failed tune; do
	"$pages/sample" -kind "$kind" "$pages/$kind.html"
done
(cd ../.. && ISOBAR_ADVICE_PAGE=$pages/advice.html "${GO:-go}" test -vet=off -ldflags=-w -count=1 -run 'TestPage$' ./internal/advice >/dev/null)
(cd ../.. && ISOBAR_HEAP_PAGE=$pages/heap.html "${GO:-go}" test -vet=off -ldflags=-w -count=1 -run 'TestPage$' ./internal/heap >/dev/null)
(cd ../.. && ISOBAR_CLAIMS_PAGE=$pages/claims.html "${GO:-go}" test -vet=off -ldflags=-w -count=1 -run 'TestLedgerPages$' ./internal/show >/dev/null)
CHROMIUM=$CHROMIUM PAGES=$pages node report.mjs

# The pages over a store, and over none.
(cd ../../examples && "${GO:-go}" build -o "$pages/monitor" ./monitor)
running=()
trap 'kill "${running[@]}" 2>/dev/null || true; rm -rf "$pages"' EXIT
# wait_for FILE: until a command that was started has written to it.
wait_for() {
	for _ in $(seq 600); do
		[ ! -s "$1" ] || return 0
		sleep 0.1
	done
	echo "browser tests: nothing was written to $1" >&2
	return 1
}
for kind in brief brief hostile failed empty; do
	"$pages/sample" -kind "$kind" -store "$pages/ui.db"
done
"$pages/sample" -kind brief -records 40 -store "$pages/ui.db"
for kind in fleet fleet; do
	"$pages/sample" -kind "$kind" -store "$pages/ui.db"
done
"$pages/sample" -advice "$pages/advice.html" -store "$pages/ui.db"

# A fleet with a worker, and a plan that no worker may measure; a process to watch.
"$pages/isobar" fleet serve --listen 127.0.0.1:0 --dir "$pages/fleet" --json >"$pages/fleet.json" 2>/dev/null &
running+=($!)
wait_for "$pages/fleet.json"
fleet=$(sed -n 's/.*"url": "\([^"]*\)".*/\1/p' "$pages/fleet.json") token=$pages/fleet/token
"$pages/isobar" worker "$fleet" --token-file "$token" --name 'first <b>' --label zone=east --dir "$pages/first" >/dev/null 2>&1 &
running+=($!)
"$pages/isobar" --store "$pages/sweep.db" lab run strategies --strategy plain --reps 8 --fleet "$fleet" --fleet-token-file "$token" --fleet-require zone=west >/dev/null 2>&1 &
running+=($!)
"$pages/monitor" -address 127.0.0.1:0 >"$pages/watched" &
running+=($!)
wait_for "$pages/watched"
"$pages/isobar" --store "$pages/ui.db" ui --fleet "$fleet" --fleet-token-file "$token" --watch "$(cat "$pages/watched")" >"$pages/ui-address" 2>/dev/null &
running+=($!)
"$pages/isobar" --store "$pages/none.db" ui >"$pages/empty-address" 2>/dev/null &
running+=($!)
wait_for "$pages/ui-address"
wait_for "$pages/empty-address"
ADDRESS=$(cat "$pages/ui-address") EMPTY=$(cat "$pages/empty-address") STORE=$pages/ui.db FINISH=$pages/sample ISOBAR=$pages/isobar FLEET=$fleet TOKEN=$token \
	CHROMIUM=$CHROMIUM node ui.mjs
kill "${running[@]}" || true
running=()

# The live page, of a process that is replaced when the test asks for it.
"$pages/monitor" -address 127.0.0.1:0 >"$pages/address" &
live=$!
running=("$live")
wait_for "$pages/address"
address=$(cat "$pages/address")
host=${address#http://}
(
	trap 'kill "$live"' TERM
	while [ ! -e "$pages/restart" ]; do sleep 0.2; done
	kill "$live"
	sleep 1
	exec "$pages/monitor" -address "${host%%/*}" >"$pages/again"
) &
running+=($!)
ADDRESS=$address RESTART=$pages/restart CHROMIUM=$CHROMIUM node monitor.mjs
