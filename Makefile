# Two commands do everything: `make play` and `make test`. Both set up .venv on a fresh machine.
PYTHON ?= python3
BIN := .venv/bin
SESSION ?=

.PHONY: play test test-faults test-hostile fuzz test-floors test-floors-short system check bench docs prices clean

play: .venv/.installed  ## play the demo, or SESSION=reference; without a terminal, print its screen
ifeq ($(SESSION),)
	@if [ -t 0 ] && [ -t 1 ]; then $(BIN)/claude-session-player demo --play; else $(BIN)/claude-session-player demo; fi
else
	@if [ -t 0 ] && [ -t 1 ]; then $(BIN)/claude-session-player play "$(SESSION)"; \
	else $(BIN)/claude-session-player replay --format text "$(SESSION)"; fi
endif

# What does not need both cores goes side by side.
test: .venv/.installed-dev system  ## everything that CI runs
	$(MAKE) --no-print-directory -j2 check .venv-floors/.installed
	$(BIN)/python -m pytest -n auto --dist worksteal
	$(MAKE) --no-print-directory -j2 test-floors-short fuzz SECONDS=60 SEED=1

test-faults: .venv/.installed-dev  ## the same kills as in the tests, but hundreds of them
	KILLS=60 $(BIN)/python -m pytest tests/test_faults.py tests/test_clean_faults.py

test-hostile: .venv/.installed-dev  ## hostile sessions, archives, names and machines: all of them instead of a sample
	HOSTILE=full $(BIN)/python -m pytest -n auto --dist worksteal tests/hostile

fuzz: .venv/.installed-dev  ## sessions that nobody would write, through every command: SECONDS=1200 SEED=…
	$(BIN)/python -m tests.fuzz --seconds $(or $(SECONDS),1200) $(if $(SEED),--seed $(SEED))

test-floors: .venv-floors/.installed  ## the tests on the lowest versions that pyproject.toml declares
	FLOORS=1 .venv-floors/bin/python -m pytest -n auto

test-floors-short: .venv-floors/.installed  ## those of them that reach each dependency at least once
	FLOORS=1 .venv-floors/bin/python -m pytest -n auto $(addprefix tests/,test_dependencies.py test_cli.py \
		test_parser.py test_commonmark.py test_archive.py test_watch.py test_player_screen.py test_browse.py \
		hostile/test_pictures.py)

# Tests that need one of these programs are skipped where it is missing, and say so; in CI they run.
system:
	@if [ "$$CI" = true ] && ! { command -v zsh && command -v fish && command -v strace && command -v cc; } > /dev/null; then \
		apt-get update -qq && apt-get install -qq -y --no-install-recommends zsh fish strace gcc libc6-dev > /dev/null; fi

check: .venv/.installed-dev  ## lint, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/.installed-dev  ## speed and memory, against references measured in the same run
	$(BIN)/python -m bench

docs: .venv/.installed-dev  ## regenerate the CLI reference, the output of examples, and the pictures
	$(BIN)/python -m scripts.cli_reference
	$(BIN)/python -m scripts.doc_examples
	$(BIN)/python -m scripts.picture
	$(BIN)/python -m scripts.screens

# The second command fails if a page, a picture or a style sheet would load anything from the network; scripts are not examined.
.PHONY: docs-site
docs-site: .venv/.installed-docs  ## build the documentation as a site that needs no network: site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict --clean
	$(BIN)/python scripts/check_site.py site

.venv/.installed-docs: pyproject.toml .venv/.installed
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

prices: .venv/.installed-dev  ## the table of prices, made anew from the installed genai-prices: before a release
	$(BIN)/python -m scripts.price_table

.venv/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed")'
	@echo 'Setting up .venv: this is done once, and takes about a minute.' >&2
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

.venv/.installed-dev: pyproject.toml .venv/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

.venv-floors/.installed: pyproject.toml scripts/floors.py
	@$(PYTHON) -m venv --clear .venv-floors
	@$(PYTHON) scripts/floors.py > .venv-floors/requirements.txt
	@.venv-floors/bin/python -m pip install --quiet --disable-pip-version-check -r .venv-floors/requirements.txt
	@.venv-floors/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

clean:
	rm -rf .venv .venv-floors build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	rm -rf site
