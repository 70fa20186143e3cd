# `make serve` and `make test` set up all they need on a machine with Python 3.11 to 3.14 and make.

PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3.14 python3; do \
	command -v $$python >/dev/null 2>&1 || continue; \
	$$python -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))' 2>/dev/null \
	&& echo $$python && break; done)
VENV ?= .venv
MUTANTS_VENV ?= .venv-mutants
RELEASE_VENV ?= .venv-release
CLIENTS_VENV ?= .venv-clients
OLD_CLIENTS_VENV ?= .venv-old-clients
# The locks are complete and hashed, so nothing is left to resolve; modules compile when first imported.
INSTALL = -m pip install --quiet --disable-pip-version-check --no-input --no-deps --no-compile --require-hashes
PIP = $(VENV)/bin/python $(INSTALL)

# The suite and a start run many processes, and only the first should compile what all import.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: serve setup test thorough lint simulate upgrade grow fuzz fuzz-search chaos chaos-citus test-citus soak abuse mutants bench bench-quick bench-memory bench-nodes bench-citus image image-steps unit-boot wheel sbom audit lock examples document-lint clients pages shots readme-shots clean

serve: $(VENV)/run.stamp
	exec env CATALOG__CATALOG__SYNONYMS="$${CATALOG__CATALOG__SYNONYMS-service/seed/synonyms.txt}" $(VENV)/bin/python -m service serve

setup: $(VENV)/run.stamp

