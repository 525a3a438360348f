# `make help` lists what there is. Every target installs the Debian packages that it lacks.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

JOBS ?= $(shell nproc)
SETS ?= demo server test mpi
VALGRIND_TESTS ?= base_tests ring_tests dp_tests secagg_tests
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
export CTEST_PARALLEL_LEVEL := $(JOBS)

.PHONY: help
help: ## this list
	@awk -F ' *## *' '/^[a-z-]+:.*##/ {sub(/:.*/, "", $$1); printf "make %-7s %s\n", $$1, $$2}' Makefile

.PHONY: setup
setup: ## install the missing Debian packages (SETS="demo server test mpi bench check", default the first four)
	@tools/setup.sh $(SETS)

.PHONY: build
build: ## the program build/release/tacet and the libraries
	@tools/setup.sh demo
	cmake --preset release
	cmake --build --preset release

.PHONY: demo
demo: build ## a federation trains on handwriting, encrypted and private (a few minutes)
	@tools/demo.sh build/release/tacet

.PHONY: server
server: ## the program with `tacet server`, `tacet client run` and `tacet-lab load`
	@tools/setup.sh demo server
	cmake --preset release -DTACET_NETWORK=ON
	cmake --build --preset release

.PHONY: federation-demo
federation-demo: server ## a server and five sites as processes of their own, one killed, one lost (a few minutes)
	@tools/federation_demo.sh build/release/tacet

.PHONY: test
test: test-release test-sanitized ## release build, all tests but the long ones, clang ASan + UBSan and fuzz targets

.PHONY: test-release
test-release:
	@tools/setup.sh demo server test mpi
	cmake --preset ci
	cmake --build --preset ci
	ctest --preset ci --label-exclude long --progress

.PHONY: test-sanitized
test-sanitized:
	@tools/setup.sh demo test
	cmake --preset asan -DTACET_NETWORK=OFF
	cmake --build --preset asan --target sanitized_tests
	ctest --preset asan --label-regex sanitized --progress

.PHONY: lint
lint: ## the direction of includes, prose, formatting
	@tools/setup.sh test
	python3 tools/check_includes_test.py
	python3 tools/check_includes.py
	python3 tools/check_prose_test.py
	python3 tools/check_prose.py
	tools/sources.sh | xargs -0 clang-format-14 --dry-run -Werror

.PHONY: web
web: ## web/dist from web/src: after a change of the report's page
	@tools/setup.sh test
	tools/web.sh build/web

.PHONY: check
check: test lint ## everything: also long tests, all under ASan, UBSan and TSan, valgrind, coverage of seeds
	@tools/setup.sh demo server test check
	ctest --preset ci --label-regex long
	cmake --preset asan -DTACET_NETWORK=ON
	cmake --build --preset asan
	ctest --preset asan --label-exclude long
	cmake --preset tsan -DTACET_NETWORK=ON
	cmake --build --preset tsan
	ctest --preset tsan --label-exclude 'long|statistical'
	tools/valgrind.sh build/ci $(VALGRIND_TESTS)
	tools/fuzz_coverage.sh

.PHONY: tidy
tidy: ## clang-tidy over every file (an hour or more)
	@tools/setup.sh demo server test check
	cmake --preset asan
	tools/tidy.sh build/asan

.PHONY: fuzz
fuzz: ## every fuzz target for ten minutes
	@tools/setup.sh demo server test
	cmake --preset fuzz
	cmake --build --preset fuzz --target sanitized_tests
	ctest --preset fuzz

.PHONY: bench
bench: build ## speed of encryption, and the microbenchmarks
	@tools/setup.sh bench
	tools/bench.sh

.PHONY: clean
clean: ## remove what was built (runs/ stays)
	rm -rf build
