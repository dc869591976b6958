# qb: `make` alone lists what can be made.
SHELL  := /bin/bash
GO     ?= go
PREFIX ?= /usr/local

.DEFAULT_GOAL := help
WHAT ?=
.PHONY: help help-all demo test quick build check attack clients apps doors browser page page-bugs page-size sso vendor vuln deps bench benchmarks profile measure measure-$(WHAT) sim bugs sim-share crash windows netns netns-crash cgroup2 fuzz install deb deb-install wheel clean openjd openjd-reference

help:
	@echo 'make TARGET, where TARGET is'
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo '  help-all   list the other targets and what can be measured'

help-all: help
	@awk -F ':.*#more ' '/^[a-z0-9-]+:.*#more /{printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@$(MAKE) --no-print-directory measure WHAT=

demo: build ## render an animation on a farm of your own machine (about a minute)
	@tools/deps
	@$(GO) build -trimpath -o bin/demo ./examples/demo
	@exec bin/demo

RERUN ?= 0
RAPID_SEED ?= 1
export RERUN RAPID_SEED
test: ## run all tests, with the race detector
	@GO='$(GO)' tools/test

quick: ## run the tests that need no Postgres
	@GO='$(GO)' tools/test quick

build: ## build bin/qb and its links qbsub, qbjobs …; bin/qb-client, the commands alone; and bin/qb-bench
	@tools/deps go
	@mkdir -p bin
	@[ -e bin/qb ] || echo "compiling; this takes a few minutes the first time"
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/ ./cmd/qb ./cmd/qb-bench
	CGO_ENABLED=0 $(GO) build -trimpath -tags client -o bin/qb-client ./cmd/qb
	@for link in $$(bin/qb links); do ln -sf qb bin/$$link; done

check: ## all that a change must pass: format, vet, staticcheck, tidy, tests, generated files
	@GO='$(GO)' tools/check

attack: #more repeat the attacks of docs/security.md and print which are blocked; as root with users of its own (2 minutes)
	@tools/deps go gcc postgres
	@tools/attack

clients: build #more lint the OpenAPI document, generate a TypeScript and a Go client from it, and run the example of the README with each; installs npm (2 minutes)
	@tools/deps go postgres npm
	@tools/clients/run

APP_ROUNDS ?= 1
apps: build #more render a scene with Blender started for each frame, for chunks of frames, and loaded once, APP_ROUNDS=1 times each, and compare, and run the sample of each job type; installs blender, povray, imagemagick and ffmpeg (3 minutes)
	@tools/deps go postgres blender imagemagick povray ffmpeg python3
	@tools/apps $(APP_ROUNDS)

doors: build #more submit a scene by the Flamenco add-on, whose folder is CLIENT=PATH, from Blender to a farm on loopback, and look at what was rendered; installs blender; needs root (1 minute)
	@tools/deps go postgres blender addon
	@tools/doors/run "$(CLIENT)"

browser: #more let a real browser open pages of strangers that try all that pages can against a farm on loopback; installs chromium (3 minutes)
	@tools/deps go postgres chromium
	cd tools && $(GO) test -count=1 -v -run ^TestForeign ./browser

page: #more walk through the page of a real farm with a real browser, compare the grid with the rows, check every view with axe, leave screenshots in page-out; installs chromium and npm (3 minutes)
	@tools/deps go postgres chromium npm
	cd tools && $(GO) tool gotestsum --format standard-verbose --rerun-fails=$(RERUN) --packages ./browser -- -count=1 -timeout 30m -run ^TestPage

page-size: #more count the elements of the page's views with 10,000 hosts, 1,000 jobs and a job of 100,000 items, and undo what was done there; installs chromium (10 minutes)
	@tools/deps go postgres chromium
	cd tools && $(GO) test -count=1 -v -timeout 30m -run '^(TestSizeOfPage|TestUndoOfPage)' ./browser

