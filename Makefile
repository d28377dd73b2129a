# The commands of the README. Each makes its own .venv; PYTHON chooses the interpreter that it is made with.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# further requirements, beside those of the extras: PIP_ALSO="torch==2.13.0" make check
PIP_ALSO ?=

.PHONY: demo test check docs dist bench clean

# what is installed follows pyproject.toml: a stamp per set of extras
$(VENV)/.%: pyproject.toml src/keyplayers/_version.py
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[$*]' $(PIP_ALSO)
	touch $@

demo: $(VENV)/.demo
	$(BIN)/keyplayers demo

test: $(VENV)/.test
	$(BIN)/python -m pytest -n auto

check: $(VENV)/.check
	@echo "== format";      $(BIN)/ruff format --check .
	@echo "== lint";        $(BIN)/ruff check . && echo "$$($(BIN)/ruff check . --show-files | wc -l) files checked"
	@echo "== types";       $(BIN)/mypy
	@echo "== floors";      $(BIN)/lint-imports
	@echo "== tests, with the examples in docstrings and docs"
	$(BIN)/python -m pytest -n auto $(PYTEST_OPTIONS)

# the site stands in build/site; a warning is an error. To read it: python3 -m http.server -d build/site
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@! grep -rnoE '(src=|rel="(stylesheet|preconnect)" href=)"(https?:)?//[^"]*' build/site --include=*.html \
		|| { echo "the site asks other machines for the above"; exit 1; }

# sdist and wheel in dist; the wheel is installed and used away from the sources
dist: $(VENV)/.release
	rm -rf dist build/installed
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv build/installed
	build/installed/bin/python -m pip install --quiet "$$(echo dist/*.whl)[demo]"
	cd build/installed && bin/python -P -c "from importlib.resources import files as f; assert f('keyplayers').joinpath('py.typed').is_file()"
	cd build/installed && bin/keyplayers demo && bin/keyplayers doctor

bench: $(VENV)/.demo
	$(BIN)/python -m pip install --quiet --no-deps -r benchmarks/requirements.txt
	$(BIN)/python benchmarks/belief_propagation.py
	$(BIN)/python benchmarks/enumeration.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
