# make test   everything that CI runs, with a line for each part and its time
# make bench  ours against peers, and the lab's own overhead: tables with intervals, in 40 minutes
# make soak   the long-running and statistical tests
# make lint   gofmt, vet, staticcheck, unparam, gocognit
# make fmt    gofmt

GO       ?= go
FUZZTIME ?= 1s
# The next release of Go, as the module proxy has it.
GO127    := go1.27.4
# The order of packages is that in which their tests start: those that take longest
# come first, so that none of them is left to run alone.
KIT      := ./http11 ./gcctl ./pool ./latency ./arena ./slab ./queue ./eventloop ./internal/base/...
LONG     := ./http11 ./internal/advice ./internal/lab/runner ./internal/heap ./internal/tune
# Those with files for isobar_debug: elsewhere the tag only changes the value of a constant.
TAGGED   := ./internal/base/invariant ./pool
# Those with 64-bit atomics on plain words, which have to be aligned.
PLAIN64  := ./arena ./slab ./latency
# Tests mostly wait: three packages at a time keep two CPUs busy. Nobody debugs these
# binaries: without DWARF, linking one takes two thirds of the time. The scripts of
# cmd/isobar take half of go test's 10 minutes, and all of them on a machine half as fast.
LINK     := -vet=off -ldflags=-w
TEST     := test $(LINK) -p 3 -timeout 20m
# Others' parsers of manifests need not be fast: without optimization they take a fifth
# to a third less to compile. Standard library and our packages are those of other parts.
PARSERS  := '-gcflags=all=-N -l' -gcflags=std= -gcflags=github.com/isobar-go/isobar/...=

SOURCE   := advise|internal/layout
# What go127 leaves out, as the version of Go cannot tell there: pages, links and
# imports; the arithmetic on results; and the protocol of a fleet, which http11,
# monitor and cmd/isobar use the same standard library for.
SAME127  := internal/show|internal/web|internal/study/claim|internal/lab/(cell|load|plan|stat|tick)|internal/fleet
# Of the packages that it has, go127 leaves out tests of arithmetic on results, too.
SUMS127  := TestIntervalsOfRecords|TestLeaveRestsOnPairs|TestProofRestsOnRuns|TestProvesInNoise|TestProvesNothingWhereNothingGains|TestSameAnswer|TestSameAnswerOfRecords|TestScans|TestSimulatedSearch
# What race leaves out: analyses, models, pages and imports, which have hardly a
# goroutine, and the commands, which call what is tested below them.
NORACE   := advise|cmd|internal/(gc|layout|show|tune)|internal/heap/(gotype|graph|target)|internal/lab/(cell|host|plan)|internal/study/(claim|modes)
# Tests in one goroutine of packages that have more: heaps of planted programs are read
# as those of the other tests are, and what every fix makes is compiled.
ONE      := TestPlantedLeaks|TestFixesCompile
# SQLite, translated from C, keeps to memory that C allocates: the detector has nothing to find there.
NOTRACED := -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc=-race=false
# The part vet comes first and by itself: it compiles what all others need, which lanes
# that start together would each compile. Then three lanes run side by side, each part
# after the other. Lane 2 looks at no clock, so that it can take, as nice as it is, the
# CPU that lane 1 leaves, and disturb none of its tests. Browser and clients mostly wait,
# for animations, for pages that come in pieces, and for time-outs.
LANE1    := unit go127 386 race bench-test
LANE2    := vet-modules staticcheck cross source fuzz models examples prometheus deploy
LANE3    := browser http-clients
FIRST    := format-check vet

.PHONY: test lanes lane1 lane2 lane3 lint fmt bench bench-many bench-modes bench-gcctl bench-budget soak $(FIRST) $(LANE1) $(LANE2) $(LANE3)

test:
	@scripts/part test $(MAKE) --no-print-directory lanes

lanes:
	@for part in $(FIRST); do scripts/part -q $$part $(MAKE) --no-print-directory $$part || exit 1; done
	@$(MAKE) --no-print-directory -j3 lane1 lane2 lane3

lane1:
	@for part in $(LANE1); do scripts/part -q $$part $(MAKE) --no-print-directory $$part || exit 1; done

lane2:
	@for part in $(LANE2); do nice -n 5 scripts/part -q $$part $(MAKE) --no-print-directory $$part || exit 1; done

lane3:
	@for part in $(LANE3); do scripts/part -q $$part $(MAKE) --no-print-directory $$part || exit 1; done

lint: format-check vet vet-modules staticcheck

fmt:
	gofmt -w $$(git ls-files '*.go')

format-check:
	@out=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "not gofmt'd: $$out (run make fmt)"; exit 1; }

# The compiler collects less, also where a test builds something: a fifth less CPU time,
# for a fifth more memory (400 MB for most packages, 1.5 GB for SQLite with -race). Only
# Go's tools have this GOGC; parts without tests have it in their environment, too.
$(FIRST) $(LANE1) $(LANE2) $(LANE3): export GOFLAGS = $(shell $(GO) env GOFLAGS) '-toolexec=env GOGC=400'
vet vet-modules staticcheck: export GOGC = 400

vet:
	$(GO) vet ./...
	$(GO) vet -tags isobar_debug $(TAGGED)

vet-modules:
	cd bench && $(GO) vet ./...
	cd examples && $(GO) vet ./...
	cd test/manifests && $(GO) vet $(PARSERS) ./...

staticcheck:
	$(GO) tool staticcheck ./...
	$(GO) tool staticcheck -tags isobar_debug $(TAGGED)
	$(GO) tool unparam ./...
	$(GO) tool gocognit -over 30 -ignore '_test.go|testdata' .

