# Concord: `make run` starts everything, `make test` tests everything, `make help` lists the rest.
# It needs Python 3.11, 3.12 or 3.13 and installs the rest into .venv.

.DEFAULT_GOAL := help
SHELL := /bin/sh

# The first Python that is supported and can create an environment. PYTHON=/path selects another one.
PYTHON_CHECK := import ensurepip, sqlite3, ssl, sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3; do \
	$$python -c '$(PYTHON_CHECK)' 2>/dev/null && { echo $$python; break; }; done)

# Tests start many processes: keep compiled modules even if the environment says otherwise.
unexport PYTHONDONTWRITEBYTECODE

# `python -m` instead of the scripts in .venv/bin, so that a moved checkout keeps working.
RUN := .venv/bin/python
SERVICES := $(RUN) tests/tools/with_services.py
PYTEST := $(RUN) -m pytest
# The tests of a file stay in one process, in the order of tests/conftest.py: the longest files start first.
FILES := --dist loadfile --no-loadscope-reorder --durations=30

# These run on SQLite alone. Each process needs five seconds to collect them.
NOT_CONFORMANCE := --ignore tests/api/test_openapi_conformance.py

# Tests that use the database run on each database; all others run once.
EACH := database and not browser and not services and not drill
ONCE := (not database or browser or services) and not drill

.PHONY: help run setup setup-dev test test-sqlite test-postgres test-once test-full test-lowest check check-lint check-format check-types \
	check-imports check-templates check-migrations check-deployment format messages bench example drill drill-upgrade drill-label-studio drill-connections \
	screenshots pages lock constraints sbom audit-dependencies clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: setup ## start the site, the worker and the broker (PORT, HOST, DATA_DIR, DATABASE_URL, REDIS_URL)
	@exec $(RUN) manage.py services --end-with-parent

setup: .venv/installed build/static/vendor/inter.woff2 ## install everything that `make run` needs

setup-dev: .venv/installed-dev build/static/vendor/inter.woff2 ## install everything that the other targets need

test: setup-dev ## run all tests: on SQLite, on PostgreSQL, and those that need neither, with a real Valkey
	@status=0; \
	$(MAKE) --no-print-directory test-sqlite || status=1; \
	$(MAKE) --no-print-directory test-postgres || status=1; \
	$(MAKE) --no-print-directory test-once || status=1; \
	exit $$status

test-sqlite: setup-dev ## run the tests that use the database, on SQLite
	$(SERVICES) $(PYTEST) -n auto --maxprocesses 4 $(FILES) -m "$(EACH)"

test-postgres: setup-dev ## run the tests that use the database, on PostgreSQL
	$(SERVICES) --postgres $(PYTEST) -n auto --maxprocesses 4 $(FILES) $(NOT_CONFORMANCE) -m "$(EACH) and not sqlite_only"

# Half of these tests wait for processes and browsers, so more run at a time than there are processors.
test-once: setup-dev ## run the tests of statistics, of killed processes and in a browser
	$(SERVICES) $(PYTEST) -n 4 $(FILES) $(NOT_CONFORMANCE) -m "$(ONCE)"

test-full: export FULL_TESTS := 1
test-full: test ## run all tests with more random examples and complete published files (tests/tools/full_run.py)

# All direct requirements at their lower bounds, in a separate environment.
LOWEST := build/lowest/bin/python
test-lowest: setup-dev ## start the site once with the lowest versions that requirements.txt allows
	@mkdir -p build
	$(RUN) tests/tools/lowest_versions.py > build/lowest.txt
	$(RUN) -m venv --clear build/lowest
	$(LOWEST) -m pip install -qq --disable-pip-version-check -r requirements.txt -c build/lowest.txt
	$(LOWEST) tests/tools/smoke.py
	$(SERVICES) --postgres $(LOWEST) tests/tools/smoke.py

check: setup-dev ## check lint, format, types, imports, templates, migrations and deployment settings
	@$(MAKE) --no-print-directory --keep-going \
	check-lint check-format check-types check-imports check-templates check-migrations check-deployment

