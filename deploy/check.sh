#!/usr/bin/env bash
# Checks the systemd units with systemd's own verifier. Installs it where
# apt-get can.
set -euo pipefail
cd "$(dirname "$0")"
if ! command -v systemd-analyze >/dev/null; then
	command -v apt-get >/dev/null || { echo "deploy: systemd-analyze is needed: install systemd" >&2; exit 1; }
	export DEBIAN_FRONTEND=noninteractive
	apt-get install -y -qq systemd >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq systemd >/dev/null; }
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for unit in *.service; do
	# The verifier wants the program to be there.
	sed 's#/usr/local/bin/isobar#/bin/true#' "$unit" >"$work/$unit"
	output=$(systemd-analyze verify --man=no "$work/$unit" 2>&1) || { echo "$unit: $output"; exit 1; }
	test -z "$output" || { echo "$unit: $output"; exit 1; }
	echo "ok    $unit"
done
# A verifier that finds nothing wrong with this one checks nothing.
printf '[Service]\nExecStart=relative/path\nRestart=sometimes\n' >"$work/bad.service"
if systemd-analyze verify --man=no "$work/bad.service" >/dev/null 2>&1; then
	echo "deploy: a faulty unit passes" >&2
	exit 1
fi
