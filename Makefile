# Everything is set up on first use: tools/bootstrap.py fetches uv, uv makes .venv.
PYTHON ?= python3
RUN := .venv/bin/
# Programs of ours start in half the time if Python may keep what it compiled.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help up down test test-charts test-registry test-providers lint audit e2e e2e-lab e2e-images e2e-platform e2e-network e2e-services e2e-cloud e2e-healing e2e-barbican e2e-cells e2e-edits e2e-policies e2e-tempest bench crds docs golden landing clean
.DEFAULT_GOAL := help

help: ## show this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

.venv/bin/cobalt: pyproject.toml src/cobaltimages/pyproject.toml src/cobaltlab/pyproject.toml uv.lock tools/bootstrap.py
	@$(PYTHON) tools/bootstrap.py
	@touch $@

up: .venv/bin/cobalt ## start the lab on this machine (as root)
	@$(RUN)cobalt up --yes

down: .venv/bin/cobalt ## stop the lab, keep its data
	@$(RUN)cobalt down

test: .venv/bin/cobalt ## unit and integration tests, against a real API server
	@$(RUN)python -m cobaltlab.kubebuild kube coredns kwok >/dev/null
	@$(RUN)pytest

test-charts: .venv/bin/cobalt ## the Helm charts with the real Helm, which is built once
	@$(RUN)python -m cobaltlab.kubebuild kube helm >/dev/null
	@$(RUN)pytest tests/charts

test-registry: .venv/bin/cobalt ## pushing images to the real registry of distribution, which is built once
	@$(RUN)python -m cobaltlab.kubebuild registry >/dev/null
	@$(RUN)pytest tests/registry

test-providers: .venv/bin/cobalt ## the lab providers against real servers (takes a while)
	@$(RUN)python -m cobaltlab.kubebuild kube coredns kwok >/dev/null
	@$(RUN)pytest tests/integration/providers

lint: .venv/bin/cobalt ## format, lint, types, layers, words
	@$(RUN)ruff format --check .
	@$(RUN)ruff check .
	@$(RUN)mypy
	@$(RUN)lint-imports --no-logo
	@$(RUN)codespell
	@$(RUN)python tools/check_shape.py
	@$(RUN)python tools/check_words.py
	@$(RUN)python -m tools.check_advisories
	@$(RUN)python tools/generate.py --check

audit: .venv/bin/cobalt ## ask the package index for vulnerabilities of what images are built from
	@$(RUN)python -m tools.check_advisories --online

e2e: e2e-lab e2e-images e2e-platform e2e-network e2e-services e2e-cloud e2e-healing e2e-barbican e2e-cells e2e-edits e2e-policies ## the lab with everything real (as root), part by part

IMAGE_TESTS := $(wildcard tests/e2e/test_images_*.py)

e2e-lab: .venv/bin/cobalt
	@$(RUN)pytest $(filter-out $(IMAGE_TESTS),$(wildcard tests/e2e/test_*.py))

e2e-images: .venv/bin/cobalt
	@$(RUN)pytest $(IMAGE_TESTS)

e2e-platform e2e-network e2e-services e2e-policies: e2e-%: .venv/bin/cobalt
	@$(RUN)pytest tests/e2e/$*

# Slow ones: keys wait for kubelets.
HEALING_TESTS := tests/e2e/cloud/test_healing.py tests/e2e/cloud/test_keys.py
BARBICAN_TESTS := tests/e2e/cloud/test_barbican.py
CELLS_TESTS := tests/e2e/cloud/test_cells.py
EDITS_TESTS := tests/e2e/cloud/test_off_and_on.py tests/e2e/cloud/test_edits.py
TEMPEST_TESTS := tests/e2e/cloud/test_tempest_slices.py
SLOW_TESTS := $(HEALING_TESTS) $(BARBICAN_TESTS) $(CELLS_TESTS) $(EDITS_TESTS) $(TEMPEST_TESTS)
SEED ?= 19
COUNT ?= 30

e2e-cloud: .venv/bin/cobalt
	@$(RUN)pytest $(filter-out $(SLOW_TESTS),$(wildcard tests/e2e/cloud/test_*.py))

e2e-healing: .venv/bin/cobalt
	@$(RUN)pytest $(HEALING_TESTS)

e2e-barbican: .venv/bin/cobalt
	@$(RUN)cobalt images build --yes --quiet barbican
	@$(RUN)pytest $(BARBICAN_TESTS)

e2e-tempest: .venv/bin/cobalt ## Tempest, all of it or SLICES="image volume" (as root, hours)
	@COBALT_TEMPEST_SLICES="$(SLICES)" $(RUN)pytest $(TEMPEST_TESTS)

e2e-cells: .venv/bin/cobalt
	@$(RUN)pytest $(CELLS_TESTS)

# Random edits of a ControlPlane under load: make e2e-edits SEED=7 COUNT=10
e2e-edits: .venv/bin/cobalt
	@COBALT_EDITS_SEED=$(SEED) COBALT_EDITS_COUNT=$(COUNT) $(RUN)pytest $(EDITS_TESTS)

bench: .venv/bin/cobalt ## figures as a table and as JSON
	@$(RUN)python -m cobaltlab.kubebuild kube coredns kwok >/dev/null
	@.cache/uv run -q --frozen --group bench python -m tests.bench.run

crds: .venv/bin/cobalt ## write the CRDs of all kinds to deploy/crds
	@$(RUN)python tools/generate.py

docs: .venv/bin/cobalt ## write the reference pages to docs/reference
	@$(RUN)python tools/generate.py

golden: .venv/bin/cobalt ## write the desired state of the examples to tests/golden
	@$(RUN)python -m tests.support.golden

landing: .venv/bin/cobalt ## keep CRDs and stored objects of a version that has landed, for tests of the next one
	@$(RUN)python -m tests.support.landing

clean: ## remove the virtual environment and caches of tools
	@rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
