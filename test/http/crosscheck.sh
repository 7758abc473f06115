#!/usr/bin/env bash
# Sets our load generator beside wrk: the same server, the same request, a
# closed loop on as many connections. Prints the CPU time that the server's
# process takes for a request under each, by turns, and the median of the
# ratios; ends with 1 if they are more than 10 % apart. For a quiet machine;
# Linux.
#
#   ROUNDS=9 SECONDS_EACH=2 CONNECTIONS=64 test/http/crosscheck.sh
set -euo pipefail
cd "$(dirname "$0")"
go=${GO:-go} rounds=${ROUNDS:-9} time=${SECONDS_EACH:-2} connections=${CONNECTIONS:-64}
command -v wrk >/dev/null || { echo "crosscheck: wrk is not installed" >&2; exit 1; }
work=$(mktemp -d)
trap 'kill "$service" 2>/dev/null || true; rm -rf "$work"' EXIT
service=
if [ -n "${BIN:-}" ]; then cp "$BIN"/isobar "$BIN"/service "$work"; else
	(cd ../../examples && "$go" build -o "$work/service" ./service)
	(cd ../.. && "$go" build -o "$work/isobar" ./cmd/isobar)
fi
"$work/service" -quiet -listen 127.0.0.1:0 -files "$work" >"$work/out" &
service=$!
for _ in $(seq 100); do grep -q listening "$work/out" && break; sleep 0.05; done
addr=$(sed -n 's/^listening on //p' "$work/out")

# ticks prints the CPU time of the server's process so far, in clock ticks.
ticks() { awk '{print $14 + $15}' "/proc/$service/stat"; }
hz=$(getconf CLK_TCK)
# each REQUESTS BEFORE AFTER: microseconds a request
each() { awk -v n="$1" -v a="$2" -v b="$3" -v hz="$hz" 'BEGIN {printf "%.2f", (b - a) / hz * 1e6 / n}'; }

with_wrk() {
	local before n
	before=$(ticks)
	wrk -t1 -c"$connections" -d"${time}s" "http://$addr/api/notes" >"$work/wrk"
	n=$(sed -n 's/^ *\([0-9]*\) requests in.*/\1/p' "$work/wrk")
	each "$n" "$before" "$(ticks)"
}
with_ours() {
	local before n
	before=$(ticks)
	"$work/isobar" --store "$work/store.db" lab run httpload --address "$addr" --path /api/notes --headers 0 --rate 0 --connections "$connections" \
		--duration "$((time * 500))ms" --reps 1 --json --out "$work/report.html" >/dev/null 2>&1
	n=$("$work/isobar" --store "$work/store.db" lab export --format csv last | awk -F, '/,\/pacer\/done:ops,/ {n += $NF} END {print n}')
	each "$n" "$before" "$(ticks)"
}

for i in $(seq "$rounds"); do
	if [ $((i % 2)) = 0 ]; then w=$(with_wrk) o=$(with_ours); else o=$(with_ours) w=$(with_wrk); fi
	echo "round $i: wrk $w µs, httpload $o µs"
	awk -v w="$w" -v o="$o" 'BEGIN {print o / w}' >>"$work/ratios"
done
sort -g "$work/ratios" | awk '{r[NR] = $1} END {
	m = r[int((NR + 1) / 2)]
	printf "CPU of the server a request, httpload to wrk: median ratio %.3f, from %.3f to %.3f\n", m, r[1], r[NR]
	exit !(m > 0.9 && m < 1.1)
}'