check-lint:
	$(RUN) -m ruff check .

check-format:
	$(RUN) -m ruff format --check .

check-types:
	$(RUN) -m mypy

check-imports:
	$(RUN) -c 'from importlinter.cli import lint_imports_command; lint_imports_command()'

check-templates:
	$(RUN) -m djlint templates --lint

check-migrations:
	DATA_DIR=build/check $(RUN) manage.py makemigrations --check --dry-run

check-deployment:
	DATA_DIR=build/check HTTPS=1 ALLOWED_HOSTS=concord.example.org \
	$(RUN) manage.py check --deploy --fail-level WARNING

format: setup-dev ## format the code and sort the imports with ruff
	$(RUN) -m ruff check --select I --fix .
	$(RUN) -m ruff format .

messages: setup-dev ## collect the texts of the pages into locale/ and compile the translations
	$(RUN) tests/tools/translation_catalogue.py

bench: setup-dev ## measure speed and size beside their goals, on SQLite and on PostgreSQL (takes long; alone on the machine)
	$(SERVICES) $(RUN) benchmarks/goals.py
	$(SERVICES) --postgres $(RUN) benchmarks/goals.py

example: setup ## load the example projects
	$(RUN) manage.py migrate --verbosity 0
	$(RUN) manage.py load_example

drill: setup-dev ## kill and freeze services while ratings arrive, and count losses (takes long)
	$(SERVICES) $(PYTEST) tests/drills -m drill

drill-connections: setup-dev ## kill web servers and workers in 200 places, and compare webhooks, mails, events and exports
	$(SERVICES) $(PYTEST) tests/drills/connections/test_killed_processes.py -m drill -n 0 -s

drill-label-studio: setup-dev ## read 1,000 tasks of a real Label Studio while it and the workers are killed; LABEL_STUDIO=program
	$(SERVICES) env LABEL_STUDIO="$(LABEL_STUDIO)" $(PYTEST) tests/drills/connections/test_label_studio.py -m drill -n 0 -s

drill-upgrade: setup-dev ## upgrade data of the oldest release in the history, and print the duration
	$(SERVICES) $(PYTEST) tests/drills/test_upgrade.py -m drill -n 0

screenshots: setup-dev ## take the screenshots in docs/images from the example project
	$(PYTEST) tests/browser/screenshots.py

pages: setup-dev ## render every page in both languages, color schemes and widths into build/pages
	$(PYTEST) tests/browser/page_report.py

# One file for all Pythons and platforms: the versions that fit the ranges, with the hashes of their files.
lock: ## update requirements.lock and requirements-build.lock to the newest versions that fit the ranges, with their hashes
	$(PYTHON) -m venv --clear build/lock
	build/lock/bin/python -m pip install -qq uv
	@for name in requirements requirements-build; do \
	{ grep '^#' $$name.lock; echo; build/lock/bin/python -m uv pip compile --quiet --universal --python-version 3.11 \
	--generate-hashes --upgrade --no-header --no-annotate --no-config $$name.txt; } > build/locked.txt && \
	mv build/locked.txt $$name.lock && echo "Wrote $$name.lock" || exit 1; done; rm -rf build/lock

constraints: ## update constraints/ for this Python: locked versions, and the newest versions of the rest
	$(PYTHON) -m venv --clear build/constraints
	sed -n 's/ \\$$//; /^[a-z]/p' requirements.lock requirements-build.lock > build/locked-versions.txt
	build/constraints/bin/python -m pip install -qq -r requirements-dev.txt -c build/locked-versions.txt
	@file=constraints/$$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])').txt; \
	{ head -2 $$file; build/constraints/bin/python -m pip freeze; } > build/frozen.txt && \
	mv build/frozen.txt $$file && rm -rf build/constraints && echo "Wrote $$file"

