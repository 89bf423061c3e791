# Two commands for a fresh machine: `make demo` and `make test`. Both need Python 3.11+, make and the package index.
PYTHON ?= python3
VENV ?= .venv
DEVICE ?= cuda
BIN := $(VENV)/bin

# Without bytecode on disk, each of the many processes of the tests compiles the package and rewrites the tests anew.
unexport PYTHONDONTWRITEBYTECODE

# A process for each core, at most eight: each takes about 1.5 GB of memory.
PARALLEL := -n auto --maxprocesses 8 --dist worksteal

.PHONY: demo train test workflow campaign slow gpu docs tables lint dist lowest clean

demo: $(VENV)/.demo
	$(BIN)/bgr ask "Which film by the director of Alien came out in 1982?" --draw work/answer.png --overwrite
	$(BIN)/bgr demo --out work/demo

# the demo without the first answer
train: $(VENV)/.demo
	$(BIN)/bgr demo --out work/demo

test: $(VENV)/.dev
	$(BIN)/pytest $(PARALLEL)

# What takes a second or more: whole commands, repeated training runs, killed processes, damaged files. Then, one after the
# other, what fails on a busy machine: Ray ends a process to which its own, short of processor time, have not replied. Such
# a test runs again, in a new process; one that fails in its own words does not.
workflow: $(VENV)/.dev
	$(BIN)/pytest -m "workflow and not alone" $(PARALLEL)
	$(BIN)/pytest -m "workflow and alone" -n 1 --dist load --reruns 2 --only-rerun "only where the process has ended" \
		tests/bgr/utils/test_ray_map.py tests/bgr/cli/test_ray.py

# kills, damaged inputs, malformed replies, full disks: docs/trust.md; up to half an hour
campaign: $(VENV)/.dev
	nice -n 5 $(BIN)/python -m tests.campaign --out work/campaign

slow: $(VENV)/.dev
	$(BIN)/pytest -m slow

# What only a GPU can show, in under ten minutes: tests, speed, and a training, all in work/gpu. DEVICE=cpu rehearses it.
gpu: export START := $(shell date +%s)
gpu: $(VENV)/.dev
	DEVICE=$(DEVICE) VENV=$(VENV) .ci/gpu

# the site, in work/site; without a network
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# the marked tables of docs/passages.md, without a model; BGR_MULTIHOP names the folder of HippoRAG's sample
tables: $(VENV)/.dev
	$(BIN)/python docs/hooks/tables.py

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# wheel and sdist
dist: $(VENV)/.dev
	rm -rf build dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*

# the default tests with the oldest versions that pyproject.toml allows; PyTorch is the pinned one
lowest: $(VENV)/.dev
	VENV=$(VENV) .ci/lowest

clean:
	rm -rf $(VENV) work build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .cache

# One stamp file for each set of extras, renewed when the dependencies change.
$(VENV)/.%: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[$*]"
	touch $@