page-bugs: #more put known bugs into copies of the page, one at a time: each must be found by the proof that is there for it; installs chromium (3 minutes)
	@tools/deps go postgres chromium
	cd tools && $(GO) test -count=1 -v -timeout 30m -run ^TestPlanted ./browser

vendor: #more fetch the JavaScript of others that the page is made with, as supervisor/page/web/static/vendor/VENDOR lists it; installs npm
	@tools/deps npm
	@tools/vendor

DEX ?=
sso: #more log in through a real provider of OpenID Connect, zitadel/oidc, and through dex too if DEX=… is the program (1 minute)
	@tools/deps go postgres
	cd tools && QB_DEX='$(DEX)' $(GO) test -count=1 -v ./sso

vuln: #more look for known vulnerabilities in what qb is built from; says so where their database cannot be reached
	@tools/deps go
	@said=$$($(GO) tool -modfile=tools/go.mod govulncheck ./... 2>&1); code=$$?; echo "$$said"; \
	  if [ $$code -ne 0 ] && grep -q '^govulncheck: fetching vulnerabilities' <<<"$$said"; then \
	    echo "not checked: the database of vulnerabilities cannot be reached from here"; exit 0; fi; exit $$code

deps: #more install what is missing: Postgres without a cluster, povray, imagemagick, gcc
	@tools/deps

SEEDS ?= 1000
FIRST ?= 1
SEED  ?=
sim: ## simulate farms that break: SEEDS=1000 of them from FIRST=1 on, or tell the story of one, SEED=7
	QB_SIM_SEEDS=$(SEEDS) QB_SIM_FIRST=$(FIRST) QB_SIM_SEED=$(SEED) $(GO) test -count=1 -v -run '^TestSim$$' -timeout 0 ./sim

BUGS ?=
bugs: ## put known bugs back one at a time, all or BUGS="name name": the simulator must find each of them
	@tools/bugs $(BUGS)

# Farms are small and thrown away at once, so the collector need not come often. A hundred thousand farms take
# about half an hour of processor time; the time-out is for a machine that has little of it to spare.
FARMS ?= 20000
sim-share: #more check the division of slots against its rules, each on FARMS=20000 random farms, and the farm on FARMS/50 random sequences of events
	GOGC=800 QB_SHARE_FARMS=$(FARMS) $(GO) test -count=1 -timeout $$((60 + $(FARMS) / 250))m ./smartshare/... ./supervisor/share/planner
	GOGC=800 $(GO) test -count=1 -timeout $$((60 + $(FARMS) / 250))m ./supervisor/farm -rapid.checks=$$(($(FARMS) / 50))

DURATION ?= 10m
DATABASE ?=
crash: ## break a farm of real processes for DURATION=10m by the plan of SEED=…, then compare rows and ground truth; DATABASE=… is the URL of an empty database to use
	@tools/deps go postgres
	QB_CRASH_DATABASE='$(DATABASE)' QB_CRASH_DURATION=$(DURATION) QB_CRASH_SEED=$(SEED) $(GO) test -count=1 -v -run '^(TestCrash|TestPromotion|TestHungPrimary|TestAcceptOlder|TestLateEnd|TestShorterLease)$$' -timeout 0 ./sim/crash

openjd: #more check and run the official cases of Open Job Description, and print passed, failed and not supported per folder
	@said=$$($(GO) test -count=1 -v -run '^TestConformance' ./openjd/... 2>&1); code=$$?; \
	  grep -E ' (passed|FAIL)|^FAIL' <<<"$$said" | sed 's/^ *[a-z_]*\.go:[0-9]*: //'; exit $$code

REFERENCE ?=
openjd-reference: #more compare 5,000 generated templates with the reference in Python, openjd-model-for-python 0.4.2, whose source is in REFERENCE=PATH; installs pydantic (1 minute)
	@[ -d '$(REFERENCE)/src/openjd/model' ] || { echo 'openjd-reference: say REFERENCE=PATH, a checkout of openjd-model-for-python at 0.4.2' >&2; exit 2; }
	@tools/deps go pydantic
	QB_OPENJD_REFERENCE='$(abspath $(REFERENCE))' $(GO) test -count=1 -v -run '^TestReference$$' ./openjd