# Both read the lock files, which have all packages of an installation; they install their tools apart from .venv.
sbom: ## write the bill of materials of this release (CycloneDX, JSON) to build/sbom.json
	$(PYTHON) -m venv --clear build/tools
	build/tools/bin/python -m pip install -qq --disable-pip-version-check cyclonedx-bom
	cat requirements.lock requirements-build.lock > build/all.lock
	build/tools/bin/python -W ignore -m cyclonedx_py requirements build/all.lock --pyproject pyproject.toml \
	--output-reproducible --of JSON --validate -o build/sbom.json && rm -rf build/tools && echo "Wrote build/sbom.json"

audit-dependencies: ## compare the locked packages with the database of known vulnerabilities (needs the network)
	$(PYTHON) -m venv --clear build/tools
	build/tools/bin/python -m pip install -qq --disable-pip-version-check pip-audit
	build/tools/bin/python -m pip_audit -r requirements.lock -r requirements-build.lock --require-hashes --disable-pip --strict && rm -rf build/tools

clean: ## remove all files that `make` created (the data in var/ stays)
	rm -rf .venv build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

# --- environment ------------------------------------------------------------------------------

# Recreate an environment whose Python does not exist any more (upgraded, moved).
$(shell [ -x .venv/bin/python ] || rm -f .venv/pyvenv.cfg)

.venv/pyvenv.cfg:
	@test -n "$(PYTHON)" || { echo "Concord needs Python 3.11, 3.12 or 3.13 with venv" \
	"(Debian: apt install python3-venv). Or select one: make PYTHON=/path/to/python3.12" >&2; exit 1; }
	@$(PYTHON) -c '$(PYTHON_CHECK)' 2>/dev/null || { echo "PYTHON=$(PYTHON) cannot be used: Concord needs Python 3.11," \
	"3.12 or 3.13 with venv, sqlite3 and ssl" >&2; exit 1; }
	$(PYTHON) -m venv --clear .venv

.venv/installed: requirements.txt requirements.lock .venv/pyvenv.cfg
	@$(call install,locked,requirements.txt,--require-hashes -r requirements.lock)
	@touch $@

.venv/installed-dev: .venv/installed requirements-extra.txt requirements-dev.txt $(wildcard constraints/*.txt)
	@version=$$($(RUN) -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	$(call install,tested,requirements-dev.txt,-r requirements-dev.txt -c constraints/$$version.txt)
	@touch $@

# Install the $(1) versions of $(2) with the pip arguments $(3), into .venv or by the option $(4). A file with another hash is never
# installed. Where an index lacks some of the versions, install the newest within the ranges of $(2), without hashes; LOCKED=1 forbids that.
define install
pip="$(RUN) -m pip install -qq --disable-pip-version-check $(4)"; \
	echo "Installing the $(1) versions of $(2) and what they need (up to two minutes) ..."; \
	$$pip $(3) 2> .venv/pip-errors || { cat .venv/pip-errors >&2; \
	if [ "$(LOCKED)" = 1 ] || grep -q "DO NOT MATCH THE HASHES" .venv/pip-errors; then \
	echo "No other versions are installed instead." >&2; exit 1; fi; \
	echo "Some of these versions are not available; installing the newest within the ranges."; $$pip -r $(2); }
endef

# Files for browsers that are not in the repository: Vega, Vega-Lite and vega-embed in one file, and the typeface, both extracted
# from wheels without network. The wheels (90 MB) are removed afterwards. The typeface is written last.
SERVER := agreement_site/server
build/static/vendor/inter.woff2: $(SERVER)/vega_bundle.py $(SERVER)/typeface.py requirements-build.lock .venv/installed
	@rm -rf build/browser
	@$(call install,locked,requirements-build.txt,--require-hashes -r requirements-build.lock,--target build/browser)
	@PYTHONPATH=build/browser $(RUN) $(SERVER)/vega_bundle.py $(@D)/vega-bundle.js
	@PYTHONPATH=build/browser $(RUN) $(SERVER)/typeface.py $@
	@rm -rf build/browser