# A worker for each core, and one more while tests wait. `make thorough`, whose tests run several processes, has no such one.
# Fewer, less, and where the time goes: make test JOBS=2 ARGS='tests/http --durations=20'
JOBS ?= $(if $(CATALOG_TEST_SLOW),auto,$(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)'))
test: $(VENV)/test.stamp
	$(VENV)/bin/python -m pytest -n $(JOBS) --dist loadscope $(ARGS)

# With what tests/slow.py leaves out of `make test`, as CI does: most tests of real processes and browsers, every planted bug,
# pictures of mails and passkeys in build/screenshots, an installation anew, three nodes that are killed.
thorough: export CATALOG_TEST_SLOW = 1
thorough: test

lint: $(VENV)/test.stamp
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

# The examples of the OpenAPI document, recorded anew: after a change of operations, models or messages.
examples: $(VENV)/test.stamp
	$(VENV)/bin/python -m tests.document

# What two linters and a generator of Python clients say about the document. Needs Node.js and npm.
DOCUMENT_LINT = build/document
document-lint: $(VENV)/test.stamp $(CLIENTS_VENV)/clients.stamp $(DOCUMENT_LINT)/npm.stamp
	$(VENV)/bin/python -m tests.document.linting $(DOCUMENT_LINT)/node_modules $(CLIENTS_VENV)/bin/openapi-python-client $(DOCUMENT_LINT)

build/%/npm.stamp: tests/%/package.json tests/%/package-lock.json
	mkdir -p $(@D)
	cp $^ $(@D)
	cd $(@D) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# Every page in a real Chromium, on a desktop and under a finger, by day and by night: axe-core, Lighthouse, layout, targets, bytes.
# Needs Chromium, Node.js and npm. Without Lighthouse, on some pages: make pages ONLY='home,sponsor-*'
PAGES = build/pages
pages: $(VENV)/test.stamp $(PAGES)/npm.stamp
	$(VENV)/bin/python -m tests.pages $(PAGES)/node_modules $(if $(ONLY),'$(ONLY)')

# Pictures of every page at 1280 pixels by day and by night and at 390, and contact sheets of them, in build/shots. Needs Chromium.
# Some of them: make shots ONLY='home,sponsor-*'
shots: $(VENV)/test.stamp
	$(VENV)/bin/python -m tests.pages.shots build/shots $(if $(ONLY),'$(ONLY)')

# The pictures of README.md, taken anew. Needs Chromium.
readme-shots: $(VENV)/test.stamp
	$(VENV)/bin/python -m tests.pages.readme docs/pictures

# A longer simulation than the suite's, on all cores. For a night: make simulate SEEDS=10000
SEEDS ?= 200
simulate: $(VENV)/test.stamp
	$(VENV)/bin/python -m tests.simulation --seeds $(SEEDS)

# More generated requests of each operation than the suite's, and longer walks along the links: make fuzz EXAMPLES=1000
EXAMPLES ?= 1000
fuzz: $(VENV)/test.stamp
	CATALOG_TEST_EXAMPLES=$(EXAMPLES) $(VENV)/bin/python -m pytest tests/api/test_schemathesis.py

# The same for texts to search for, straight into the search index: make fuzz-search SEARCHES=1000000
SEARCHES ?= 100000
fuzz-search: $(VENV)/test.stamp
	CATALOG_TEST_SEARCHES=$(SEARCHES) $(VENV)/bin/python -m pytest tests/snapshots/test_search_fuzz.py

# A service with the rows of many years beside a small one, and what each read and some changes cost on it: at most three times as
# much. Half of the ten minutes fill it. A smaller one: make grow PART=50. To use its rows again: make grow ARGS='--keep build/grow'
PART ?= 1
grow: $(VENV)/test.stamp
	$(VENV)/bin/python -m tests.growth --part $(PART) $(ARGS)

# Clients of all kinds on two nodes while everything under them fails, each answer held against what is kept:
# make chaos MINUTES=60 SEED=7 NODES=3
chaos: MINUTES = 2
chaos: $(VENV)/test.stamp
	$(VENV)/bin/python -m tests.chaos --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(if $(NODES),--nodes $(NODES))

# The last release and this one on one database, under load, while it is migrated (docs/upgrading.md), and nodes behind nginx that
# are replaced under load.
upgrade: $(VENV)/test.stamp
	CATALOG_TEST_SLOW=1 $(VENV)/bin/python -m pytest -s tests/acceptance/test_upgrade.py tests/acceptance/test_renewal.py

# The stores and the distribution on your Citus: make test-citus CITUS=postgresql://postgres@host/postgres
test-citus: $(VENV)/test.stamp
	CATALOG_TEST_CITUS_URL="$(CITUS)" $(VENV)/bin/python -m pytest tests/stores tests/storage -k "citus or real or quick"

# Faults in your Citus, whose servers are on this machine: make chaos-citus CITUS=postgresql://... SERVERS="COORDINATOR_DIR WORKER_DIR ..."
chaos-citus: MINUTES = 2
chaos-citus: $(VENV)/test.stamp
	$(VENV)/bin/python -m tests.chaos.citus --url "$(CITUS)" $(SERVERS:%=--server %) $(if $(SPARE),--spare $(SPARE)) $(if $(PG_CTL),--pg-ctl $(PG_CTL)) \
		--minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

# The same for an hour.
soak: MINUTES = 60
soak: $(VENV)/test.stamp
	$(VENV)/bin/python -m tests.chaos --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(if $(NODES),--nodes $(NODES))

# Attacks on a running node for longer than the suite's, what requests with hostile headers cost (COSTS seconds), and more mutated
# requests: make abuse SECONDS=30 COSTS=200 MUTATIONS=100000
# Bash counts its own life in SECONDS, so only the command line sets it.
MUTATIONS ?= 100000
COSTS ?= 200
abuse: SECONDS = 30
abuse: $(VENV)/test.stamp
	$(VENV)/bin/python -m tests.abuse --seconds $(SECONDS) --costs $(COSTS) --mutations $(MUTATIONS)

# Clients in Python and TypeScript that stock tools generate from the document, and clients of the Model Context Protocol, present
# ones and those of its first revision: type-checked, and used on a node. Those of the protocol also connect by the address alone,
# with a person in a browser. Needs Node.js, npm and Chromium.
clients: $(VENV)/test.stamp $(CLIENTS_VENV)/clients.stamp $(OLD_CLIENTS_VENV)/old-clients.stamp
	CLIENTS_VENV=$(CLIENTS_VENV) OLD_CLIENTS_VENV=$(OLD_CLIENTS_VENV) $(VENV)/bin/python -m tests.clients

# Small changes to the rules and the kernel, each of which a test should notice: docs/mutants.md knows those that none does.
# Some of them: make mutants ONLY='actors.quota.*'
CHILDREN ?= 2
mutants: $(MUTANTS_VENV)/mutation.stamp
	$(MUTANTS_VENV)/bin/python -m tests.mutation --children $(CHILDREN) $(if $(ONLY),'$(ONLY)')

bench: $(VENV)/bench.stamp
	$(VENV)/bin/python -m bench

# Every program and each kind of scenario for a moment: that they answer the same, and that the counts are right.
bench-quick: $(VENV)/bench.stamp
	$(VENV)/bin/python -m bench --quick --results build/bench

# The service's memory under load for five minutes.
MINUTES ?= 5
bench-memory: $(VENV)/bench.stamp
	$(VENV)/bin/python -m bench --memory $(MINUTES)

# Three nodes against one over one Postgres, for about two minutes: make bench-nodes SECONDS=5 ROUNDS=5
ROUNDS ?= 3
bench-nodes: SECONDS = 2
bench-nodes: $(VENV)/bench.stamp
	$(VENV)/bin/python -m bench.nodes --seconds $(SECONDS) --rounds $(ROUNDS)

# A node on your Citus against one on a single Postgres of yours, both on this machine:
# make bench-citus ONE=postgresql://... CITUS=postgresql://...
bench-citus: $(VENV)/bench.stamp
	$(VENV)/bin/python -m bench.distributed --one "$(ONE)" --distributed "$(CITUS)"

# The container image, which needs Docker: make image IMAGE=registry.example.com/catalog-service:1.2.3
VERSION = $(shell $(PYTHON) -c 'from service.version import VERSION; print(VERSION)')
IMAGE ?= catalog-service:$(VERSION)
image:
	docker build --build-arg VERSION=$(VERSION) --build-arg REVISION=$(shell git rev-parse HEAD) \
		--build-arg SOURCE_DATE_EPOCH=$(shell git log -1 --format=%ct) --tag $(IMAGE) .

# The steps of the Dockerfile without Docker, in a minimal Debian; the result is started on a read-only root. About half a minute
# after the first time. Needs root, and Debian's packages debootstrap and util-linux.
image-steps: $(VENV)/test.stamp
	$(VENV)/bin/python -m tests.deploy.image_steps

# systemd itself runs the unit in a container of systemd-nspawn: ready, reloaded, restarted after it hung, stopped. About a minute.
# Needs root, and Debian's packages debootstrap and systemd-container.
unit-boot: $(VENV)/test.stamp
	$(VENV)/bin/python -m tests.deploy.unit_boot

# The wheel of the last commit with its checksum, the same file wherever it is built.
wheel: $(RELEASE_VENV)/release.stamp
	$(RELEASE_VENV)/bin/python -m release.wheel build

# What the wheel needs, with hashes, as CycloneDX.
sbom: $(RELEASE_VENV)/release.stamp
	$(RELEASE_VENV)/bin/python -m release.sbom requirements/run.lock build/sbom.cdx.json

# Licences and known vulnerabilities of all that the wheel needs. See docs/supply-chain.md.
audit: $(RELEASE_VENV)/release.stamp $(VENV)/run.stamp
	$(RELEASE_VENV)/bin/python -m release.licenses requirements/run.lock $(wildcard $(VENV)/lib/python3*/site-packages)
	$(RELEASE_VENV)/bin/python -m release.vulnerabilities requirements/run.lock

$(VENV)/bin/python $(MUTANTS_VENV)/bin/python $(RELEASE_VENV)/bin/python $(CLIENTS_VENV)/bin/python $(OLD_CLIENTS_VENV)/bin/python: %/bin/python:
	@test -n "$(PYTHON)" || { echo "make: no Python 3.11 to 3.14 with venv found: install one (on Debian: apt install python3-venv), or name one: make PYTHON=/path/to/python3.11" >&2; exit 2; }
	$(PYTHON) -m venv $*

$(VENV)/run.stamp: requirements/run.lock | $(VENV)/bin/python
	$(PIP) -r requirements/run.lock
	@touch $@

$(VENV)/test.stamp: requirements/test.lock | $(VENV)/bin/python
	$(PIP) -r requirements/test.lock
	@touch $@ $(VENV)/run.stamp

$(VENV)/bench.stamp: requirements/bench.lock $(VENV)/test.stamp
	$(PIP) -r requirements/bench.lock
	@touch $@

$(MUTANTS_VENV)/mutation.stamp: requirements/mutation.lock | $(MUTANTS_VENV)/bin/python
	$(MUTANTS_VENV)/bin/python $(INSTALL) -r requirements/mutation.lock
	@touch $@

$(RELEASE_VENV)/release.stamp: requirements/release.lock | $(RELEASE_VENV)/bin/python
	$(RELEASE_VENV)/bin/python $(INSTALL) -r requirements/release.lock
	@touch $@

$(CLIENTS_VENV)/clients.stamp: requirements/clients.lock | $(CLIENTS_VENV)/bin/python
	$(CLIENTS_VENV)/bin/python $(INSTALL) -r requirements/clients.lock
	@touch $@

$(OLD_CLIENTS_VENV)/old-clients.stamp: requirements/old-clients.lock | $(OLD_CLIENTS_VENV)/bin/python
	$(OLD_CLIENTS_VENV)/bin/python $(INSTALL) -r requirements/old-clients.lock
	@touch $@

# Pin again what pyproject.toml names, for every Python that is supported. Needs uv.
lock:
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate pyproject.toml -o requirements/run.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --group test pyproject.toml -o requirements/test.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --group bench pyproject.toml -o requirements/bench.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --group mutation pyproject.toml -o requirements/mutation.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --group pyproject.toml:build -o requirements/build.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --group pyproject.toml:release -o requirements/release.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --group pyproject.toml:clients -o requirements/clients.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --group pyproject.toml:old-clients -o requirements/old-clients.lock

clean:
	rm -rf $(VENV) $(MUTANTS_VENV) $(RELEASE_VENV) $(CLIENTS_VENV) $(OLD_CLIENTS_VENV) build mutants .pytest_cache .hypothesis .mypy_cache .ruff_cache
