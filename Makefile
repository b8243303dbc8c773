# Everything a newcomer or CI needs.  `make help` lists the targets.
PYTHON ?= python3
# PYTHON=3.12 (a version, for `make wheelhouse`) names no program to run here.
HOST_PYTHON = $(if $(filter 3.%,$(PYTHON)),python3,$(PYTHON))
VENV ?= .venv
BIN = $(VENV)/bin
# Two workers a processor, as tests of whole runs wait a third of their time.  Whoever is done takes
# over tests of the others, as some take long.
PARALLEL = --numprocesses $$(( $$(getconf _NPROCESSORS_ONLN) * 2 )) --dist worksteal
BENCHMARKS = callbacks decode drain exports lag query size stalled startup top
LIBRARIES = cupti_etl/native/libcupti_etl_inject.so cupti_etl/native/libcupti_etl.so
STAMP = $(VENV)/.installed-$(shell $(HOST_PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')

.PHONY: help web browser site serve demo test test-duckdb1 lint check bench generate headers native install fuzz wheel wheelhouse clean
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /\1\t/' | expand -t 14

$(STAMP): pyproject.toml hatch_build.py
	@$(HOST_PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "cupti-etl needs Python 3.11 or newer; use make PYTHON=python3.12")'
	test -x $(BIN)/python || $(HOST_PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	CUPTI_ETL_NO_NATIVE=1 $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	touch $@

install: $(STAMP) native ## make .venv with cupti-etl and what its tests need

native: $(LIBRARIES) ## compile the native libraries in place

# Both are made at once, also by make -j (before make 4.3, & is a target that nobody asks for).
$(LIBRARIES) &: $(shell find native -name '*.[ch]' -o -name '*.inc' -o -name '*.map' -o -name build.py) | $(STAMP)
	@$(BIN)/python native/build.py > /dev/null

web: ## build the page of `cupti-etl serve` and the widget of notebooks (needs node)
	cd web && npm ci --ignore-scripts --no-audit --no-fund --silent && npm run --silent check && npm run --silent build

browser: install web ## prepare the tests in a browser, which is to be there: apt-get install chromium
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group browser

site: install ## build the documentation as a web site, into site/
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group docs
	$(BIN)/python -m tools.site

serve: install ## show the demo's trace in a browser; TRACE=run42 another one
	@test -f cupti_etl/serve/web/index.html || $(MAKE) web
	@$(if $(TRACE),,test -d demo-trace || $(BIN)/cupti-etl demo -o demo-trace)
	$(BIN)/cupti-etl serve $(or $(TRACE),demo-trace) --open

demo: install ## capture a CUDA workload (or replay a recording, without a GPU) and ask
	$(BIN)/cupti-etl demo

test: install ## run the tests, on all processors; ALL=1: the slow ones, too
	$(BIN)/python -m pytest $(PARALLEL) $(if $(ALL),--slow)

lint: install ## look at format, lint, types and generated files
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m tools.codegen --check

test-duckdb1: install ## run the tests of queries on DuckDB 1.5, the oldest that is supported
	test -x $(VENV)-duckdb1/bin/python || $(HOST_PYTHON) -m venv $(VENV)-duckdb1
	$(VENV)-duckdb1/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(VENV)-duckdb1/bin/python -m pip install --quiet --disable-pip-version-check --editable . --group test "duckdb>=1.5,<1.6"
	$(VENV)-duckdb1/bin/python -m pytest $(PARALLEL) tests/queries tests/imports

check: lint ## do all that CI does: lint, and all tests
	$(MAKE) test ALL=1

bench: install ## measure all that needs no GPU (30 minutes), into docs/measurements and its page
	for name in $(BENCHMARKS); do \
		$(BIN)/python -m benchmarks $$name --json > docs/measurements/bench-$$name.json || exit 1; done
	$(BIN)/python -m benchmarks.page

generate: install ## write every derived file
	$(BIN)/python -m tools.codegen

headers: install ## take the facts of NVIDIA's newest public header (needs a package index)
	$(BIN)/python scripts/update_headers.py

fuzz: install ## run each fuzz target for a minute (libFuzzer if there is clang): SECONDS=3600
	$(BIN)/python tests/fuzz/run.py $(or $(SECONDS),60)

wheel: $(STAMP) ## make dist/: the wheel for Linux, the one for all systems, and the sdist
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group release
	rm -rf dist
	$(BIN)/python -m build --outdir dist > /dev/null
	CUPTI_ETL_NO_NATIVE=1 $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist dist/*.tar.gz
	$(BIN)/python scripts/check_wheels.py dist

wheelhouse: $(STAMP) ## fill wheelhouse/ for a machine without a network: PYTHON=3.12 [WITHOUT=pyarrow]
	$(BIN)/python scripts/wheelhouse.py --python $(if $(filter 3.%,$(PYTHON)),$(PYTHON),3.12) --without "$(WITHOUT)"

clean: ## remove what the other targets made
	rm -rf $(VENV) build dist site wheelhouse .pytest_cache .mypy_cache .ruff_cache .hypothesis .cache cupti_etl/native/*.so