windows: #more run the commands as a Windows program under Wine against a farm on this machine (2 minutes)
	@GO='$(GO)' tools/windows/run

netns: #more run a farm of six machines made of network namespaces, cut a worker and the leader off; then netns-crash; needs root (4 minutes and DURATION=10m)
	@tools/deps go postgres povray
	QB_NETNS=1 $(GO) test -count=1 -v -timeout 0 ./sim/netns
	@$(MAKE) --no-print-directory netns-crash

netns-crash: #more do what crash does with a network of its own for each supervisor and agent; needs root
	@tools/deps go postgres
	QB_CRASH_NETNS=1 QB_CRASH_DURATION=$(DURATION) QB_CRASH_SEED=$(SEED) $(GO) test -count=1 -v -run '^TestCrash$$' -timeout 0 ./sim/crash

cgroup2: #more run the tests of memory limits and control groups in a virtual machine that has version 2 only; needs qemu (10 minutes)
	@tools/deps go
	@tools/cgroup2

bench: ## measure the parts, then the farm as a whole; see docs/benchmarks.md
	@$(MAKE) --no-print-directory measure WHAT=parts
	@$(MAKE) --no-print-directory measure WHAT=farm

TABLE  ?=
ROUNDS ?= 3
benchmarks: build ## measure the tables of docs/benchmarks.md, all or TABLE=throughput,real, and write them there; ROUNDS=3 (3 hours for all)
	@tools/deps go postgres
	bin/qb-bench tables -table '$(TABLE)' -rounds $(ROUNDS)

measure: measure-$(WHAT) ## measure one thing, WHAT=farm: `make help-all` lists them
measure-:
	@echo 'make measure WHAT=…, one of:'
	@awk -F ':.*#measure ' '/^measure-[a-z]+:.*#measure /{printf "  %-10s %s\n", substr($$1, 9), $$2}' $(MAKEFILE_LIST)

BENCH ?= .
measure-parts: #measure the parts by themselves, those that BENCH=. matches, in the form that benchstat reads
	@tools/deps go gcc postgres
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

ITEMS ?= 200000
measure-farm: build #measure a farm of 1,600 slots under ITEMS=200000; prints JSON
	@tools/deps postgres
	bin/qb bench -hosts 100 -slots 16 -jobs 10 -items $(ITEMS)

PROFILED ?= -hosts 2500 -slots 16 -jobs 100 -items 400000 -duration 30s -seconds 90s
profile: build #more profile the supervisor of a benchmark, PROFILED='-hosts 2500 …'; keeps supervisor.prof and supervisor-heap.prof, prints where time and memory go (3 minutes)
	@tools/deps postgres
	bin/qb bench $(PROFILED) -profile $(CURDIR)/supervisor.prof -heap $(CURDIR)/supervisor-heap.prof
	$(GO) tool pprof -top -cum -nodecount=60 bin/qb supervisor.prof
	$(GO) tool pprof -top -nodecount=30 bin/qb supervisor-heap.prof

measure-standstill: build #measure what others wait for while 160,000 slots of 10,000 hosts are filled, and all are lost
	@tools/deps postgres
	bin/qb bench -hosts 10000 -slots 16 -jobs 10 -items 200000 -standstill

OVERLOAD_HOSTS ?= 1500
measure-overload: build #measure what OVERLOAD_HOSTS=1500 hosts get done at twice the demand that the machine can serve (3 minutes)
	@tools/deps postgres
	bin/qb bench -overload -hosts $(OVERLOAD_HOSTS) -slots 16 -jobs 20 -items 4000000

