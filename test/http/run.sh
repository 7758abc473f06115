#!/usr/bin/env bash
# Drives the example service with clients that we did not write: curl, wrk,
# ApacheBench, Python's http.client, and nginx as a proxy in front of it, in
# every memory mode. Installs what it lacks (Debian), then prints
# "N passed, N failed" on a line by itself. Go's own client is in
# examples/service.
set -euo pipefail
cd "$(dirname "$0")"
go=${GO:-go}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

need=()
for pair in curl:curl wrk:wrk nginx:nginx-light ab:apache2-utils python3:python3 sha256sum:coreutils; do
	PATH=$PATH:/usr/sbin command -v "${pair%%:*}" >/dev/null || need+=("${pair#*:}")
done
if [ ${#need[@]} -gt 0 ]; then
	if ! command -v apt-get >/dev/null; then
		echo "http clients: not found: ${need[*]}: install them" >&2
		exit 1
	fi
	echo "installing ${need[*]}" >&2
	export DEBIAN_FRONTEND=noninteractive
	as_root apt-get install -y -qq "${need[@]}" >/dev/null || { as_root apt-get update -qq && as_root apt-get install -y -qq "${need[@]}" >/dev/null; }
fi
export PATH=$PATH:/usr/sbin

work=$(mktemp -d)
pids=()
stop() { for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; done; pids=(); }
trap 'stop || true; rm -rf "$work"' EXIT

(cd ../../examples && "$go" build -o "$work/service" ./service)
mkdir "$work/files" "$work/nginx"
head -c 3000000 /dev/urandom >"$work/files/large.bin"
printf 'hello\n' >"$work/files/small.txt"
large=$(sha256sum <"$work/files/large.bin" | cut -d' ' -f1)

passed=0 failed=0
# check NAME WANT GOT
check() {
	if [ "$2" = "$3" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		printf 'FAIL %s: %s: got %q, want %q\n' "$mode" "$1" "$3" "$2"
	fi
}

# against NAME BASE: what must hold directly and through the proxy.
against() {
	local base=$2
	check "$1: GET" 'hello 200' "$(curl -sS -w '%{http_code}' "$base/files/small.txt" | tr '\n' ' ')"
	check "$1: HEAD" '200 3000000' "$(curl -sS -I -o "$work/head" -w '%{http_code}' "$base/files/large.bin") $(tr -d '\r' <"$work/head" | sed -n 's/^[Cc]ontent-[Ll]ength: //p')"
	check "$1: large file" "$large" "$(curl -sS "$base/files/large.bin" | sha256sum | cut -d' ' -f1)"
	check "$1: range" "$(tail -c +1000001 "$work/files/large.bin" | head -c 500000 | sha256sum)" "$(curl -sS -r 1000000-1499999 "$base/files/large.bin" | sha256sum)"
	check "$1: not modified" 304 "$(curl -sS -o /dev/null -w '%{http_code}' -z "$work/files/small.txt" "$base/files/small.txt")"
	check "$1: not found" 404 "$(curl -sS -o /dev/null -w '%{http_code}' "$base/files/none")"
	check "$1: upload" "{\"bytes\":3000000,\"sha256\":\"$large\"}" "$(curl -sS -H 'Expect: 100-continue' --data-binary "@$work/files/large.bin" "$base/upload")"
	check "$1: chunked upload" "{\"bytes\":3000000,\"sha256\":\"$large\"}" "$(curl -sS -H 'Transfer-Encoding: chunked' --data-binary "@$work/files/large.bin" "$base/upload")"
	check "$1: HTTP/1.0" hello "$(curl -sS -0 "$base/files/small.txt")"
	check "$1: 50 requests on a connection" "$(printf 'hello\n%.0s' {1..50})" "$(curl -sS "$base/files/small.txt?[1-50]")"
	check "$1: POST JSON" '201' "$(curl -sS -o "$work/note" -w '%{http_code}' --json '{"text":"x"}' "$base/api/notes" 2>/dev/null || curl -sS -o "$work/note" -w '%{http_code}' -H 'Content-Type: application/json' -d '{"text":"x"}' "$base/api/notes")"
	check "$1: DELETE" '204' "$(curl -sS -o /dev/null -w '%{http_code}' -X DELETE "$base/api/notes/$(sed 's/[^0-9]*\([0-9]*\).*/\1/' "$work/note")")"
	check "$1: python http.client" 'ok' "$(python3 client.py "$base" "$large")"
	ab -q -k -n 5000 -c 16 "$base/files/small.txt" >"$work/ab" 2>&1 || true
	check "$1: ab" '5000 0' "$(sed -n 's/^Complete requests: *//p' "$work/ab") $(sed -n 's/^Failed requests: *//p' "$work/ab")"
	check "$1: ab, non-2xx" '' "$(grep -i 'non-2xx' "$work/ab" || true)"
	wrk -t2 -c32 -d2s "$base/files/small.txt" >"$work/wrk" 2>&1 || true
	check "$1: wrk has answers" 1 "$(sed -n 's/^ *\([0-9]*\) requests in.*/\1/p' "$work/wrk" | awk '{print ($1 > 1000)}')"
	check "$1: wrk" '' "$(grep -iE 'non-2xx|socket errors' "$work/wrk" || true)"
}

# await FILE TEXT: until the text is in the file.
await() {
	for _ in $(seq 200); do
		grep -q "$2" "$1" 2>/dev/null && return
		sleep 0.05
	done
	echo "http clients: waited in vain for '$2' in $1" >&2
	exit 1
}

modes=$("$work/service" -h 2>&1 | sed -n 's/^.*request memory: \(.*\) (default.*$/\1/p' | tr -d ,)
test -n "$modes"
for mode in $modes; do
	"$work/service" -quiet -memory "$mode" -listen 127.0.0.1:0 -files "$work/files" >"$work/service.out" 2>&1 &
	service=$!
	pids+=("$service")
	await "$work/service.out" 'listening on'
	addr=$(sed -n 's/^listening on //p' "$work/service.out")
	proxy=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	sed -e "s|@ADDR@|$addr|; s|@PROXY@|$proxy|; s|@DIR@|$work/nginx|g" nginx.conf >"$work/nginx.conf"
	nginx -e "$work/nginx/error.log" -c "$work/nginx.conf" &
	pids+=($!)
	await "$work/nginx/nginx.pid" .
	against direct "http://$addr"
	against nginx "http://127.0.0.1:$proxy"
	# The request for the statistics has memory itself. Slab connections of nginx
	# keep theirs for a second.
	for _ in $(seq 100); do
		used=$(curl -sS "http://$addr/stats" | python3 -c 'import json, sys; print(json.load(sys.stdin)["Memory"]["Requests"])')
		test "$used" = 1 && break
		sleep 0.1
	done
	check 'requests with memory after' 1 "$used"
	check 'nginx errors' '' "$(cat "$work/nginx/error.log")"
	kill -TERM "$service"
	status=0
	wait "$service" || status=$?
	check 'exit status after SIGTERM' 0 "$status"
	stop || true
	rm -f "$work/nginx/nginx.pid" "$work/service.out"
done
echo "$passed passed, $failed failed"
test "$failed" = 0
