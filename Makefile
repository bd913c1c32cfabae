# Every target sets up what it needs in .venv from hash-locked requirements, and ends non-zero on failure.
# Nothing here installs system packages, except `make system-packages` (and `make test` under CI=true).
SHELL       := /bin/sh
MAKEFLAGS   += --no-builtin-rules --no-print-directory
.SUFFIXES:
.DEFAULT_GOAL := help

VENV        := .venv
PY          := $(VENV)/bin/python
DEMO_STAMP  := $(VENV)/.installed-demo
DEV_STAMP   := $(VENV)/.installed-dev
FUZZ_STAMP  := $(VENV)/.installed-fuzz
PACKAGES    := fieldkit valvey racky firmware_sim
TYPED       := $(PACKAGES) $(wildcard bench tests)
PYTEST      := $(PY) -m pytest
SPREAD      := $(PY) -m tests.spread
RACKY_FILES := $(wildcard configs/racky*.yaml)
RACK_FILES  := $(filter-out $(RACKY_FILES) configs/bench.yaml,$(wildcard configs/*.yaml))

.PHONY: help setup demo test unit coverage wire hil test-long lint types docs docs-check check-config field-cases mutation fuzz bench lock system-packages clean
.PHONY: mosquitto-under-ci

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do printf '  %-16s %s\n' "$$name" "$$text"; done

# Compiled modules are kept, whatever the shell says: each process that starts would compile all of them anew.
export PYTHONDONTWRITEBYTECODE :=

# --- set-up -----------------------------------------------------------------------------------------------------------
# A stamp per lock file: a second run costs one stat. The developer's set contains the demo's, in the same versions.
$(PY):
	@sh requirements/venv.sh create $(VENV)

$(DEMO_STAMP): requirements/demo.txt pyproject.toml | $(PY)
	@sh requirements/venv.sh install $(VENV) requirements/demo.txt
	@touch $@

$(DEV_STAMP): requirements/dev.txt pyproject.toml | $(PY)
	@sh requirements/venv.sh install $(VENV) requirements/dev.txt
	@touch $@ $(DEMO_STAMP)

$(FUZZ_STAMP): requirements/fuzz.txt $(DEV_STAMP)
	@sh requirements/venv.sh install $(VENV) requirements/fuzz.txt
	@touch $@

setup: $(DEV_STAMP) ## make .venv and install the locked requirements

lock: ## compute requirements/*.txt anew (needs uv)
	@sh requirements/lock.sh

system-packages: ## install the Debian packages that tests can use (apt, needs root)
	apt-get update
	apt-get install -y --no-install-recommends mosquitto mosquitto-clients mbpoll python3-venv

# --- demo -------------------------------------------------------------------------------------------------------------
DEMO_FLAGS = $(if $(filter-out 0,$(KEEP)),--keep) $(if $(ACT),--act $(ACT)) $(if $(SPEED),--speed $(SPEED)) \
             $(if $(RACKY),$(if $(filter 0,$(RACKY)),--no-racky,--racky)) $(if $(SEED),--seed $(SEED)) $(if $(MODE),--mode $(MODE)) $(if $(MQTT),--mqtt $(MQTT))

# The sources are compiled once, for six processes that start together; what is up to date costs a look at its time.
demo: $(DEMO_STAMP) ## four racks, live: [KEEP=1] [RACKY=0] [ACT=1|2|3|4|all] [SPEED=n] [SEED=n] [MODE=constant_dp|fixed_speed|constant_flow] [MQTT=host:port]
	@$(PY) -m compileall -qq $(PACKAGES) bench || true
	@$(PY) -m bench.demo $(DEMO_FLAGS)

# --- checks -----------------------------------------------------------------------------------------------------------
mosquitto-under-ci:
	@if [ "$$CI" = true ] && [ "$$(id -u)" = 0 ] && ! PATH="$$PATH:/usr/sbin" command -v mosquitto >/dev/null; then \
	  $(MAKE) system-packages || echo 'mosquitto could not be installed: the tests that need it will say so'; fi

test: $(DEV_STAMP) mosquitto-under-ci ## all tests but the long ones: pure and stepped on two cores, then on sockets and a real broker
	@pure=0; $(SPREAD) --parts $(PYTEST_ARGS) || pure=$$?; \
	 $(SPREAD) --wire $(PYTEST_ARGS) && exit $$pure

unit: $(DEV_STAMP) ## what to run after every change (< 30 s)
	@$(SPREAD) --hypothesis-profile=quick $(PYTEST_ARGS)

coverage: $(DEV_STAMP) ## every branch of valvey/core and racky/core must be taken by the tests without a wire
	@$(SPREAD) --parts --coverage $(PYTEST_ARGS)

wire: $(DEV_STAMP) mosquitto-under-ci ## the tests on real Modbus TCP and a real MQTT broker
	@$(SPREAD) --wire $(PYTEST_ARGS)

HIL_FLAGS = --target $(or $(TARGET),sim) $(if $(BENCH),--bench $(BENCH)) $(if $(filter-out 0,$(DRY_RUN)),--dry-run) \
            $(if $(filter-out 0,$(DESTRUCTIVE)),--destructive)

hil: $(DEV_STAMP) ## a rack on the bench, into build/hil/: [TARGET=sim|hil] [BENCH=file] [DRY_RUN=1] [DESTRUCTIVE=1]
	@$(PYTEST) tests/hil -p no:pytest_cov $(HIL_FLAGS) $(PYTEST_ARGS)

test-long: $(DEV_STAMP) mosquitto-under-ci ## the tests that take minutes
	@$(PYTEST) tests -m long $(PYTEST_ARGS)

lint: $(DEV_STAMP) ## format, lint, types, import contracts
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/mypy $(TYPED)
	@$(VENV)/bin/lint-imports

types: $(DEV_STAMP) ## mypy --strict over sources, tests and bench
	@$(VENV)/bin/mypy $(TYPED)

docs: $(DEV_STAMP) ## write docs/generated anew from the code's tables
	@$(PY) -m valvey draw
	@$(PY) -m racky draw

docs-check: $(DEV_STAMP) ## fail when a generated page differs from the code
	@$(PY) -m valvey draw --check
	@$(PY) -m racky draw --check
	@$(PY) -m tests.field_cases --check

field-cases: $(DEV_STAMP) mosquitto-under-ci ## run every case that people report from the field; write docs/generated/field_cases.md
	@$(PY) -m tests.field_cases

check-config: $(DEV_STAMP) ## check the configuration files that are shipped
	@for file in $(RACK_FILES); do $(PY) -m valvey check-config "$$file" || exit; done
	@for file in $(RACKY_FILES); do $(PY) -m racky check-config "$$file" || exit; done

mutation: $(DEV_STAMP) ## break valvey/core in two thousand ways; every one must fail a test; goes on where it was stopped [SAMPLE=all|n] [SEED=n] [FOR_S=n]
	@$(PY) -m tests.mutation $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED)) $(if $(FOR_S),--for-s $(FOR_S))

RUNS ?= 200000
fuzz: $(FUZZ_STAMP) ## throw damaged registers, frames, files and requests at the decoders, guided by coverage: RUNS=200000 [SEED=n] [KEEP=1]
	@$(PY) -m tests.fuzz --runs $(RUNS) $(if $(SEED),--seed $(SEED)) $(if $(filter-out 0,$(KEEP)),--keep)

BENCH_PARTS := control mass_balance latency
bench: $(DEV_STAMP) ## measure, into build/bench/report.json: PART=control|mass_balance|latency [QUICK=1] [SEED=n]
	@case ' $(BENCH_PARTS) ' in *' $(PART) '*) ;; \
	  *) echo "make bench: PART is '$(PART)'; this version has: $(BENCH_PARTS)"; exit 2;; esac
	@$(PY) -m bench.$(PART) $(if $(filter-out 0,$(QUICK)),--quick) $(if $(SEED),--seed $(SEED))

clean: ## remove what the targets made, .venv too
	find $(TYPED) -name __pycache__ -prune -exec rm -rf {} +
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage
	find $(TYPED) -name __pycache__ -prune -exec rm -rf {} +
