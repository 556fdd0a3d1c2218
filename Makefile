# Two commands do everything: `make play` and `make test`. Both set up .venv on a fresh machine.
PYTHON ?= python3
BIN := .venv/bin
SESSION ?=

.PHONY: play test coverage test-busy test-faults test-hostile fuzz test-lowest test-lowest-short test-newest system check shape bench docs docs-site prices sketches release clean

play: .venv/.installed  ## play the demo, or SESSION=REF; without a terminal, print the screen
ifeq ($(SESSION),)
	@if [ -t 0 ] && [ -t 1 ]; then $(BIN)/claude-session-player demo --play; else $(BIN)/claude-session-player demo; fi
else
	@if [ -t 0 ] && [ -t 1 ]; then $(BIN)/claude-session-player play "$(SESSION)"; \
	else $(BIN)/claude-session-player replay --format text "$(SESSION)"; fi
endif

# What does not need both cores goes side by side.
test: .venv/.installed-dev system  ## run everything that CI runs
	$(MAKE) --no-print-directory -j2 check .venv-lowest/.installed
	$(BIN)/python -m pytest -n auto --dist worksteal
	$(MAKE) --no-print-directory -j2 test-lowest-short fuzz SECONDS=15 SEED=1

coverage: .venv/.installed-dev  ## report which lines of the package the tests run
	$(BIN)/python -m pytest -n auto --dist worksteal --cov --cov-report=term-missing:skip-covered

test-busy: .venv/.installed-dev  ## run tests of terminals and windows ten times while all cores are busy
	$(BIN)/python -m scripts.busy_tests 10

test-faults: .venv/.installed-dev  ## kill the program at hundreds of points instead of a few
	KILLS=60 $(BIN)/python -m pytest tests/test_faults.py tests/test_clean_faults.py

test-hostile: .venv/.installed-dev  ## run all hostile sessions, archives, names and machines instead of a sample
	HOSTILE=full $(BIN)/python -m pytest -n auto --dist worksteal tests/hostile $(wildcard tests/test_*properties.py)

fuzz: .venv/.installed-dev  ## run every command on malformed and unusual sessions: SECONDS=1200 SEED=…
	$(BIN)/python -m tests.fuzz --seconds $(or $(SECONDS),1200) $(if $(SEED),--seed $(SEED))

test-lowest: .venv-lowest/.installed  ## run the tests with the lowest versions that pyproject.toml allows
	LOWEST=1 .venv-lowest/bin/python -m pytest -n auto --dist worksteal

test-lowest-short: .venv-lowest/.installed  ## run those of them that use each dependency
	LOWEST=1 .venv-lowest/bin/python -m pytest -n auto $(addprefix tests/,test_dependencies.py test_cli.py \
		test_parser.py test_commonmark.py test_archive.py test_watch.py test_player_screen.py test_browse.py \
		test_tool_parts.py test_terminal_screen.py test_archive_bytes.py hostile/test_pictures.py redact/test_gate.py)

# Nothing is kept from an earlier run: a version may have come out since.
test-newest:  ## run the tests with the newest versions that pip finds
	$(PYTHON) -m venv --clear .venv-newest
	.venv-newest/bin/python -m pip install --quiet --disable-pip-version-check --upgrade --upgrade-strategy eager --editable '.[dev]'
	.venv-newest/bin/python -m pip list --format freeze
	.venv-newest/bin/python -m pytest -n auto --dist worksteal

# Tests that need one of these programs are skipped where it is missing, and say so; in CI they run.
system:
	@if [ "$$CI" = true ] && ! { command -v zsh && command -v fish && command -v strace && command -v cc \
		&& command -v ffmpeg && test -e /usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf; } > /dev/null; then \
		apt-get update -qq && apt-get install -qq -y --no-install-recommends zsh fish strace gcc libc6-dev \
		ffmpeg fonts-dejavu-core > /dev/null; fi

check: .venv/.installed-dev  ## check lint, format, types and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m scripts.shape --check

shape: .venv/.installed-dev  ## compare the layout of the package to its limits; ARGS='--details --check --time'
	$(BIN)/python -m scripts.shape $(ARGS)

bench: .venv/.installed-dev  ## measure speed and memory, as ratios to references
	$(BIN)/python -m bench

docs: .venv/.installed-dev  ## regenerate the CLI reference, the output of examples, and the pictures
	$(BIN)/python -m scripts.cli_reference
	$(BIN)/python -m scripts.doc_examples
	$(BIN)/python -m scripts.picture
	$(BIN)/python -m scripts.screens

# The second command fails if a page, a picture or a style sheet would load anything from the network; scripts are not examined.
docs-site: .venv/.installed-docs  ## build the documentation as a site that needs no network: site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict --clean
	$(BIN)/python scripts/check_site.py site

.venv/.installed-docs: pyproject.toml .venv/.installed
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

prices: .venv/.installed-dev  ## generate the price table from the installed genai-prices, before a release
	$(BIN)/python -m scripts.price_table

sketches: .venv/.installed-dev  ## generate the sketches of the rules of redaction, after a change of one
	$(BIN)/python -m scripts.sketches

release: .venv/.installed-dev  ## build wheel and sdist in dist/, check them, and run them in clean environments
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m scripts.check_release dist

.venv/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed")'
	@echo 'Setting up .venv: this is done once, and takes about a minute.' >&2
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[search]' || \
		{ echo "Without tantivy, 'find' works with --exact and --regex only." >&2; \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .; }
	@touch $@

.venv/.installed-dev: pyproject.toml .venv/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

.venv-lowest/.installed: pyproject.toml scripts/lowest_versions.py
	@$(PYTHON) -m venv --clear .venv-lowest
	@$(PYTHON) scripts/lowest_versions.py > .venv-lowest/requirements.txt
	@.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check -r .venv-lowest/requirements.txt
	@.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

clean:
	rm -rf .venv .venv-lowest .venv-newest build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .coverage* site
