#!/bin/sh
# Tunes real programs and writes what came of it to docs/results/tune-corpus.md.
#
#   scripts/tune-corpus.sh [DIR [PROGRAM ...]]
#
# Downloads and builds the programs in DIR (default: a temporary directory) from
# the module proxy and Go's own sources, then measures each: runs under eight
# settings, which go to internal/tune/testdata/recorded and which predictions are
# held against (Record); the recommendation of tune against the default (Tune); and
# of two programs a scan of 200 runs against the search (Scan); of the programs that
# only judge, tuning against a scan of GOGC and GOMEMLIMIT (Judge), in the condition
# that ISOBAR_CORPUS_UNDER names: quiet, loaded or pod.
# ISOBAR_CORPUS_PARTS chooses among these. Results are kept in DIR/results; with
# names of programs only those are measured again. Two minutes a program, on a
# machine that does nothing else.
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
	go get github.com/yuin/goldmark@v1.7.13 github.com/prometheus/prometheus@v0.307.1 golang.org/x/tools@v0.52.0
	go build -mod=mod -o "$dir/bin/" ./markdown ./series ./service golang.org/x/tools/cmd/deadcode
	# The programs that only judge, in a module of their own.
	mkdir -p "$dir/judging"
	cd "$dir/judging"
	cp -r "$repo"/internal/tune/testdata/judging/* .
	[ -e go.mod ] || go mod init judging
	go get github.com/dop251/goja@v0.0.0-20260917113740-793a2a65c13b github.com/alecthomas/chroma/v2@v2.27.0 \
		github.com/gofiber/fiber/v2@v2.52.15 github.com/graphql-go/graphql@v0.8.1 github.com/alicebob/miniredis/v2@v2.40.0 \
		github.com/miekg/dns@v1.1.73 github.com/blevesearch/bleve/v2@v2.6.3 github.com/redis/go-redis/v9@v9.23.0 \
		github.com/goccy/go-yaml@v1.19.2 github.com/itchyny/gojq@v0.12.20 github.com/google/go-jsonnet@v0.22.0
	go build -mod=mod -o "$dir/bin/" ./script ./highlight ./fiber ./graphql ./search ./keys ./names ./load ./query ./yaml \
		github.com/google/go-jsonnet/cmd/jsonnet
	# Those that were chosen later.
	mkdir -p "$dir/unseen"
	cd "$dir/unseen"
	cp -r "$repo"/internal/tune/testdata/unseen/* .
	[ -e go.mod ] || go mod init unseen
	go get cuelang.org/go@v0.17.1 github.com/jung-kurt/gofpdf@v1.16.2 github.com/fogleman/gg@v1.3.0 github.com/beevik/etree@v1.8.1 \
		github.com/dominikbraun/graph@v0.23.0 github.com/johannesboyne/gofakes3@v1.2.0 \
		github.com/jimlambrt/gldap@v0.1.14 github.com/go-ldap/ldap/v3@v3.4.15 connectrpc.com/connect@v1.21.1 \
		github.com/CloudyKit/jet/v6@v6.3.3 google.golang.org/protobuf@v1.36.12
	go build -mod=mod -o "$dir/bin/" ./...
	awk 'BEGIN { printf "["; for (i = 0; i < 4000; i++) { if (i) printf ",\n"
		printf "{\"id\":%d,\"buyer\":\"buyer %d\",\"lines\":[", i, i % 997
		for (n = 0; n <= i % 5; n++) printf "%s{\"article\":\"article %d\",\"n\":%d,\"price\":%.2f}", n ? "," : "", n, n + 1, (i + n) % 90 / 4
		printf "]}" } print "]" }' >"$dir/orders.json"
	cd "$repo"
	go build -o "$dir/bin/" ./internal/tune/testdata/programs/market
	for package in encoding/json go/types html/template encoding/xml go/parser; do
		go test -c -o "$dir/bin/$(basename $package).test" $package
	done
	# The compiler, on a package whose imports are built.
	cd "$(go env GOROOT)/src/text/template"
	CGO_ENABLED=0 go list -export -deps -f '{{if .Export}}packagefile {{.ImportPath}}={{.Export}}{{end}}' . >"$dir/importcfg"
	CGO_ENABLED=0 go list -f '{{range .GoFiles}}{{.}} {{end}}' . >"$dir/files"
	# The linker, on a program whose packages are built.
	cd "$(go env GOROOT)/src"
	CGO_ENABLED=0 go list -export -deps -f '{{if .Export}}packagefile {{.ImportPath}}={{.Export}}{{end}}' cmd/vet >"$dir/link.cfg"
	CGO_ENABLED=0 go list -export -f '{{.Export}}' cmd/vet >"$dir/link.main"
	# The checks of go vet, with what they know of imports.
	cd "$(go env GOROOT)/src"
	work=$(go vet -work -printf.funcs=f$$ net/http 2>&1 | sed -n 's/^WORK=//p') # a flag that no cached result has
	config=$(grep -l '"ImportPath": "net/http",' "$work"/b*/vet.cfg)
	sed "s#$work#$dir/vet#" "$config" >"$dir/vet.cfg"
	cp -r "$work" "$dir/vet"
	rm -r "$work"
	cp "$(go env GOMODCACHE)/github.com/yuin/goldmark@v1.7.13/README.md" "$dir/document.md"
	chmod u+w "$dir/document.md"
	touch "$dir/ready"
fi
[ "${ISOBAR_CORPUS_BUILD:-}" = "" ] || exit 0

cd "$repo"
export ISOBAR_CORPUS="$dir"
go test -c -o "$dir/tune.test" ./internal/tune
cd internal/tune
pattern=$(echo "$*" | tr ' ' '|')
for what in ${ISOBAR_CORPUS_PARTS:-Record Tune Scan}; do
	"$dir/tune.test" -test.timeout 60m -test.v -test.run "^TestCorpus$what\$/^(${pattern:-.*})\$"
done
"$dir/tune.test" -test.run '^TestCorpusTable$'
