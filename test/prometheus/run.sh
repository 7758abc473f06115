#!/usr/bin/env bash
# Has a real Prometheus scrape the figures of a monitor: promtool has nothing to
# say about them, and every query of the Grafana dashboard returns data. Fetches
# Debian's prometheus if there is none, without installing it: its package would
# start a server. Prints "N passed, N failed" on a line by itself.
set -euo pipefail
cd "$(dirname "$0")"
go=${GO:-go}

prometheus=$(command -v prometheus || true)
promtool=$(command -v promtool || true)
if [ -z "$prometheus" ] || [ -z "$promtool" ]; then
	if [ ! -x .debian/usr/bin/prometheus ] || [ ! -x .debian/usr/bin/promtool ]; then
		if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
			echo "prometheus: not found: install prometheus and promtool" >&2
			exit 1
		fi
		echo "fetching prometheus" >&2
		rm -rf .debian
		mkdir .debian
		(cd .debian && { apt-get download -qq prometheus || { { [ "$(id -u)" = 0 ] && apt-get update -qq || sudo -n apt-get update -qq; } && apt-get download -qq prometheus; }; }) >/dev/null 2>.debian/log || {
			echo "prometheus: the Debian package cannot be fetched:" >&2
			cat .debian/log >&2
			exit 1
		}
		dpkg-deb -x .debian/prometheus_*.deb .debian
		rm .debian/prometheus_*.deb
	fi
	prometheus=$PWD/.debian/usr/bin/prometheus
	promtool=$PWD/.debian/usr/bin/promtool
fi
if ! command -v python3 >/dev/null; then
	echo "prometheus: no python3 found: install it" >&2
	exit 1
fi

work=$(mktemp -d)
pids=()
stop() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
	rm -rf "$work"
}
trap stop EXIT

# A limit, so that the figure of the limit has a value.
(cd ../.. && "$go" build -o "$work/program" ./test/prometheus/program)
GOMEMLIMIT=1GiB "$work/program" >"$work/address" &
pids+=($!)
for _ in $(seq 600); do
	[ ! -s "$work/address" ] || break
	sleep 0.1
done
address=$(cat "$work/address")
port=$(python3 ../http/free_ports.py 1)
cat >"$work/prometheus.yml" <<END
global:
  scrape_interval: 1s
scrape_configs:
  - job_name: isobar
    static_configs:
      - targets: ["$address"]
END
"$promtool" check config "$work/prometheus.yml" >/dev/null
"$prometheus" --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/data" --web.listen-address="127.0.0.1:$port" --log.level=warn >"$work/log" 2>&1 &
pids+=($!)

python3 check.py "$promtool" "http://$address/metrics" "http://127.0.0.1:$port" ../../monitor/monitorprom/dashboard.json "$work/log"
