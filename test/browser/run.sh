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
for kind in study hostile empty failed; do
	(cd ../.. && "${GO:-go}" run ./internal/report/sample -kind "$kind" "$pages/$kind.html")
done
(cd ../.. && ISOBAR_ADVICE_PAGE=$pages/advice.html "${GO:-go}" test -count=1 -run 'TestPage$' ./internal/advisor >/dev/null)
(cd ../.. && ISOBAR_CLAIMS_PAGE=$pages/claims.html "${GO:-go}" test -count=1 -run 'TestLedgerPages$' ./internal/report >/dev/null)
CHROMIUM=$CHROMIUM PAGES=$pages node report.mjs

# The pages over a store, and over none.
(cd ../.. && "${GO:-go}" build -o "$pages/" ./cmd/isobar ./internal/report/sample)
for kind in brief brief hostile failed empty; do
	"$pages/sample" -kind "$kind" -store "$pages/ui.db"
done
"$pages/sample" -kind brief -records 40 -store "$pages/ui.db"
"$pages/isobar" --store "$pages/ui.db" ui >"$pages/ui-address" 2>/dev/null &
ui=$!
"$pages/isobar" --store "$pages/none.db" ui >"$pages/empty-address" 2>/dev/null &
empty=$!
trap 'kill "$ui" "$empty" 2>/dev/null; rm -rf "$pages"' EXIT
for _ in $(seq 100); do
	[ ! -s "$pages/ui-address" ] || [ ! -s "$pages/empty-address" ] || break
	sleep 0.1
done
ADDRESS=$(cat "$pages/ui-address") EMPTY=$(cat "$pages/empty-address") STORE=$pages/ui.db FINISH=$pages/sample CHROMIUM=$CHROMIUM node ui.mjs
kill "$ui" "$empty"

# The live page, of a process that is replaced when the test asks for it.
(cd ../../examples && "${GO:-go}" build -o "$pages/monitor" ./monitor)
"$pages/monitor" -address 127.0.0.1:0 >"$pages/address" &
live=$!
for _ in $(seq 100); do
	[ ! -s "$pages/address" ] || break
	sleep 0.1
done
address=$(cat "$pages/address")
host=${address#http://}
(
	trap 'kill "$live"' TERM
	while [ ! -e "$pages/restart" ]; do sleep 0.2; done
	kill "$live"
	sleep 1
	exec "$pages/monitor" -address "${host%%/*}" >"$pages/again"
) &
second=$!
trap 'kill "$live" "$second" 2>/dev/null; rm -rf "$pages"' EXIT
ADDRESS=$address RESTART=$pages/restart CHROMIUM=$CHROMIUM node monitor.mjs
