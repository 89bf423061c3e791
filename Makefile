# Two commands for a fresh machine: `make demo` and `make test`. Both need Python 3.11+, make and the package index.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test slow lint clean

demo: $(VENV)/.demo
	$(BIN)/bgr demo --out work/demo

test: $(VENV)/.dev
	$(BIN)/pytest

slow: $(VENV)/.dev
	$(BIN)/pytest -m slow

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) work build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

# One stamp file for each set of extras, renewed when the dependencies change.
$(VENV)/.%: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[$*]"
	touch $@