# Compiles and links what has code for one architecture, and what uses it; not http11,
# whose dependencies would take a third of the time. TestPlatforms of internal/layout
# checks the types of all packages for the other platforms.
CROSS    := $(filter-out ./http11,$(KIT)) ./internal/heap/...
cross: export GOOS = linux
cross: export GOARCH = arm64
cross:
	$(GO) vet $(CROSS)
	$(GO) test $(LINK) -exec true $(CROSS)

# The parts vet look at all packages, and the part source has the tests of the rest.
unit:
	$(GO) $(TEST) ./cmd/isobar $(LONG) $$($(GO) list ./... | grep -vE '/($(SOURCE))(/|$$)')

# Unit tests and the scripts of cmd/isobar.
go127: export GOTOOLCHAIN = $(GO127)
go127:
	$(GO) $(TEST) -short -skip '^($(SUMS127))$$' ./cmd/isobar $(LONG) $$($(GO) list ./... | grep -vE '/($(SOURCE)|$(SAME127))(/|$$)')

# What reads code and no clock, with both releases of Go: the checks of advise on
# their examples; links, imports, platforms, and recipes followed in a copy of the tree.
source:
	$(GO) $(TEST) ./internal/layout ./advise/...
	GOTOOLCHAIN=$(GO127) $(GO) $(TEST) -short ./advise/...

# A 32-bit platform, with the checks that isobar_debug compiles in and with those of
# unsafe pointer arithmetic; on 64 bits the parts race and fuzz have them. Checks may
# move fields: what uses 64-bit atomics on plain words is tested without them, too.
386: export GOARCH = 386
386:
	$(GO) $(TEST) -short -tags isobar_debug -gcflags=github.com/isobar-go/isobar/...=-d=checkptr=2 $(KIT)
	$(GO) $(TEST) -short $(PLAIN64)

# Lock-free structures in full, the rest in short; not what parses and renders. A binary
# with the detector ends at once instead of after a second, and so do the cells of tests.
race: export GORACE = atexit_sleep_ms=20
race:
	$(GO) $(TEST) -race ./queue ./slab ./eventloop
	$(GO) $(TEST) -short -race $(NOTRACED) -skip '^($(ONE))$$' $(filter-out %/tune,$(LONG)) $$($(GO) list ./... | grep -vE '/(queue|slab|eventloop|$(NORACE))(/|$$)')

bench-test:
	cd bench && $(GO) test $(LINK) ./...

examples:
	cd examples && $(GO) test $(LINK) ./...

fuzz:
	GO=$(GO) FUZZTIME=$(FUZZTIME) scripts/fuzz.sh

models:
	docs/models/run.sh

browser:
	test/browser/run.sh

# Real clients against the example service.
http-clients:
	GO=$(GO) test/http/run.sh

# A real Prometheus server on monitor's collector and dashboard.
prometheus:
	GO=$(GO) test/prometheus/run.sh

# The units, the manifest and the Containerfile of a fleet; and what tune writes,
# by the parsers of Kubernetes, Helm, Compose, Docker, Nomad and systemd.
deploy:
	deploy/check.sh
	cd test/manifests && $(GO) test $(LINK) $(PARSERS) ./...

# Continues where it stopped: what bench/records.jsonl has of this code and machine
# is not measured again.
bench:
	cd bench && $(GO) run ./cmd/ratios -suite bench -minutes 38 -records records.jsonl -pages ../docs/results

# For a machine with many CPUs; there or elsewhere, cmd/ratios -merge writes its page
# from the results file.
bench-many:
	cd bench && $(GO) run ./cmd/ratios -suite many -records many.jsonl -pages ../docs/results

# Ten minutes.
bench-modes:
	$(GO) run ./cmd/isobar lab modes --markdown docs/results/http11-modes.md

# Four minutes; takes 5 GB of memory for the side that has no limit.
bench-gcctl:
	cd bench && ISOBAR_BENCH_OUT=../../docs/results/gcctl-benchmarks.md $(GO) test -count 1 -run 'TestTable$$' ./gcctl

# Half an hour: in how many of 50 runs Adaptive passes its budget, quiet and beside
# two busy loops. Fails if it does.
bench-budget: export ISOBAR_BUDGET_OUT = ../../docs/results/gcctl-budget.md
bench-budget:
	rm -f bench/budget.jsonl
	cd bench && $(GO) test -count 1 -timeout 60m -run 'TestBudget$$' ./gcctl
	cd bench && ISOBAR_BUDGET_BUSY=2 ISOBAR_SPIKE_PHASE=3s $(GO) test -count 1 -timeout 60m -run 'TestBudget$$' ./gcctl

soak:
	GO=$(GO) FUZZTIME=10m scripts/fuzz.sh
	ISOBAR_SOAK=1 $(GO) test -race -timeout 60m $(filter-out ./http11,$(KIT)) ./cmd/isobar ./internal/lab/store
	ISOBAR_SOAK=1 $(GO) test -timeout 30m -run 'FleetChaos|FleetPartition' ./cmd/isobar
	ISOBAR_SOAK=1 $(GO) test -timeout 60m ./queue ./latency
	ISOBAR_SOAK=1 $(GO) test -count 1 -run LargeStore -v ./internal/web
	ISOBAR_SOAK=1 $(GO) test -timeout 90m -run Soak ./http11
	ISOBAR_SOAK=1 $(GO) test -timeout 60m -run 'TestTenants$$' ./http11
	ISOBAR_SOAK=1 ISOBAR_TENANT_SECONDS=600 $(GO) test -race -timeout 60m -run 'TestTenants$$' ./http11
	cd bench && ISOBAR_SOAK=1 $(GO) test -count 1 -timeout 120m -run Capped ./gcctl
	$(GO) test -asan ./arena ./slab ./pool ./queue
