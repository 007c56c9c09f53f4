# Every chore is one command. `make` alone lists them.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

VENV := .venv/bin
READY := .venv/.ready
PYTEST := $(VENV)/pytest
FAST := tests/unit tests/property tests/golden tests/sim tests/program tests/testbed
PYTHON_CODE := src testbed tests bench faults tools bin/testbed
IMAGE := valkey-operator:dev

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- the two commands ---------------------------------------------------------------------------------------------

.PHONY: demo
demo: cluster deploy ## set everything up from nothing, and show what runs
	bin/kubectl create namespace demo --dry-run=client --output=yaml | bin/kubectl apply --server-side --filename=-
	for example in $(wildcard examples/valkey-*.yaml); do \
		bin/kubectl apply --server-side --namespace=demo --filename="$$example"; done
	@bin/show-demo

.PHONY: test
test: check test-fast test-lives test-machine test-valkey test-e2e ## set everything up from nothing, and run every layer

# --- tests ----------------------------------------------------------------------------------------------------------

.PHONY: test-fast
test-fast: $(READY) ## all that needs no Kubernetes, no Valkey, no root and no package of Debian's (half a minute)
	$(PYTEST) --numprocesses=2 -m "not images and not root" $(FAST)

.PHONY: test-lives
test-lives: $(READY) ## 2,000 more lives of a simulated cluster than test-fast has
	$(PYTEST) --numprocesses=2 --full -m full tests/sim

.PHONY: test-machine
test-machine: $(READY) images ## parts of the testbed against this machine's kernel, and the images that were built
	$(PYTEST) -m "images or root" tests/testbed

.PHONY: test-valkey
test-valkey: $(READY) images ## against real servers: everything on the newest Valkey, a smoke run on the older ones
	$(PYTEST) tests/valkey

.PHONY: test-e2e
test-e2e: $(READY) cluster deploy ## against a real Kubernetes
	$(PYTEST) tests/e2e

.PHONY: test-all
test-all: $(READY) images cluster deploy ## the full matrix of layers and Valkey versions; resumes, keeps its results
	$(VENV)/python -m tests.matrix

.PHONY: check
check: $(READY) ## lint, types, import contracts
	$(VENV)/ruff check $(PYTHON_CODE)
	$(VENV)/ruff format --check $(PYTHON_CODE)
	$(VENV)/mypy src testbed tests bench faults tools
	$(VENV)/lint-imports

.PHONY: fmt
fmt: $(READY) ## format, and mend what the linter can mend
	$(VENV)/ruff check --fix --exit-zero $(PYTHON_CODE)
	$(VENV)/ruff format $(PYTHON_CODE)

# --- build, install, run --------------------------------------------------------------------------------------------

.PHONY: generate
generate: $(READY) ## all of config/ and the generated parts of the chart, from the code and the chart
	$(VENV)/python -m tools.generate

.PHONY: build
build: $(READY) ## the wheel and the image
	$(VENV)/uv build --quiet --wheel --no-build-isolation --out-dir dist
	bin/testbed images

.PHONY: install
install: cluster ## CRDs, admission policies and the namespace into the cluster, without the operator
	bin/kubectl apply --server-side --force-conflicts -f config/crd -f config/admission -f config/rbac/namespace.yaml

.PHONY: deploy
deploy: cluster ## the chart into the cluster: CRDs, admission policies, rights, operator
	bin/kubectl apply --server-side --force-conflicts -f config/rbac/namespace.yaml
	@# An annotation that is always new, because the same tag may stand for a newer image by now.
	image='$(IMAGE)'; bin/helm upgrade --install valkey-operator charts/valkey-operator \
		--namespace valkey-operator-system --take-ownership --force-conflicts \
		--set image.repository="$${image%:*}" --set-string image.tag="$${image##*:}" \
		--set-string podAnnotations.deployed="$$(date --utc +%FT%TZ)"
	bin/kubectl --namespace valkey-operator-system rollout status deployment/valkey-operator --timeout=120s

.PHONY: run
run: $(READY) install ## the operator on this machine, against the cluster, until it is interrupted
	KUBECONFIG=$${KUBECONFIG:-$$(bin/testbed kubeconfig)} $(VENV)/valkey-operator operator

.PHONY: images
images: $(READY)
	bin/testbed images

.PHONY: cluster
cluster: $(READY)
	@if [ -n "$${KUBECONFIG:-}" ]; then echo "cluster: the one that KUBECONFIG names"; else bin/testbed up; fi

.PHONY: testbed
testbed: cluster ## a real Kubernetes on this machine (nothing to do where KUBECONFIG names a cluster)

.PHONY: bench
bench: $(READY) cluster deploy ## measure, into bench/results (ARGS=--cold: also a start with an empty cache)
	$(VENV)/python -m bench.testbed $(ARGS)
	$(VENV)/python -m bench.engine
	$(VENV)/python -m bench.agent
	$(VENV)/python -m bench.valkey_start
	$(VENV)/python -m bench.valkey_reaction
	$(VENV)/python -m bench.valkey_rest
	$(VENV)/python -m bench.cluster_start
	$(VENV)/python -m bench.cluster_rest
	$(VENV)/python -m bench.cluster_reshard

.PHONY: faults
faults: $(READY) cluster deploy ## break Valkeys and clusters for an hour, into bench/results and docs/reliability.md (ARGS=--minutes=10)
	$(VENV)/python -m faults.run $(ARGS)
	$(VENV)/python -m tests.sim.many --minutes=5

# --- housekeeping ---------------------------------------------------------------------------------------------------

$(READY): requirements-dev.txt requirements-uv.txt pyproject.toml
	@bin/bootstrap

.PHONY: proto
proto: $(READY) ## make the Python modules of src/valkey_operator/proto anew
	$(VENV)/python -m grpc_tools.protoc --proto_path=src --python_out=src --pyi_out=src \
		src/valkey_operator/proto/agent/v1/agent.proto

.PHONY: lock
lock: $(READY) ## resolve the dependencies anew, with hashes
	bin/lock

.PHONY: clean
clean: ## take the testbed down, remove what was built here; the cache of images and Kubernetes stays
	if [ "$$(id -u)" = 0 ]; then bin/testbed down; fi
	rm -rf .venv dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
