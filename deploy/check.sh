#!/usr/bin/env bash
# Checks the units with systemd's own verifier, the manifest against the schemas
# of the Kubernetes API, and the Containerfile with hadolint. Installs missing
# tools: systemd with apt-get if possible, the others in a Python virtual
# environment (requirements.txt).
set -euo pipefail
cd "$(dirname "$0")"

packages() {
	command -v apt-get >/dev/null || { echo "deploy: install $*" >&2; exit 1; }
	export DEBIAN_FRONTEND=noninteractive
	apt-get install -y -qq "$@" >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq "$@" >/dev/null; }
}
command -v systemd-analyze >/dev/null || packages systemd
command -v python3 >/dev/null || packages python3 python3-venv
venv=${XDG_CACHE_HOME:-$HOME/.cache}/isobar/deploy-check
if ! cmp -s requirements.txt "$venv/requirements.txt"; then
	rm -rf "$venv"
	python3 -m venv "$venv" || { packages python3-venv && python3 -m venv "$venv"; }
	"$venv/bin/pip" install --quiet --disable-pip-version-check --requirement requirements.txt
	cp requirements.txt "$venv/requirements.txt"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/faulty"

unit() { # the verifier requires the program to exist
	sed 's#/usr/local/bin/isobar#/bin/true#' "$1" >"$work/$(basename "$1")"
	local output
	output=$(systemd-analyze verify --man=no "$work/$(basename "$1")" 2>&1) || { echo "$output"; return 1; }
	test -z "$output" || { echo "$output"; return 1; }
}
manifest() { "$venv/bin/kubernetes-validate" --strict "$1" && "$venv/bin/python" manifest.py "$1"; }
containerfile() { "$venv/bin/hadolint" "$1"; }

passes() { # CHECK FILE
	output=$("$1" "$2" 2>&1) || { echo "$2: $output"; exit 1; }
	echo "ok    $2"
}
# A check that passes a faulty file checks nothing.
fails() { # CHECK WHAT, with the file on standard input
	cat >"$work/faulty/file.service"
	if "$1" "$work/faulty/file.service" >/dev/null 2>&1; then
		echo "deploy: $1: a file with $2 passes" >&2
		exit 1
	fi
}

for file in *.service; do passes unit "$file"; done
passes manifest kubernetes.yaml
passes containerfile Containerfile

printf '[Service]\nExecStart=relative/path\nRestart=sometimes\n' | fails unit "a relative path"
sed 's/replicas: 1/replicas: one/' kubernetes.yaml | fails manifest "a number in letters"
sed 's/readOnlyRootFilesystem/readOnlyRootFileSystem/' kubernetes.yaml | fails manifest "a field that does not exist"
sed 's/secretName: isobar-fleet-tls/name: isobar-fleet-tls/' kubernetes.yaml | fails manifest "a field of another object"
sed 's/^        - name: tmp$/        - name: temp/' kubernetes.yaml | fails manifest "a mount without a volume"
sed '0,/cpu: "4"/s//cpu: "3"/' kubernetes.yaml | fails manifest "requests below limits"
sed '0,/app: isobar-worker/s//app: worker/' kubernetes.yaml | fails manifest "a selector that selects nothing"
printf 'FROM debian\nRUN cd /tmp && apt-get install curl\n' | fails containerfile "an image without a version"
