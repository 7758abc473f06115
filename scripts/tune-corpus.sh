#!/bin/sh
# Tunes real programs for docs/results/tune-corpus.md.
#
#   scripts/tune-corpus.sh [DIR [PROGRAM ...]]
#
# Downloads and builds the programs in DIR (default: a temporary directory) from the
# module proxy, then tunes those that only judge and scans GOGC and GOMEMLIMIT of each
# (Judge), in the condition that ISOBAR_CORPUS_UNDER names: quiet, loaded or pod. With
# ISOBAR_CORPUS_PARTS=Record it scans those that the model is made with, for
# internal/tune/testdata/scans. Results are kept in DIR/results, and their table in
# DIR/table.md: rows to append to the page. The page is never written, as it keeps rows
# whose results are gone. With names of programs only those are measured.
# Two minutes a program, on a machine that does nothing else.
set -eu
repo=$(cd "$(dirname "$0")/.." && pwd)
dir=${1:-$(mktemp -d)}
[ $# -gt 0 ] && shift
mkdir -p "$dir/results" "$dir/src"
dir=$(cd "$dir" && pwd)

if [ ! -e "$dir/ready" ]; then
	cd "$dir/src"
	cp -r "$repo"/internal/tune/testdata/corpus/* .
	[ -e go.mod ] || go mod init corpus
	go get cuelang.org/go@v0.17.1 github.com/beevik/etree@v1.8.1 github.com/itchyny/gojq@v0.12.20 \
		github.com/corentings/chess/v2@v2.3.2 github.com/jhillyerd/enmime@v1.3.0 github.com/parquet-go/parquet-go@v0.32.0 \
		github.com/arran4/golang-ical@v0.3.4 github.com/teambition/rrule-go@v1.8.2 github.com/jdkato/prose/v2@v2.0.0 \
		github.com/casbin/casbin/v2@v2.135.0 github.com/santhosh-tekuri/jsonschema/v6@v6.0.3 \
		github.com/microcosm-cc/bluemonday@v1.0.27 github.com/d5/tengo/v2@v2.17.0 \
		github.com/awalterschulze/gographviz@v2.0.3+incompatible github.com/cbroglie/mustache@v1.4.2 \
		github.com/tailscale/hujson@v0.0.0-20260727124030-b80ff77dac4f \
		github.com/xuri/excelize/v2@v2.11.1 github.com/miekg/dns@v1.1.73 github.com/boombuler/barcode@v1.1.0 \
		github.com/mmcdole/gofeed@v1.4.2 github.com/jung-kurt/gofpdf@v1.16.2 \
		github.com/google/go-jsonnet@v0.22.0 github.com/JohannesKaufmann/html-to-markdown/v2@v2.5.2 \
		github.com/sergi/go-diff@v1.4.0 github.com/graphql-go/graphql@v0.8.1 github.com/tidwall/buntdb@v1.3.0 \
		github.com/dominikbraun/graph@v0.23.0 github.com/emicklei/proto@v1.14.3 \
		github.com/yuin/gopher-lua@v1.1.2 github.com/wcharczuk/go-chart/v2@v2.1.2 \
		github.com/expr-lang/expr@v1.17.8 go.starlark.net@v0.0.0-20260908191801-89a6a09411d5 \
		github.com/vmihailenco/msgpack/v5@v5.4.1 gopkg.in/yaml.v3@v3.0.1 github.com/yuin/goldmark@v1.8.7
	go build -mod=mod -o "$dir/bin/" ./...
	awk 'BEGIN { printf "["; for (i = 0; i < 4000; i++) { if (i) printf ",\n"
		printf "{\"id\":%d,\"buyer\":\"buyer %d\",\"lines\":[", i, i % 997
		for (n = 0; n <= i % 5; n++) printf "%s{\"article\":\"article %d\",\"n\":%d,\"price\":%.2f}", n ? "," : "", n, n + 1, (i + n) % 90 / 4
		printf "]}" } print "]" }' >"$dir/orders.json"
	touch "$dir/ready"
fi
[ "${ISOBAR_CORPUS_BUILD:-}" = "" ] || exit 0

cd "$repo"
export ISOBAR_CORPUS="$dir"
go test -c -o "$dir/tune.test" ./internal/tune
cd internal/tune
pattern=$(echo "$*" | tr ' ' '|')
for what in ${ISOBAR_CORPUS_PARTS:-Judge}; do
	"$dir/tune.test" -test.timeout 60m -test.v -test.run "^TestCorpus$what\$/^(${pattern:-.*})\$"
done
"$dir/tune.test" -test.run '^TestCorpusTable$'
