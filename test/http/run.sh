#!/usr/bin/env bash
# Drives the example service with clients that we did not write: curl, wrk,
# ApacheBench, Go's own client, node's fetch, Python's http.client, requests and
# aiohttp; and with nginx and httputil.ReverseProxy between them and it. It runs
# in every engine and memory mode; the clients that take long run in one mode of
# each engine. The same clients run against net/http (peer serve), and what they
# see there is what they have to see here.
#
# curl, node, Go and Python keep a connection and send one request at a time;
# wrk (pipeline.lua) and raw sockets pipeline.
#
# Installs what it lacks (Debian; Python's modules go to .venv), then prints
# "N passed, N failed" on a line by itself.
set -euo pipefail
cd "$(dirname "$0")"
go=${GO:-go}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

need=()
for pair in curl:curl wrk:wrk nginx:nginx-light ab:apache2-utils python3:python3 node:nodejs sha256sum:coreutils; do
	PATH=$PATH:/usr/sbin command -v "${pair%%:*}" >/dev/null || need+=("${pair#*:}")
done
python3 -c 'import ensurepip, venv' 2>/dev/null || need+=(python3-venv)
if [ ${#need[@]} -gt 0 ]; then
	if ! command -v apt-get >/dev/null; then
		echo "http clients: not found: ${need[*]}: install them" >&2
		exit 1
	fi
	echo "installing ${need[*]}" >&2
	export DEBIAN_FRONTEND=noninteractive
	install=(as_root apt-get install -y -qq "${need[@]}")
	"${install[@]}" >/dev/null || { as_root apt-get update -qq && "${install[@]}" >/dev/null; }
fi
export PATH=$PATH:/usr/sbin
if ! cmp -s requirements.txt .venv/installed; then
	echo "installing requests and aiohttp" >&2
	python3 -m venv --clear .venv
	.venv/bin/pip install -q --disable-pip-version-check -r requirements.txt
	cp requirements.txt .venv/installed
fi

work=$(mktemp -d)
chmod 711 "$work" # the workers of nginx may be another user
pids=()
stop() { for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; done; pids=(); }
reference_pids=()
trap 'stop || true; pids=("${reference_pids[@]}"); stop || true; rm -rf "$work"' EXIT

(cd ../../examples && "$go" build -o "$work/service" ./service)
modes=$("$work/service" -h 2>&1 | sed -n 's/^.*request memory: \(.*\) (default.*$/\1/p' | tr -d ,)
test -n "$modes"
"$go" build -o "$work/peer" ./peer
mkdir "$work/files"
head -c 3000000 /dev/urandom >"$work/files/large.bin"
head -c $((6 << 20)) /dev/zero >"$work/toolong"
printf 'hello\n' >"$work/files/small.txt"
large=$(sha256sum <"$work/files/large.bin" | cut -d' ' -f1)

passed=0 failed=0
# check NAME WANT GOT
check() {
	if [ "$2" = "$3" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		printf 'FAIL %s: %s: got "%s", want "%s"\n' "$mode" "$1" "$3" "$2"
	fi
}

# await FILE TEXT: until the text is in the file.
await() {
	for _ in $(seq 2400); do
		grep -q "$2" "$1" 2>/dev/null && return
		sleep 0.025
	done
	echo "http clients: waited in vain for '$2' in $1" >&2
	exit 1
}

# serve NAME COMMAND...: starts a server, whose address is then in $work/NAME.addr.
serve() {
	local name=$1
	shift
	rm -f "$work/$name.out"
	"$@" >"$work/$name.out" 2>&1 &
	pids+=($!)
	await "$work/$name.out" 'listening on'
	sed -n 's/^listening on //p' "$work/$name.out" >"$work/$name.addr"
}
url() { echo "http://$(cat "$work/$1.addr")"; }

# printed NAME: what a server has printed since it listens, but for handlers that held
# their loop for 10 ms: any does whose CPU the machine takes away for as long.
printed() { tail -n +2 "$work/$1.out" | grep -v ' WARN http11: a handler held its loop for more than 10 ms' || true; }

# start_nginx NAME: as a proxy to the server of that name; it is then NAME-nginx,
# and NAME-buffered where it reads bodies whole first.
start_nginx() {
	local ports dir=$work/nginx-$1
	read -ra ports < <(python3 free_ports.py 2)
	rm -rf "$dir" && mkdir "$dir"
	sed -e "s|@ADDR@|$(cat "$work/$1.addr")|; s|@DIR@|$dir|g" \
		-e "s|@PROXY@|${ports[0]}|; s|@BUFFERED@|${ports[1]}|" nginx.conf >"$dir/nginx.conf"
	nginx -e "$dir/error.log" -c "$dir/nginx.conf" &
	pids+=($!)
	await "$dir/nginx.pid" .
	: >"$dir/error.log" # of attempts to bind: it tries again
	echo "127.0.0.1:${ports[0]}" >"$work/$1-nginx.addr"
	echo "127.0.0.1:${ports[1]}" >"$work/$1-buffered.addr"
}

# status ARGUMENT...: of the answer that curl gets; its body goes to $work/body.
status() { curl -sS -o "$work/body" -w '%{http_code}' "$@"; }

sum() { sha256sum | cut -d' ' -f1; }

# basics NAME BASE: what must hold directly and through nginx.
basics() {
	local base=$2 file=$work/files/large.bin
	local small=$base/files/small.txt big=$base/files/large.bin counted="{\"bytes\":3000000,\"sha256\":\"$large\"}"
	check "$1: GET" '200 hello' "$(status "$small") $(cat "$work/body")"
	check "$1: HEAD" '200 3000000' \
		"$(status -I "$big") $(tr -d '\r' <"$work/body" | sed -n 's/^[Cc]ontent-[Ll]ength: //p')"
	check "$1: large file" "$large" "$(curl -sS "$big" | sum)"
	check "$1: range" "$(tail -c +1000001 "$file" | head -c 500000 | sum)" "$(curl -sS -r 1000000-1499999 "$big" | sum)"
	check "$1: not modified" 304 "$(status -z "$work/files/small.txt" "$small")"
	check "$1: not found" 404 "$(status "$base/files/none")"
	check "$1: upload" "$counted" "$(curl -sS -H 'Expect: 100-continue' --data-binary "@$file" "$base/upload")"
	check "$1: chunked upload" "$counted" \
		"$(curl -sS -H 'Transfer-Encoding: chunked' --data-binary "@$file" "$base/upload")"
	check "$1: HTTP/1.0" hello "$(curl -sS -0 "$small")"
	check "$1: POST JSON" 201 "$(status -H 'Content-Type: application/json' -d '{"text":"x"}' "$base/api/notes")"
	check "$1: DELETE" 204 "$(status -X DELETE "$base/api/notes/$(sed 's/[^0-9]*\([0-9]*\).*/\1/' "$work/body")")"
	check "$1: python http.client" ok "$(python3 files.py "$base" "$large")"
	ab -q -k -n 5000 -c 16 "$small" >"$work/ab" 2>&1 || true
	check "$1: ab" '5000 0' \
		"$(sed -n 's/^Complete requests: *//p' "$work/ab") $(sed -n 's/^Failed requests: *//p' "$work/ab")"
	check "$1: ab, non-2xx" '' "$(grep -i 'non-2xx' "$work/ab" || true)"
}

# load NAME SCRIPT URL: wrk must have enough answers, if need be of several runs, and
# only good ones. Where the machine stops, an answer takes longer than its two seconds.
load() {
	local name=$1 enough=0
	: >"$work/wrk"
	for _ in $(seq 20); do
		wrk -t2 -c32 -d1s --timeout 60s -s "$2" "$3" >>"$work/wrk" 2>&1 || true
		enough=$(awk '/requests in/ {n += $1} END {print (n > 500)}' "$work/wrk")
		[ "$enough" = 0 ] || break
	done
	check "$name: more than 500 answers" 1 "$enough"
	check "$name" '' "$(grep -iE 'non-2xx|socket errors' "$work/wrk" || true)"
}

# with_curl BASE TRIES: curl against a server, reported as peer client does.
with_curl() {
	local target got seen version path how
	for version in 0 1; do
		for target in '/echo/{}|^"' '/echo?q=<b>[]`' '/echo?name=é'; do
			got=$(curl -sS -g "--http1.$version" -w ' %{http_code}' "$1$target" 2>&1) || true
			if [ "$got" = "$target 200" ]; then got='200 unchanged'; else got="! $got"; fi
			printf 'curl: HTTP/1.%s GET %s\t%s\n' "$version" "$target" "$got"
		done
	done
	got=$(curl -sS -o /dev/null -w '%{http_code} %{num_connects}\n' "$1/echo?[1-50]" 2>&1 |
		awk '$1 == 200 {n++; c += $2} END {print n " requests on " c " connection"}') || true
	[ "$got" = '50 requests on 1 connection' ] || got="! $got"
	printf 'curl: requests on one connection\t%s\n' "$got"
	for path in /upload /api/notes; do
		for how in '--http1.0' '--http1.1' '--http1.1 -HExpect:' '--http1.1 -HTransfer-Encoding:chunked -HExpect:'; do
			seen=0
			for _ in $(seq "$2"); do
				# shellcheck disable=SC2086 # several arguments
				got=$(curl -sS $how -o /dev/null -w '%{http_code}' --data-binary "@$work/toolong" "$1$path" 2>&1) || got+=' failed'
				if [ "$got" = 413 ]; then seen=$((seen + 1)); else printf 'curl: %s\n' "$got" >>"$work/curl"; fi
			done
			got="413 in $seen of $2"
			[ "$seen" = "$2" ] || got="! $got: $(tail -1 "$work/curl")"
			printf 'curl: too long, %s, %s\t%s\n' "$how" "$path" "$got"
		done
	done
}

# lines COMMAND...: a client's lines, and one that says so if it broke off.
lines() {
	"$@" || printf '%s\t! ended with %s\n' "$*" $?
}

# clients FILE BASE TRIES PYTHON...: all of them, and the tests of clients.py that
# are named; FILE gets a line for each check.
clients() {
	local file=$1 base=$2 tries=$3
	shift 3
	{
		lines "$work/peer" client -tries "$tries" "$base"
		lines node fetch.mjs "$base" "$tries"
		lines .venv/bin/python clients.py "$base" "$tries" http.client requests aiohttp raw "$@"
		with_curl "$base" "$tries"
	} >"$file"
}

# proxied FILE BASE: all of them, through httputil.ReverseProxy. It may reset a
# connection on which a client still sends, so that one upload in five may miss
# its answer, as it does now and then with net/http on both sides.
proxied() {
	clients "$1" "$2" 5
	sed -Ei 's/\t(413 in 5 of 5|! 413 in 4 of 5: .*(reset by peer|broken pipe).*)$/\t413 in 4 or 5 of 5/' "$1"
}

# quick FILE BASE: those that are done in a second.
quick() {
	{
		lines "$work/peer" client -tries 20 "$2"
		lines .venv/bin/python clients.py "$2" 20 http.client raw half-closed
	} >"$1"
}

# compare NAME WANT GOT: what is in WANT must be in GOT.
compare() {
	local name want
	while IFS=$'\t' read -r name want; do
		check "$1: $name" "$want" "$(awk -F'\t' -v name="$name" '$1 == name {print $2}' "$3")"
	done <"$2"
}

# What the clients see of net/http. It must be as it should; but ReverseProxy
# encodes characters of a path.
mode=net/http
serve reference "$work/peer" serve -max-body $((4 << 20))
serve reference-proxy "$work/peer" proxy -upstream "$(url reference)"
start_nginx reference
clients "$work/want" "$(url reference)" 20 half-closed
proxied "$work/want-proxy" "$(url reference-proxy)"
clients "$work/want-nginx" "$(url reference-buffered)" 5
check direct '' "$(grep $'\t!' "$work/want" || true)"
check ReverseProxy '' "$(grep -P '\t!(?! (200 )?/echo/)' "$work/want-proxy" || true)"
check nginx '' "$(grep $'\t!' "$work/want-nginx" || true)"
grep -E '^(go|http.client|raw socket): ' "$work/want" >"$work/want-quick"

# direct_and_proxied: all clients, and all ways between them and the service.
direct_and_proxied() {
	serve proxy "$work/peer" proxy -upstream "$(url service)"
	serve front "$work/peer" proxy -http11 -engine "$engine" -memory "$memory" -upstream "$(url reference)"
	clients "$work/got" "$(url service)" 20 half-closed
	compare direct "$work/want" "$work/got"
	proxied "$work/got" "$(url proxy)"
	compare 'behind ReverseProxy on net/http' "$work/want-proxy" "$work/got"
	proxied "$work/got" "$(url front)"
	compare 'in front, ReverseProxy by Adapt' "$work/want-proxy" "$work/got"
	check 'in front: what it printed' '' "$(printed front)"
	clients "$work/got" "$(url service-buffered)" 5
	compare 'behind nginx' "$work/want-nginx" "$work/got"
}

reference_pids=("${pids[@]}")
for engine in goroutines readiness; do
	for memory in $modes; do
		mode=$engine/$memory
		pids=()
		serve service "$work/service" -quiet -engine "$engine" -memory "$memory" -max-body $((4 << 20)) \
			-listen 127.0.0.1:0 -files "$work/files"
		service=${pids[0]}
		start_nginx service
		basics direct "$(url service)"
		basics nginx "$(url service-nginx)"
		load 'direct: wrk' enough.lua "$(url service)/files/small.txt"
		load 'direct: wrk, pipelined' pipeline.lua "$(url service)"
		check 'nginx errors' '' "$(cat "$work/nginx-service/error.log")"
		if [ "$memory" = pooled ]; then
			load 'nginx: wrk' enough.lua "$(url service-nginx)/files/small.txt"
			direct_and_proxied
		else
			quick "$work/got" "$(url service)"
			compare direct "$work/want-quick" "$work/got"
		fi
		# The request for the statistics has memory itself. Slab connections of nginx
		# keep theirs for a second.
		for _ in $(seq 600); do
			used=$(curl -sS "$(url service)/stats" 2>&1 | sed -n 's/.*"Requests":\([0-9]*\).*/\1/p')
			test "$used" = 1 && break
			sleep 0.1
		done
		check 'requests with memory after' 1 "$used"
		kill -TERM "$service" || true # it may be gone, which its status says
		ended=0
		wait "$service" || ended=$?
		check 'exit status after SIGTERM' 0 "$ended"
		check 'what the service printed' '' "$(printed service)"
		stop || true
	done
done
pids=("${reference_pids[@]}")
echo "$passed passed, $failed failed"
test "$failed" = 0