ORDERS ?= 1000000
measure-orders: #measure how long others stand still while each order is given to a job of ORDERS=1000000 items
	@tools/deps go postgres
	QB_ORDER_ITEMS=$(ORDERS) $(GO) test -count=1 -v -run '^TestLargeOrders$$' -timeout 60m ./supervisor/serve

TIMES ?= 10
measure-takeover: #measure how long a farm stands still when its leader is killed, TIMES=10, and when it is stopped, half as often
	@tools/deps go postgres
	QB_TAKEOVERS=$(TIMES) $(GO) test -count=1 -v -run '^TestTakeover$$' -timeout 60m ./sim/crash
measure-recovery: #measure TIMES=10 times each, from a kill to the last process, and from a host's loss to its items elsewhere
	@tools/deps go postgres
	QB_RECOVERIES=$(TIMES) $(GO) test -count=1 -v -run '^TestRecovery$$' -timeout 60m ./sim/crash

ENDED ?= 1000000
measure-restart: build #measure kill -9 and start of a lone supervisor of 10,000 hosts, beside ENDED=1000000 attempts of unfinished jobs (4 minutes)
	@tools/deps postgres
	bin/qb bench -restart -hosts 10000 -slots 16 -jobs 200 -items 20000000 -duration 60s -ended $(ENDED)

ENDS ?= 40x2500
measure-ends: #measure an audit of the records of ENDS=40x2500 hosts and ends of each
	@tools/deps go postgres
	QB_ENDS=$(ENDS) $(GO) test -count=1 -v -run '^TestAuditOfManyWorkers$$' -timeout 60m ./cmd/qb

SECONDS_EACH ?= 1
measure-cpushare: build #measure when each of ten items of SECONDS_EACH=1 and ten of ten times that ends that share one slot, both modes (4 minutes)
	@tools/deps postgres
	@tools/cpushare $(SECONDS_EACH)

READ ?= 2m
PAGE_HOSTS ?= 10000
measure-page: #measure the page: commit to pixel, painting, 500 readers of PAGE_HOSTS=10000 simulated hosts for READ=2m, then what-if (10 minutes)
	@tools/deps go postgres chromium
	cd tools && QB_PAGE_READ=$(READ) QB_PAGE_HOSTS=$(PAGE_HOSTS) $(GO) test -count=1 -v -timeout 60m -run '^TestMeasurePage$$' ./browser
	$(GO) test -run '^$$' -bench '^BenchmarkTry' ./supervisor/page/whatif

measure-readers: #measure 500 readers of the page beside PAGE_HOSTS=10000 simulated hosts for READ=2m, without a browser (twice READ and 5 minutes)
	@tools/deps go postgres
	cd tools && QB_PAGE_READ=$(READ) QB_PAGE_HOSTS=$(PAGE_HOSTS) $(GO) test -count=1 -v -timeout 90m -run '^TestMeasureReaders$$' ./browser

FUZZTIME ?= 10s
fuzz: #more fuzz every parser for FUZZTIME=10s each
	@set -e; for package in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' "$$package" | grep '^Fuzz' || true); do \
	    $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$package"; \
	  done; done

install: build ## install qb and its links below PREFIX=/usr/local
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 bin/qb $(DESTDIR)$(PREFIX)/bin/qb
	@for link in $$(bin/qb links); do ln -sf qb $(DESTDIR)$(PREFIX)/bin/$$link; done

deb: build #more build a Debian package, bin/qb_VERSION_ARCHITECTURE.deb
	@tools/deb

ROOT ?=
deb-install: build #more install the package in a fresh Debian root under systemd, render, upgrade while items run, remove; ROOT=folder keeps the root; needs root, debootstrap and systemd-nspawn (5 minutes)
	@ROOT='$(ROOT)' tools/deb-install

wheel: #more build the Python module as a package, bin/qb_farm-VERSION-py3-none-any.whl
	@tools/deps wheel
	@tools/wheel bin

clean: #more remove what was built, and the pictures of the demo
	rm -rf bin demo-out page-out
