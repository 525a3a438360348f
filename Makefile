# `make help` lists the targets. Each target installs the Debian packages that are missing.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
.NOTPARALLEL:

JOBS ?= $(shell nproc)
SETS ?= demo server test mpi
# The tests that `make arm64-check` runs.
ARM64_TESTS := base crypto ring dp he secagg secagg_bytes accounting
ARM64_TARGETS := $(ARM64_TESTS:%=%_tests) tacet_round_program
VALGRIND_TESTS ?= base_tests crypto_tests ring_tests dp_tests secagg_tests
# Environment of the Python package, with its tests' packages.
PYTHON_ENVIRONMENT := $(CURDIR)/build/python
WITH_PYTHON := -DTACET_PYTHON_PACKAGE=ON -DPython_EXECUTABLE=$(PYTHON_ENVIRONMENT)/bin/python
WHEELS := $(CURDIR)/build/wheel
# Environment of the frameworks in which it is tested.
FRAMEWORKS_ENVIRONMENT := $(CURDIR)/build/frameworks
# Environment of Sphinx, for `make docs`.
SITE_ENVIRONMENT := $(CURDIR)/build/sphinx
# Environment of the checks of Compose file and chart.
DEPLOY_ENVIRONMENT := $(CURDIR)/build/deploy
TACET_IMAGE ?= localhost/tacet:$(shell sed -n 's/^project(tacet VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
# Tests of live federations, of guides and in browsers wait for half of their time.
export CTEST_PARALLEL_LEVEL := $(shell echo $$((2 * $(JOBS) + 1)))

# $(call configure,PRESET[,ARGUMENTS]), $(call build,PRESET[,ARGUMENTS]), $(call run_tests,PRESET,ARGUMENTS)
configure = @tools/quiet.sh "configure $(1)" cmake --preset $(1) $(2)
build = @tools/quiet.sh "build $(1)" cmake --build --preset $(1) $(2)
run_tests = @tools/quiet.sh --tests "test $(1)" ctest --preset $(1) $(2)

.PHONY: help
help: ## this list
	@awk -F ' *## *' '/^[a-z-]+:.*##/ {sub(/:.*/, "", $$1); printf "make %-15s %s\n", $$1, $$2}' Makefile
	@echo
	@echo "Output of compilers is in build/logs/. VERBOSE=1 prints it, JOBS=N limits the processor cores."

.PHONY: setup
setup: ## install missing Debian packages (SETS="demo server test mpi check", default: the first four)
	@tools/setup.sh $(SETS)

.PHONY: build
build: ## build the program build/release/tacet and the libraries
	@tools/announce_build.sh build/release/tacet $(JOBS)
	@tools/setup.sh demo
	$(call configure,release)
	$(call build,release)

.PHONY: demo
demo: build ## train a small federation on handwriting, with encryption and differential privacy
	@tools/demo.sh build/release/tacet

.PHONY: server
server: ## build tacet with `tacet client run`, tacet-server and tacet-lab
	@tools/announce_build.sh build/release/tacet $(JOBS)
	@tools/setup.sh demo server
	$(call configure,release,-DTACET_NETWORK=ON)
	$(call build,release)

.PHONY: federation-demo
federation-demo: server ## run a server and five sites as processes, kill two of them (a few minutes)
	@tools/federation_demo.sh build/release/tacet

.PHONY: test
test: ## run all tests of the product except the long ones
	@tools/setup.sh demo server test mpi package python r
	@tools/quiet.sh "python environment" tools/python_environment.sh $(PYTHON_ENVIRONMENT) python/requirements/test.txt
	$(call configure,ci,$(WITH_PYTHON) -DTACET_LAB=OFF -DTACET_LONG_TESTS=OFF)
	$(call build,ci)
	$(call run_tests,ci,--label-exclude long)

.PHONY: test-lab
test-lab: ## run the laboratory's tests: benchmarks, published experiments, load
	@tools/setup.sh demo server test mpi package python
	@tools/quiet.sh "python environment" tools/python_environment.sh $(PYTHON_ENVIRONMENT) python/requirements/test.txt
	$(call configure,ci,$(WITH_PYTHON) -DTACET_LAB=ON)
	$(call build,ci)
	@tools/quiet.sh --tests "test lab" ctest --test-dir build/ci/lab --output-on-failure --label-exclude long

.PHONY: build-sanitized
build-sanitized: ## build what `make test-sanitized` runs
	@tools/setup.sh demo test
	$(call configure,asan,-DTACET_NETWORK=OFF)
	$(call build,asan,--target sanitized_tests)

.PHONY: test-sanitized
test-sanitized: build-sanitized ## run the library's unit tests and the fuzz targets under ASan and UBSan
	$(call run_tests,asan,--label-regex sanitized)

.PHONY: lint
lint: ## check includes, sizes of classes, paths in comments, the prose and the formatting
	@tools/setup.sh test
	@python3 tools/check_fixture_test.py includes classes paths prose
	@python3 tools/check_includes.py
	@python3 tools/check_classes.py
	@python3 tools/check_paths.py
	@python3 tools/check_prose.py
	@tools/quiet.sh "check formatting" tools/check_format.sh

.PHONY: arm64-check
arm64-check: ## cross-compile for ARM (64 bits), run its tests emulated, exchange rounds with this machine
	@tools/setup.sh demo server test mpi arm64
	@tools/quiet.sh "libraries for arm64" tools/arm64_sysroot.sh build/arm64-sysroot
	$(call configure,arm64)
	$(call build,arm64,--target $(ARM64_TARGETS))
	$(call configure,ci)
	$(call build,ci,--target tacet_round_program)
	@tools/quiet.sh "test arm64" tools/arm64_check.sh build/arm64 build/arm64-sysroot build/ci

.PHONY: arm64-package
arm64-package: ## cross-compile wheel and packages for ARM (64 bits), and try both emulated
	@tools/announce_build.sh build/arm64-package/compiled/tacet $(JOBS)
	@tools/setup.sh demo server test package python wheel arm64
	@tools/quiet.sh "libraries for arm64" tools/arm64_sysroot.sh build/arm64-sysroot
	@tools/quiet.sh "python environment" tools/python_environment.sh $(PYTHON_ENVIRONMENT) python/requirements/wheel.txt
	@tools/arm64_package.sh $(PYTHON_ENVIRONMENT) build/arm64-package build/arm64-sysroot

.PHONY: arm64-instructions
arm64-instructions: ## count instructions of kernels: NEON by the emulator, AVX2 by valgrind
	@tools/setup.sh demo server test mpi arm64 check
	@tools/quiet.sh "libraries for arm64" tools/arm64_sysroot.sh build/arm64-sysroot
	$(call configure,arm64)
	$(call build,arm64,--target tacet_kernel_program)
	$(call configure,ci)
	$(call build,ci,--target tacet_kernel_program)
	@tools/kernel_instructions.sh build/arm64 build/arm64-sysroot build/ci

.PHONY: debian13-check
debian13-check: ## run `make demo` and `make test` in a bare Debian 13, and compile by its clang as C++23 (as root)
	@tools/setup.sh package-check
	@tools/debian13_check.sh

.PHONY: package
package: ## build the Debian packages tacet, tacet-server and tacet-dev in build/package/packages
	@tools/announce_build.sh build/package/tacet $(JOBS)
	@tools/setup.sh demo server package
	$(call configure,package)
	$(call build,package)
	@tools/quiet.sh package tools/pack.sh build/package
	@ls build/package/packages/*.deb

.PHONY: package-check
package-check: package ## install, run, upgrade and remove the packages in a bare Debian 12 (as root)
	@tools/setup.sh package-check
	@tools/package_check.sh build/package/packages

.PHONY: reproducible-check
reproducible-check: package python ## build packages and wheel of the commit once more in another folder, and compare their bytes
	@tools/reproducible_check.sh build/reproducible build/package/packages $(WHEELS)/wheelhouse

.PHONY: image
image: ## build a container image from the packages (TACET_IMAGE=NAME, BASE=IMAGE of Debian 12)
	@tools/quiet.sh "image" tools/image.sh build/package/packages $(TACET_IMAGE) $(BASE:%=--build-arg=BASE=%)

.PHONY: image-check
image-check: package ## build the image, and run the federation of packaging/compose.yaml in it (as root)
	@tools/setup.sh image-check
	@tools/image_check.sh build/package/packages

.PHONY: deploy-check
deploy-check: ## lint Compose file and Helm chart, and validate what the chart makes
	@tools/setup.sh python
	@tools/quiet.sh "deploy environment" tools/python_environment.sh $(DEPLOY_ENVIRONMENT) python/requirements/deploy.txt
	@tools/quiet.sh "helm" tools/helm.sh build/helm
	@$(DEPLOY_ENVIRONMENT)/bin/python tools/deploy_check.py "$$(tools/helm.sh build/helm)"

.PHONY: python
python: ## build the Python package and install it into build/python (its own environment)
	@tools/announce_build.sh build/python/bin/python $(JOBS)
	@tools/setup.sh demo server python wheel
	@tools/quiet.sh "python environment" tools/python_environment.sh $(PYTHON_ENVIRONMENT) python/requirements/wheel.txt
	@tools/quiet.sh "python wheel" tools/python_wheel.sh $(PYTHON_ENVIRONMENT) $(WHEELS)
	@tools/quiet.sh "install wheel" $(PYTHON_ENVIRONMENT)/bin/python -m pip install --no-deps --force-reinstall --disable-pip-version-check --no-index --find-links $(WHEELS)/wheelhouse tacet
	@ls $(WHEELS)/wheelhouse/*.whl

.PHONY: wheels
wheels: ## build wheels for Python 3.11 and for 3.12 and later, and try them with every Python that is here
	@tools/announce_build.sh $(WHEELS)/compiled/tacet $(JOBS)
	@tools/setup.sh demo server python wheel
	@tools/python_wheels.py $(WHEELS)

.PHONY: python-check
python-check: python ## install the wheel in a bare Debian 12, and run a federation there (as root)
	@tools/setup.sh package-check
	@tools/wheel_check.sh $(WHEELS)/wheelhouse

.PHONY: python-frameworks
python-frameworks: ## test the package inside Flower and NVFLARE (downloads them into build/frameworks)
	@tools/setup.sh demo server test mpi package python
	@tools/quiet.sh "python environment" tools/python_environment.sh $(PYTHON_ENVIRONMENT) python/requirements/test.txt
	@tools/quiet.sh "frameworks environment" tools/python_environment.sh $(FRAMEWORKS_ENVIRONMENT) python/requirements/frameworks.txt
	$(call configure,ci,$(WITH_PYTHON))
	$(call build,ci,--target tacet_python_package)
	$(call run_tests,ci,--tests-regex 'python.(flower|nvflare|ferry|trackers)')

.PHONY: r-check
r-check: ## run R CMD check on the R package; a warning fails it
	@tools/announce_build.sh build/ci/tacet $(JOBS)
	@tools/setup.sh demo server test mpi r
	$(call configure,ci)
	$(call build,ci,--target tacet)
	@tools/quiet.sh "R CMD check" tools/r_check.sh build/ci build/r

.PHONY: docs
docs: ## make a site of guides, design, security and the Python package in build/docs
	@tools/setup.sh demo server test mpi package python
	@tools/quiet.sh "python environment" tools/python_environment.sh $(PYTHON_ENVIRONMENT) python/requirements/test.txt
	$(call configure,ci,$(WITH_PYTHON))
	$(call build,ci,--target tacet_python_package)
	@tools/quiet.sh "site environment" tools/python_environment.sh $(SITE_ENVIRONMENT) python/requirements/docs.txt
	@PYTHONPATH=build/ci/python $(PYTHON_ENVIRONMENT)/bin/python tools/python_pages.py build/reference
	@$(SITE_ENVIRONMENT)/bin/python tools/documentation_site.py build/docs build/reference

.PHONY: web
web: ## bundle web/dist from web/src, after a change of the report's page
	@tools/setup.sh test
	@tools/quiet.sh "bundle web" tools/web.sh build/web

.PHONY: check
check: test test-lab test-sanitized arm64-check lint python r-check ## run everything: long tests, all tests under ASan, UBSan and TSan, valgrind, coverage of seeds
	@tools/setup.sh demo server test check
	$(call configure,ci,-DTACET_LONG_TESTS=ON)
	$(call build,ci)
	$(call run_tests,ci,--label-regex long)
	$(call configure,asan,-DTACET_NETWORK=ON)
	$(call build,asan)
	$(call run_tests,asan,--label-exclude long)
	$(call configure,tsan,-DTACET_NETWORK=ON)
	$(call build,tsan)
	$(call run_tests,tsan,--label-exclude 'long|statistical')
	@tools/quiet.sh valgrind tools/valgrind.sh build/ci $(VALGRIND_TESTS)
	@tools/fuzz_coverage.sh

.PHONY: tidy
tidy: ## run clang-tidy on every file (hours)
	@tools/setup.sh demo server test mpi check python
	@tools/quiet.sh "python environment" tools/python_environment.sh $(PYTHON_ENVIRONMENT) python/requirements/test.txt
	$(call configure,tidy,$(WITH_PYTHON))
	tools/tidy.sh build/tidy

.PHONY: fuzz
fuzz: ## run every fuzz target for ten minutes
	@tools/setup.sh demo server test
	$(call configure,fuzz,-DTACET_NETWORK=ON)
	$(call build,fuzz,--target sanitized_tests)
	$(call run_tests,fuzz)

.PHONY: bench
bench: build ## measure the speed of encryption, noise, training and their inner loops
	@lab/bench.sh build/release/tacet-lab

.PHONY: peers
peers: python ## measure the field's tools beside tacet and write docs/peers (downloads them, minutes)
	@lab/peers.sh build/peers $(WHEELS)/wheelhouse docs/peers

.PHONY: public-start
public-start: ## draw characters and train a model on them that private runs can start from
	@tools/announce_build.sh build/release/tacet-lab $(JOBS)
	@tools/setup.sh demo server public-start
	$(call configure,release,-DTACET_NETWORK=ON)
	$(call build,release)
	@lab/public_start.sh build/release/tacet-lab runs/public-start

.PHONY: clean
clean: ## remove the folder build (runs/ stays)
	rm -rf build
